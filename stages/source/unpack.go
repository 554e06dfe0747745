package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Limits bound what one source may become, so that an archive bomb ends in an error and not in a full disk.
type Limits struct {
	Bytes   int64 // of all files together, and of the download
	Entries int
}

// DefaultLimits are some forty times what a PostgreSQL source or binary tree needs.
var DefaultLimits = Limits{Bytes: 8 << 30, Entries: 400_000}

func (l Limits) orDefault() Limits {
	if l.Bytes <= 0 {
		l.Bytes = DefaultLimits.Bytes
	}
	if l.Entries <= 0 {
		l.Entries = DefaultLimits.Entries
	}
	return l
}

const (
	maxName  = 4096
	maxDepth = 100
)

// An EscapeError is an archive entry that is refused because it would write outside the folder, or point out of it, or is
// something that no source needs.
type EscapeError struct {
	Entry string
	Why   string
}

func (e *EscapeError) Error() string { return fmt.Sprintf("archive entry %q: %s", e.Entry, e.Why) }

// A tree is a folder that an archive is unpacked into. Every operation goes through an os.Root, so that not even a mistake
// below can write outside; on top of that, entries that no honest archive has are errors instead of surprises:
//
//   - names that are absolute, contain "..", or lead through a symbolic link;
//   - symbolic links that are absolute or point out of the folder, also by way of other links (checked at the end);
//   - hard links to anything but a file of the same archive;
//   - devices, pipes and sockets;
//   - more bytes or entries than the limits.
//
// Setuid, setgid and sticky bits and the owner are dropped, and nothing is writable for others.
type tree struct {
	root    *os.Root
	limits  Limits
	bytes   int64
	entries int
	special int             // entries whose setuid, setgid or sticky bit was dropped
	plain   bool            // it was no archive but a single file
	dirs    map[string]bool // known to be real folders
	at      *os.Root        // the folder that was used last, atName: archives are in the order of their folders
	atName  string
	buf     []byte
}

func newTree(dir string, limits Limits) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &tree{root: root, limits: limits.orDefault(), dirs: map[string]bool{".": true}, buf: make([]byte, 1<<17)}, nil
}

func (t *tree) close() {
	if t.at != nil {
		t.at.Close()
	}
	t.root.Close()
}

// name checks an entry's name and counts the entry. "." is returned for the folder itself.
func (t *tree) name(raw string) (string, error) {
	t.entries++
	if t.entries > t.limits.Entries {
		return "", fmt.Errorf("more than %d entries: this looks like an archive bomb", t.limits.Entries)
	}
	switch {
	case raw == "" || strings.ContainsRune(raw, 0):
		return "", &EscapeError{raw, "has an empty or broken name"}
	case len(raw) > maxName || strings.Count(raw, "/") > maxDepth:
		return "", &EscapeError{raw[:min(len(raw), 80)], "has a name that is too long or too deep"}
	case strings.HasPrefix(raw, "/"):
		return "", &EscapeError{raw, "has an absolute name"}
	case hasDotDot(raw):
		return "", &EscapeError{raw, `has ".." in its name`}
	}
	return path.Clean(raw), nil
}

func hasDotDot(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

// dir makes a folder and its parents. None of them may be a symbolic link.
func (t *tree) dir(name string) error {
	if t.dirs[name] {
		return nil
	}
	if err := t.dir(path.Dir(name)); err != nil {
		return err
	}
	err := t.root.Mkdir(name, 0o755)
	if errors.Is(err, fs.ErrExist) {
		st, statErr := t.root.Lstat(name)
		if statErr != nil {
			return statErr
		}
		if !st.IsDir() {
			return &EscapeError{name, "is used as a folder and is none"}
		}
		err = nil
	}
	if err == nil {
		t.dirs[name] = true
	}
	return err
}

// parent opens the folder of an entry, making it where it is missing. It stays open for the next entry, since a path that
// is walked anew for every operation on every file takes longer than writing the files.
func (t *tree) parent(name string) (dir *os.Root, base string, err error) {
	if name == "." || t.dirs[name] {
		return nil, "", &EscapeError{name, "replaces a folder"}
	}
	in := path.Dir(name)
	if t.at != nil && t.atName == in {
		return t.at, path.Base(name), nil
	}
	if err := t.dir(in); err != nil {
		return nil, "", err
	}
	if dir, err = t.root.OpenRoot(in); err != nil {
		return nil, "", err
	}
	if t.at != nil {
		t.at.Close()
	}
	t.at, t.atName = dir, in
	return dir, path.Base(name), nil
}

// inPlace runs create in the entry's folder. An earlier entry of the same name is removed first, so that a later link or
// file never writes through what is there.
func (t *tree) inPlace(name string, create func(dir *os.Root, base string) error) error {
	dir, base, err := t.parent(name)
	if err != nil {
		return err
	}
	err = create(dir, base)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if st, err := dir.Lstat(base); err != nil || st.IsDir() {
		return &EscapeError{name, "replaces a folder"}
	}
	if err := dir.Remove(base); err != nil {
		return err
	}
	return create(dir, base)
}

// permissions keeps what makes a file runnable and lets the owner read and write it.
func (t *tree) permissions(mode fs.FileMode) fs.FileMode {
	if mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 {
		t.special++
	}
	return mode.Perm()&0o755 | 0o644
}

// file writes a regular file. modTime may be zero.
func (t *tree) file(name string, mode fs.FileMode, modTime time.Time, from io.Reader) error {
	var f *os.File
	err := t.inPlace(name, func(dir *os.Root, base string) (err error) {
		f, err = dir.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	err = t.fill(f, mode, modTime, from)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (t *tree) fill(f *os.File, mode fs.FileMode, modTime time.Time, from io.Reader) error {
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, io.LimitReader(from, t.limits.Bytes-t.bytes+1), t.buf)
	t.bytes += n
	if err == nil && t.bytes > t.limits.Bytes {
		err = tooLarge(t.limits)
	}
	if err == nil {
		err = f.Chmod(t.permissions(mode))
	}
	if err != nil || modTime.IsZero() {
		return err
	}
	// make compares the times of generated files with those of their sources, so they have to be kept.
	at := unix.NsecToTimeval(modTime.UnixNano())
	return unix.Futimes(int(f.Fd()), []unix.Timeval{at, at})
}

func tooLarge(l Limits) error {
	return fmt.Errorf("more than %d bytes when unpacked: this looks like an archive bomb", l.Bytes)
}

// symlink makes a symbolic link that stays inside; checkLinks looks again when all of them are there.
func (t *tree) symlink(name, target string) error {
	if target == "" || len(target) > maxName || strings.ContainsRune(target, 0) {
		return &EscapeError{name, "is a symbolic link with a broken target"}
	}
	if path.IsAbs(target) {
		return &EscapeError{name, fmt.Sprintf("is a symbolic link to the absolute path %q", target)}
	}
	if to := path.Join(path.Dir(name), target); to == ".." || strings.HasPrefix(to, "../") {
		return &EscapeError{name, fmt.Sprintf("is a symbolic link to %q, outside the folder", target)}
	}
	return t.inPlace(name, func(dir *os.Root, base string) error { return dir.Symlink(target, base) })
}

// hardLink makes another name for a file that the same archive brought before.
func (t *tree) hardLink(name, target string) error {
	if path.IsAbs(target) || hasDotDot(target) || target == "" {
		return &EscapeError{name, fmt.Sprintf("is a hard link to %q, outside the folder", target)}
	}
	target = path.Clean(target)
	if target == name {
		return nil
	}
	if !t.realFile(target) {
		return &EscapeError{name, fmt.Sprintf("is a hard link to %q, which is no file of the archive", target)}
	}
	return t.inPlace(name, func(*os.Root, string) error { return t.root.Link(target, name) })
}

func (t *tree) realFile(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if !t.dirs[dir] {
			return false
		}
	}
	st, err := t.root.Lstat(name)
	return err == nil && st.Mode().IsRegular()
}

// checkLinks refuses a folder with a symbolic link that leads out of it or in a circle. Links to nothing are allowed.
func checkLinks(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return err
		}
		if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			target, _ := root.Readlink(name)
			return &EscapeError{name, fmt.Sprintf("is a symbolic link to %q, which leads out of the folder or in a circle", target)}
		}
		return nil
	})
}
