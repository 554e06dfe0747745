package source

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ulikunitz/xz"

	"pgpipeline/pipeline/proc"
)

// format is how a file is packed, told by its first bytes: names lie, and mirrors rename.
type format string

const (
	plain     format = ""
	tarFormat format = "tar"
	zipFormat format = "zip"
	gzFormat  format = "gzip"
	bz2Format format = "bzip2"
	xzFormat  format = "xz"
	zstFormat format = "zstd"
)

var magics = []struct {
	format format
	offset int
	bytes  string
}{
	{gzFormat, 0, "\x1f\x8b"}, {bz2Format, 0, "BZh"}, {xzFormat, 0, "\xfd7zXZ\x00"}, {zstFormat, 0, "\x28\xb5\x2f\xfd"},
	{zipFormat, 0, "PK\x03\x04"}, {zipFormat, 0, "PK\x05\x06"}, {tarFormat, 257, "ustar"},
}

// sniff tells the format by the first 512 bytes.
func sniff(head []byte) format {
	for _, m := range magics {
		if len(head) >= m.offset && bytes.HasPrefix(head[m.offset:], []byte(m.bytes)) {
			return m.format
		}
	}
	return plain
}

// decoders are programs that unpack a format better than what there is in Go, which only stands in for them: xz takes a third
// of the time of the Go library, bzip2 two thirds of the standard library's. A decoder of our own that used all processors was
// faster still and a thousand lines that are not what this project is for.
var decoders = map[format][]string{
	bz2Format: {"bzip2", "-dc"},
	xzFormat:  {"xz", "-dc", "-T0", "--memlimit-decompress=2GiB"},
	zstFormat: {"zstd", "-dc", "-q"},
}

// unpack fills t with the content of f, which is an archive or a compressed or plain file; base names the latter.
func unpack(ctx context.Context, t *tree, f *os.File, base string) error {
	head := make([]byte, 512)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	form := sniff(head[:n])
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	switch form {
	case zipFormat:
		return unzip(t, f)
	case tarFormat:
		return untar(t, contextReader{ctx, f})
	case plain:
		return t.single(base, f)
	}
	body, err := decode(ctx, f, form)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := t.decoded(contextReader{ctx, body}, base); err != nil {
		return preferCause(err, body)
	}
	return body.Close()
}

// decoded unpacks what a decoder yields: a tar stream or a single file.
func (t *tree) decoded(from io.Reader, base string) error {
	head := make([]byte, 512)
	n, err := io.ReadFull(from, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	from = io.MultiReader(bytes.NewReader(head[:n]), from)
	if sniff(head[:n]) == tarFormat {
		return untar(t, from)
	}
	return t.single(strings.TrimSuffix(base, filepath.Ext(base)), from)
}

func (t *tree) single(base string, from io.Reader) error {
	t.plain = true
	name, err := t.name(base)
	if err != nil {
		return err
	}
	return t.file(name, 0o644, noTime, from)
}

// preferCause replaces the "unexpected end" that a broken stream causes in the tar reader by what the decoder says.
func preferCause(err error, body io.Closer) error {
	var escape *EscapeError
	if closeErr := body.Close(); closeErr != nil && !errors.As(err, &escape) && isTruncation(err) {
		return closeErr
	}
	return err
}

func isTruncation(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// decode returns the decompressed content of f. Its Close reports what is wrong with the stream; it may be called twice.
func decode(ctx context.Context, f *os.File, form format) (io.ReadCloser, error) {
	if command := decoders[form]; command != nil {
		if path, err := exec.LookPath(command[0]); err == nil {
			return startDecoder(ctx, f, path, command[1:])
		}
	}
	return decodeHere(f, form)
}

// decodeHere decodes without a program of the system.
func decodeHere(f io.Reader, form format) (io.ReadCloser, error) {
	switch form {
	case gzFormat:
		r, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		return r, nil
	case bz2Format:
		return io.NopCloser(bzip2.NewReader(f)), nil
	case xzFormat:
		r, err := xz.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("xz: %w", err)
		}
		return io.NopCloser(r), nil
	default:
		return nil, fmt.Errorf("no program to unpack %s; install one: apt-get install %s", form, form)
	}
}

// A decoder is a child process that decompresses. It runs without privileges: what it reads is not trusted.
type decoder struct {
	*os.File // the end of the pipe that we read
	child    *proc.Process
	atEnd    bool
	closed   bool
	err      error
}

func startDecoder(ctx context.Context, f *os.File, path string, args []string) (io.ReadCloser, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	as, _ := proc.Unprivileged() // without such an account it runs as we do
	child, err := proc.Start(ctx, proc.Cmd{Path: path, Args: args, Env: proc.Environ(), As: as, Stdin: f, Stdout: w})
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	return &decoder{File: r, child: child}, nil
}

func (d *decoder) Read(p []byte) (int, error) {
	n, err := d.File.Read(p)
	d.atEnd = d.atEnd || err == io.EOF
	return n, err
}

// Close ends the decoder and returns what went wrong in it; when it is closed before the end, its own complaint about that
// is not an error.
func (d *decoder) Close() error {
	if d.closed {
		return d.err
	}
	d.closed = true
	d.File.Close()
	if !d.atEnd {
		d.child.Kill()
	}
	if err := d.child.Wait(); d.atEnd {
		d.err = err
	}
	return d.err
}

// contextReader stops an unpacking at the next read when the context ends.
type contextReader struct {
	ctx  context.Context
	from io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}
