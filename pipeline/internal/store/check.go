package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Level says how much of an entry is looked at.
type Level int

const (
	// ByStat compares names, kinds, modes, sizes and times, and the sha256 of files whose time alone differs: some
	// microseconds per file.
	ByStat Level = iota
	// ByContent also compares the sha256 of every file.
	ByContent
)

// Check compares an entry with its manifest and returns the first difference found, or a Reason that is OK. The error is
// only ever that of a cancelled context.
func (s *Store) Check(ctx context.Context, e *Entry, level Level) (Reason, error) {
	c, reason := e.newChecker()
	if !reason.OK() {
		return reason, nil
	}
	for i := range c.nodes {
		if err := ctx.Err(); err != nil {
			return Reason{}, err
		}
		if reason := c.stat(&c.nodes[i]); !reason.OK() {
			return reason, nil
		}
	}
	if level == ByStat {
		return c.content(ctx, c.suspects)
	}
	return c.content(ctx, c.files)
}

// Verify hashes an entry and returns an error that says what is damaged, or absent.
func (s *Store) Verify(ctx context.Context, key string) error {
	e, reason := s.Lookup(key)
	if reason.OK() {
		var err error
		if reason, err = s.Check(ctx, e, ByContent); err != nil {
			return err
		}
	}
	if !reason.OK() {
		return fmt.Errorf("entry %s: %s", short(key), reason)
	}
	return nil
}

// checker compares one entry.
type checker struct {
	dir      string
	nodes    []node
	files    []*node
	suspects []*node // files with the right size and another time
}

func (e *Entry) newChecker() (*checker, Reason) {
	data, err := os.ReadFile(filepath.Join(e.root, "manifest"))
	if err != nil {
		return nil, damaged("manifest: %v", cause(err))
	}
	if sumText(data) != e.ManifestSum {
		return nil, damaged("manifest: its checksum does not match")
	}
	nodes, err := parseManifest(data)
	if err != nil {
		return nil, damaged("manifest: %v", err)
	}
	recipe, err := os.ReadFile(filepath.Join(e.root, "recipe.txt"))
	if err != nil || sumText(recipe) != e.RecipeSum {
		return nil, damaged("recipe.txt is missing or changed")
	}
	return &checker{dir: e.Dir(), nodes: nodes}, Reason{}
}

func (c *checker) stat(n *node) Reason {
	info, err := os.Lstat(filepath.Join(c.dir, n.path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return damaged("%s is missing", n.path)
	case err != nil:
		return damaged("%s: %v", n.path, cause(err))
	case kindOfMode(info.Mode()) != n.kind:
		return damaged("%s is no longer a %s", n.path, kindNames[n.kind])
	}
	switch n.kind {
	case 'l':
		return c.link(n)
	case 'd':
		return c.directory(n, info)
	}
	return c.file(n, info)
}

func (c *checker) link(n *node) Reason {
	if target, err := os.Readlink(filepath.Join(c.dir, n.path)); err != nil || target != n.target {
		return damaged("%s points elsewhere", n.path)
	}
	return Reason{}
}

func (c *checker) directory(n *node, info fs.FileInfo) Reason {
	if info.Mode().Perm() != n.mode {
		return damaged("%s has mode %o instead of %o", n.path, info.Mode().Perm(), n.mode)
	}
	if info.ModTime().UnixNano() == n.modTime {
		return Reason{}
	}
	return c.list(n.path)
}

func (c *checker) file(n *node, info fs.FileInfo) Reason {
	switch {
	case info.Mode().Perm() != n.mode:
		return damaged("%s has mode %o instead of %o", n.path, info.Mode().Perm(), n.mode)
	case info.Size() != n.size:
		return damaged("%s has %d bytes instead of %d", n.path, info.Size(), n.size)
	case info.ModTime().UnixNano() != n.modTime:
		c.suspects = append(c.suspects, n)
	}
	c.files = append(c.files, n)
	return Reason{}
}

// list compares the names in one directory.
func (c *checker) list(dir string) Reason {
	found, err := os.ReadDir(filepath.Join(c.dir, dir))
	if err != nil {
		return damaged("%s: %v", dir, cause(err))
	}
	present := map[string]bool{}
	for _, d := range found {
		present[path.Join(dir, d.Name())] = true
	}
	for i := range c.nodes {
		if name := c.nodes[i].path; name != "." && path.Dir(name) == dir {
			if !present[name] {
				return damaged("%s is missing", name)
			}
			delete(present, name)
		}
	}
	for _, d := range found {
		if name := path.Join(dir, d.Name()); present[name] {
			return damaged("%s was added", name)
		}
	}
	return Reason{}
}

func (c *checker) content(ctx context.Context, files []*node) (Reason, error) {
	var first Reason
	err := hashFiles(ctx, c.dir, files, func(n *node, sum [32]byte, err error) error {
		switch {
		case err != nil:
			first = damaged("%s: %v", n.path, cause(err))
		case sum != n.sum:
			first = damaged("the content of %s has changed", n.path)
		default:
			return nil
		}
		return errStop
	})
	if errors.Is(err, errStop) {
		return first, nil
	}
	return first, err
}

var kindNames = map[byte]string{'d': "directory", 'f': "file", 'l': "link"}

// kindOfMode is 0 for what cannot be in an entry: devices, pipes, sockets.
func kindOfMode(m fs.FileMode) byte {
	switch {
	case m.IsDir():
		return 'd'
	case m.IsRegular():
		return 'f'
	case m&fs.ModeSymlink != 0:
		return 'l'
	}
	return 0
}
