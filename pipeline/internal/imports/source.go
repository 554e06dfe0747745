package imports

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is one argument of the command line.
type source struct {
	label string // the variant's name, when the argument gives one
	path  string
	dir   bool
}

// open takes an argument apart. A path that exists is a path, whatever it looks like.
func open(arg string) (source, error) {
	src := source{path: arg}
	info, err := os.Stat(arg)
	if label, path, ok := strings.Cut(arg, "="); err != nil && ok && label != "" {
		src.label, src.path = label, path
		info, err = os.Stat(path)
	}
	if err != nil {
		return src, fmt.Errorf("import: %w", err)
	}
	src.dir = info.IsDir()
	return src, nil
}

// name is the variant's name: what the argument says, or the file's or folder's own.
func (s source) name() string {
	if s.label != "" {
		return s.label
	}
	abs, err := filepath.Abs(s.path)
	if err != nil {
		abs = s.path
	}
	name := filepath.Base(abs)
	if s.dir {
		return name
	}
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// files are the regular files of a folder, sorted, or the one file.
func (s source) files() ([]string, error) {
	if !s.dir {
		return []string{s.path}, nil
	}
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			out = append(out, filepath.Join(s.path, e.Name()))
		}
	}
	slices.Sort(out)
	return out, nil
}

// maxFile is above everything that the tools print; scripts that explain every statement of every client write some MB.
const maxFile = 64 << 20

// read returns a file's text and notes its hash beside the variant.
func (v *Variant) read(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxFile {
		return "", fmt.Errorf("%s: larger than %d MiB", path, maxFile>>20)
	}
	sum := sha256.Sum256(data)
	v.Files[filepath.Base(path)] = hex.EncodeToString(sum[:])
	return string(data), nil
}
