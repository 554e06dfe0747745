package source

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
)

// A digest is what a file is expected to hash to, and who says so.
type digest struct {
	algorithm string // "sha256", "sha512", "sha1", "md5"
	hex       string // lower case
	origin    string // "the experiment", "the lock file", ...
}

func (d digest) String() string { return d.algorithm + ":" + d.hex }

// strong says whether a file can be identified by the digest: nobody can make another file with the same one.
func (d digest) strong() bool { return d.algorithm == "sha256" || d.algorithm == "sha512" }

var digestSizes = map[string]int{"md5": md5.Size, "sha1": sha1.Size, "sha256": sha256.Size, "sha512": sha512.Size}

func newHash(algorithm string) hash.Hash {
	switch algorithm {
	case "md5":
		return md5.New()
	case "sha1":
		return sha1.New()
	case "sha512":
		return sha512.New()
	default:
		return sha256.New()
	}
}

// parseDigest accepts "sha256:HEX" and, when the algorithm is left out, tells it by the length.
func parseDigest(text, origin string) (digest, error) {
	algorithm, value, named := strings.Cut(strings.TrimSpace(text), ":")
	if !named {
		algorithm, value = "", algorithm
	}
	algorithm, value = strings.ToLower(algorithm), strings.ToLower(value)
	raw, err := hex.DecodeString(value)
	if err != nil {
		return digest{}, fmt.Errorf("checksum %q: not a hexadecimal number", text)
	}
	for name, size := range digestSizes {
		if size == len(raw) && (algorithm == "" || algorithm == name) {
			return digest{algorithm: name, hex: value, origin: origin}, nil
		}
	}
	if named {
		size, known := digestSizes[algorithm]
		if !known {
			return digest{}, fmt.Errorf("checksum %q: unknown algorithm %q (sha256, sha512, sha1, md5)", text, algorithm)
		}
		return digest{}, fmt.Errorf("checksum %q: a %s has %d hexadecimal digits, not %d", text, algorithm, 2*size, len(value))
	}
	return digest{}, fmt.Errorf("checksum %q: no checksum has %d hexadecimal digits (sha256 has 64)", text, len(value))
}

// A ChecksumError says that an address served something else than what is wanted.
type ChecksumError struct {
	Address  string // masked
	Expected string // "sha256:..."
	Origin   string // who says so
	Actual   string
	Manual   string // where a copy can be put by hand; "" when nowhere
	Begins   string // what it is, when it looks like a page instead of a file
}

func (e *ChecksumError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is not the file that is wanted\n  expected %s (says %s)\n  but got  %s", e.Address, e.Expected, e.Origin, e.Actual)
	if e.Begins != "" {
		fmt.Fprintf(&b, "\n  it begins with %q", e.Begins)
	}
	if e.Manual != "" {
		fmt.Fprintf(&b, "\n  if you have the right file, put it at %s", e.Manual)
	}
	return b.String()
}

// verify reads f once from its start and compares it with every digest. It returns the sha256, which is always computed.
// The error is a *ChecksumError without its Manual.
func verify(f io.ReadSeeker, address string, wanted []digest) (sha256hex string, err error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	sums := map[string]hash.Hash{"sha256": sha256.New()}
	for _, d := range wanted {
		if sums[d.algorithm] == nil {
			sums[d.algorithm] = newHash(d.algorithm)
		}
	}
	writers := make([]io.Writer, 0, len(sums))
	for _, h := range sums {
		writers = append(writers, h)
	}
	if _, err := io.CopyBuffer(io.MultiWriter(writers...), struct{ io.Reader }{f}, make([]byte, 1<<18)); err != nil {
		return "", fmt.Errorf("hash: %w", err)
	}
	got := map[string]string{}
	for name, h := range sums {
		got[name] = hex.EncodeToString(h.Sum(nil))
	}
	for _, d := range wanted {
		if got[d.algorithm] != d.hex {
			return got["sha256"], &ChecksumError{Address: address, Expected: d.String(), Origin: d.origin,
				Actual: d.algorithm + ":" + got[d.algorithm], Begins: pageStart(f)}
		}
	}
	return got["sha256"], nil
}

func verifyFile(path, address string, wanted []digest) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return verify(f, address, wanted)
}

// pageStart returns the beginning of f when it is a web page: a proxy's or a login page is what a wrong file most often is.
func pageStart(f io.ReadSeeker) string {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return ""
	}
	head := make([]byte, 80)
	n, _ := io.ReadFull(f, head)
	text := strings.TrimSpace(string(head[:n]))
	if !strings.HasPrefix(text, "<") {
		return ""
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}
