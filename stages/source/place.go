package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/hashicorp/go-getter/v2"
)

// prepare makes the destination, which must not hold anything yet.
func prepare(dest string) error {
	if err := os.MkdirAll(dest, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dest)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("destination %s is not empty", dest)
	}
	return err
}

// empty removes everything in dest, so that a failed attempt leaves nothing that looks whole.
func empty(dest string) {
	entries, _ := os.ReadDir(dest)
	for _, e := range entries {
		os.RemoveAll(filepath.Join(dest, e.Name()))
	}
}

// top is the folder of an unpacked archive that counts: the single one that everything is in, or the whole.
func top(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) == 0 {
		return "", errors.New("the archive is empty")
	}
	if len(entries) == 1 && entries[0].IsDir() {
		return filepath.Join(dir, entries[0].Name()), nil
	}
	return dir, nil
}

// chosen is the part of an unpacked source that the address asks for. A subdirectory is looked for in the single top folder
// and, as go-getter has it, in the archive itself.
func chosen(unpacked, subdir string) (string, error) {
	inner, err := top(unpacked)
	if err != nil || subdir == "" {
		return inner, err
	}
	path, err := getter.SubdirGlob(inner, filepath.FromSlash(subdir))
	if err != nil && inner != unpacked {
		path, err = getter.SubdirGlob(unpacked, filepath.FromSlash(subdir))
	}
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if whole, err := filepath.EvalSymlinks(unpacked); err != nil || !within(whole, real) {
		return "", &EscapeError{subdir, "leads out of the folder"}
	}
	return real, nil
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// place moves the content of from, a folder or a file, into the empty folder dest and checks what is there now.
func (j *job) place(ctx context.Context, from, dest string) (files int, bytes int64, err error) {
	st, err := os.Stat(from)
	if err != nil {
		return 0, 0, err
	}
	moves := map[string]string{from: filepath.Base(from)}
	if st.IsDir() {
		entries, err := os.ReadDir(from)
		if err != nil {
			return 0, 0, err
		}
		moves = map[string]string{}
		for _, e := range entries {
			moves[filepath.Join(from, e.Name())] = e.Name()
		}
	}
	for path, name := range moves {
		if err := j.move(ctx, path, filepath.Join(dest, name)); err != nil {
			return 0, 0, err
		}
	}
	// Only now, because stripping the top folder may have turned a harmless link into one that leads out.
	if err := checkLinks(dest); err != nil {
		return 0, 0, err
	}
	return count(dest)
}

func (j *job) move(ctx context.Context, from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	parent := filepath.Dir(to)
	st, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if st.IsDir() {
		list, err := addFolder(nil, from, filepath.Base(to))
		if err != nil {
			return err
		}
		return j.copyListing(ctx, list, parent)
	}
	root, err := os.OpenRoot(filepath.Dir(from))
	if err != nil {
		return err
	}
	defer root.Close()
	e, err := listFile(root, from, filepath.Base(from))
	if err != nil || e == nil {
		return err
	}
	e.name = filepath.Base(to)
	return j.copyListing(ctx, []listed{*e}, parent)
}

func count(dir string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		if st, err := d.Info(); err == nil && st.Mode().IsRegular() {
			bytes += st.Size()
		}
		return nil
	})
	return files, bytes, err
}

// linksFile lists symbolic links that a package could not carry: npm leaves links out of what it publishes.
const linksFile = "pg-symlinks.json"

// makeLinks makes the links that a package lists in linksFile, which lies in its top folder or one below. Names in it are
// relative to the package or to the file's own folder.
func makeLinks(dir string, limits Limits) error {
	found, _ := filepath.Glob(filepath.Join(dir, "*", linksFile))
	if one := filepath.Join(dir, linksFile); isFile(one) {
		found = append(found, one)
	}
	for _, file := range found {
		if err := makeLinksOf(dir, file, limits); err != nil {
			return fmt.Errorf("%s: %w", linksFile, err)
		}
	}
	return nil
}

func makeLinksOf(dir, file string, limits Limits) error {
	const maxSize = 4 << 20
	if st, err := os.Lstat(file); err != nil || !st.Mode().IsRegular() || st.Size() > maxSize {
		return fmt.Errorf("not a file of at most %d bytes", maxSize)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return err
	}
	t, err := newTree(dir, limits)
	if err != nil {
		return err
	}
	defer t.close()
	own, err := filepath.Rel(dir, filepath.Dir(file))
	if err != nil {
		return err
	}
	for _, l := range links {
		if err := t.listedLink(filepath.ToSlash(own), l.Source, l.Target); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) listedLink(own, source, target string) error {
	source, err := t.name(source)
	if err != nil {
		return err
	}
	if target, err = t.name(target); err != nil {
		return err
	}
	if _, err := t.root.Stat(source); err != nil && own != "." { // not relative to the package
		source, target = path.Join(own, source), path.Join(own, target)
	}
	if _, err := t.root.Stat(source); err != nil {
		return fmt.Errorf("link %q: %w", target, err)
	}
	if source == target {
		return nil
	}
	rel, err := filepath.Rel(path.Dir(target), source)
	if err != nil {
		return err
	}
	return t.symlink(target, rel)
}

func isFile(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Mode().IsRegular()
}

// explain says what to do about errors of the file system.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w; make room, or set PIPELINE_CACHE to a folder on another disk", err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w; set PIPELINE_CACHE to a folder that can be written", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; this user may not read or write that path", err)
	}
	return err
}
