package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// manifestHeader is the first line; a reader of a later form would look for another one.
const manifestHeader = "pipeline manifest 1"

// node is one line of a manifest: a directory, file or symbolic link below out/.
type node struct {
	kind    byte   // 'd', 'f' or 'l'
	path    string // slash-separated, relative to out/; "." is out/ itself
	mode    fs.FileMode
	size    int64             // files
	modTime int64             // files and directories, nanoseconds since 1970
	sum     [sha256.Size]byte // files
	target  string            // links
}

// formatManifest prints one line per node, in the order given. Paths and link targets are quoted as Go strings, so that any
// byte may be in them.
//
//	d 555 1796000000000000000 "."
//	f 444 1796000000000000000 1234 <sha256> "bin/postgres"
//	l "libpq.so.5" "lib/libpq.so"
func formatManifest(nodes []node) []byte {
	b := make([]byte, 0, 160*(len(nodes)+1))
	b = append(b, manifestHeader+"\n"...)
	for _, n := range nodes {
		b = append(b, n.kind, ' ')
		switch n.kind {
		case 'l':
			b = strconv.AppendQuote(b, n.target)
		case 'f':
			b = fmt.Appendf(b, "%o %d %d %x", n.mode, n.modTime, n.size, n.sum)
		default:
			b = fmt.Appendf(b, "%o %d", n.mode, n.modTime)
		}
		b = append(b, ' ')
		b = strconv.AppendQuote(b, n.path)
		b = append(b, '\n')
	}
	return b
}

// parseManifest is strict: an odd line, an absolute path or one with ".." means that the file is damaged.
func parseManifest(data []byte) ([]node, error) {
	text, ok := strings.CutSuffix(string(data), "\n")
	lines := strings.Split(text, "\n")
	if !ok || lines[0] != manifestHeader {
		return nil, errors.New("not a manifest, or cut short")
	}
	nodes := make([]node, 0, bytes.Count(data, []byte("\n")))
	for i, line := range lines[1:] {
		n, err := parseNode(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func parseNode(line string) (node, error) {
	var n node
	kind, rest, _ := strings.Cut(line, " ")
	fields := map[string]int{"d": 2, "f": 4, "l": 0}
	count, ok := fields[kind]
	if !ok {
		return n, fmt.Errorf("unknown kind %q", firstLine(kind))
	}
	n.kind = kind[0]
	words := strings.SplitN(rest, " ", count+1)
	if len(words) != count+1 {
		return n, errors.New("too few fields")
	}
	if err := n.parseNumbers(words[:count]); err != nil {
		return n, err
	}
	return n, n.parsePath(words[count])
}

func (n *node) parseNumbers(words []string) error {
	if len(words) == 0 {
		return nil
	}
	mode, err := strconv.ParseUint(words[0], 8, 9)
	if err != nil {
		return fmt.Errorf("mode: %w", err)
	}
	n.mode = fs.FileMode(mode)
	if n.modTime, err = strconv.ParseInt(words[1], 10, 64); err != nil {
		return fmt.Errorf("time: %w", err)
	}
	if n.kind != 'f' {
		return nil
	}
	if n.size, err = strconv.ParseInt(words[2], 10, 64); err != nil || n.size < 0 {
		return fmt.Errorf("size %q", words[2])
	}
	if len(words[3]) != 2*sha256.Size {
		return errors.New("sha256 of another length")
	}
	_, err = hex.Decode(n.sum[:], []byte(words[3]))
	return err
}

// parsePath reads the quoted path, and before it the target of a link.
func (n *node) parsePath(text string) error {
	var err error
	if n.kind == 'l' {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return fmt.Errorf("link target: %w", err)
		}
		if n.target, err = strconv.Unquote(quoted); err != nil {
			return fmt.Errorf("link target: %w", err)
		}
		if text = text[len(quoted):]; !strings.HasPrefix(text, ` `) {
			return errors.New("no path after the link target")
		}
		text = text[1:]
	}
	if len(text) == 0 || text[0] != '"' {
		return errors.New("path is not quoted")
	}
	if n.path, err = strconv.Unquote(text); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	if n.path != "." && (!local(n.path) || path.Clean(n.path) != n.path) {
		return fmt.Errorf("path %q leaves the entry", n.path)
	}
	return nil
}

// local reports whether a relative path stays below its directory.
func local(p string) bool {
	return p != "" && p[0] != '/' && p != ".." && !strings.HasPrefix(p, "../") && !strings.ContainsRune(p, 0)
}
