package source

import (
	"archive/tar"
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// untar unpacks a tar stream into t and reads it to its end, so that a decoder in front of it sees its own checksum.
func untar(t *tree, from io.Reader) error {
	r := tar.NewReader(from)
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("tar: %w", err)
		}
		if err := t.tarEntry(h, r); err != nil {
			return err
		}
	}
	n, err := io.CopyBuffer(io.Discard, io.LimitReader(from, t.limits.Bytes), t.buf)
	if err == nil && n == t.limits.Bytes {
		err = tooLarge(t.limits)
	}
	return err
}

func (t *tree) tarEntry(h *tar.Header, r io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := t.name(h.Name)
	if err != nil {
		return err
	}
	if h.Size > t.limits.Bytes-t.bytes && h.Typeflag == tar.TypeReg {
		return tooLarge(t.limits) // sparse files claim sizes that they do not have in the archive
	}
	mode := h.FileInfo().Mode()
	switch h.Typeflag {
	case tar.TypeDir:
		t.permissions(mode)
		return t.dir(name)
	case tar.TypeReg:
		if name == "." {
			return &EscapeError{h.Name, "is a file without a name"}
		}
		return t.file(name, mode, h.ModTime, r)
	case tar.TypeSymlink:
		return t.symlink(name, h.Linkname)
	case tar.TypeLink:
		return t.hardLink(name, strings.TrimPrefix(h.Linkname, "./"))
	case tar.TypeChar, tar.TypeBlock:
		return &EscapeError{h.Name, "is a device"}
	case tar.TypeFifo:
		return &EscapeError{h.Name, "is a named pipe"}
	default:
		return &EscapeError{h.Name, fmt.Sprintf("is of an unknown type %q", h.Typeflag)}
	}
}

// unzip unpacks a zip file into t.
func unzip(t *tree, f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := zip.NewReader(f, st.Size())
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // we judge the names ourselves
		return fmt.Errorf("zip: %w", err)
	}
	for _, e := range r.File {
		if err := t.zipEntry(e); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) zipEntry(e *zip.File) error {
	name, err := t.name(e.Name)
	if err != nil {
		return err
	}
	mode := e.Mode()
	if mode.IsDir() {
		t.permissions(mode)
		return t.dir(name)
	}
	if mode&fs.ModeSymlink == 0 && !mode.IsRegular() {
		return &EscapeError{e.Name, "is a device, a pipe or a socket"}
	}
	body, err := e.Open()
	if err != nil {
		return fmt.Errorf("zip entry %q: %w", e.Name, err)
	}
	defer body.Close()
	if mode&fs.ModeSymlink != 0 {
		target, err := io.ReadAll(io.LimitReader(body, maxName+1))
		if err != nil {
			return fmt.Errorf("zip entry %q: %w", e.Name, err)
		}
		return t.symlink(name, string(target))
	}
	return t.file(name, mode, e.Modified, body)
}
