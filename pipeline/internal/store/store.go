package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// layoutVersion changes when an older program could misread what a newer one wrote.
const layoutVersion = 1

// The layout below the cache directory:
//
//	LAYOUT                      "pipeline cache, layout 1"
//	entries/<kk>/<key>/out/     what the stage made, read-only
//	entries/<kk>/<key>/recipe.txt, manifest, meta, used
//	pending/<key>/              being made by the holder of locks/<key>; else a leftover
//	locks/<key>                 flock of whoever makes that key
//	pins/<name>                 keys that a live run needs or replaces; flocked by it
//	index/<kind>                hashes of recipe lines, for Nearest; can be lost
//	aside/                      on its way to removal
//	gc.lock                     shared while pinning, exclusive while trimming
const (
	layoutFile = "LAYOUT"
	entriesDir = "entries"
	pendingDir = "pending"
	locksDir   = "locks"
	pinsDir    = "pins"
	indexDir   = "index"
	asideDir   = "aside"
	gcLockFile = "gc.lock"
)

var layoutDirs = []string{entriesDir, pendingDir, locksDir, pinsDir, indexDir, asideDir}

// Store is one cache directory. All methods may be called from several goroutines, and several processes may use one
// directory at the same time.
type Store struct {
	dir      string
	fs       FS
	readOnly bool
	now      func() time.Time
	nearest  nearestIndex

	mu       sync.Mutex
	prepared bool
}

// Options change how a store is opened.
type Options struct {
	// ReadOnly refuses to make entries; lookups work. It is implied when the directory cannot be written.
	ReadOnly bool
	FS       FS               // nil: the operating system
	Now      func() time.Time // nil: time.Now
}

// DefaultDir is where the cache is unless the caller says otherwise: $PIPELINE_CACHE; for root /var/cache/pipeline, because
// the unprivileged account that servers run as cannot enter root's home; else pipeline below $XDG_CACHE_HOME or ~/.cache.
func DefaultDir() (string, error) {
	if dir := os.Getenv("PIPELINE_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	if os.Geteuid() == 0 {
		return "/var/cache/pipeline", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w; set PIPELINE_CACHE", err)
	}
	return filepath.Join(dir, "pipeline"), nil
}

// Open opens a cache directory; an empty dir means DefaultDir. It changes nothing on disk: the directory is made when the
// first entry is. Errors are of type *Error: a layout that this program does not know, a directory that is something else,
// or one that others could plant files in.
func Open(dir string, opt Options) (*Store, error) {
	if dir == "" {
		var err error
		if dir, err = DefaultDir(); err != nil {
			return nil, err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open cache %q: %w", dir, err)
	}
	s := &Store{dir: dir, fs: opt.FS, readOnly: opt.ReadOnly, now: opt.Now}
	if s.fs == nil {
		s.fs = osFS{}
	}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.inspect(); err != nil {
		return nil, err
	}
	return s, nil
}

// Dir is the cache directory.
func (s *Store) Dir() string { return s.dir }

// ReadOnly reports whether entries can only be looked up.
func (s *Store) ReadOnly() bool { return s.readOnly }

// inspect looks at an existing directory before anything in it is trusted.
func (s *Store) inspect() error {
	const op = "open cache"
	info, err := os.Stat(s.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return wrap(op, s.dir, err)
	case !info.IsDir():
		return &Error{Kind: Layout, Op: op, Path: s.dir, Err: syscall.ENOTDIR, Hint: "set PIPELINE_CACHE to a directory"}
	}
	if err := trustworthy(op, s.dir, info); err != nil {
		return err
	}
	if unix.Access(s.dir, unix.W_OK) != nil {
		s.readOnly = true
	}
	return s.checkLayout()
}

// trustworthy refuses a directory into which others could put programs that we would run.
func trustworthy(op, dir string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o002 != 0 {
		return &Error{Kind: Permission, Op: op, Path: dir, Err: errors.New("everyone may write to it"), Hint: "chmod o-w " + dir}
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return &Error{Kind: Permission, Op: op, Path: dir,
			Err:  fmt.Errorf("it belongs to uid %d, and you are uid %d", st.Uid, os.Geteuid()),
			Hint: "run as its owner or set PIPELINE_CACHE to a directory of your own"}
	}
	return nil
}

func (s *Store) checkLayout() error {
	const op = "open cache"
	path := filepath.Join(s.dir, layoutFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s.checkUnused()
	}
	if err != nil {
		return wrap(op, path, err)
	}
	_, text, _ := strings.Cut(strings.TrimSpace(string(data)), "layout ")
	version, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return &Error{Kind: Layout, Op: op, Path: path, Err: fmt.Errorf("unreadable layout %q", firstLine(string(data))),
			Hint: "remove " + s.dir + " to start with an empty cache"}
	case version > layoutVersion:
		return &Error{Kind: Layout, Op: op, Path: path,
			Err:  fmt.Errorf("written by a newer pipeline (layout %d; this one knows %d)", version, layoutVersion),
			Hint: "upgrade, or set PIPELINE_CACHE to another directory"}
	case version < layoutVersion:
		return &Error{Kind: Layout, Op: op, Path: path, Err: fmt.Errorf("outdated layout %d", version),
			Hint: "remove " + s.dir + " to start with an empty cache"}
	}
	return nil
}

// checkUnused accepts an empty directory, or one whose first use was cut short, and no other: PIPELINE_CACHE=$HOME is a slip.
func (s *Store) checkUnused() error {
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return wrap("open cache", s.dir, err)
	}
	for _, d := range names {
		if d.Name() == layoutFile {
			return s.checkLayout() // another process has just made it
		}
		if !strings.HasPrefix(d.Name(), layoutFile+".tmp-") && d.Name() != "lost+found" {
			return &Error{Kind: Layout, Op: "open cache", Path: s.dir, Err: fmt.Errorf("not a cache: it holds %q", d.Name()),
				Hint: "set PIPELINE_CACHE to an empty or new directory"}
		}
	}
	return nil
}

// prepare makes the layout, once per process. The LAYOUT file comes first, so that a directory with anything else in it and
// no LAYOUT is never ours.
func (s *Store) prepare() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readOnly {
		return &Error{Kind: ReadOnly, Op: "write to the cache", Path: s.dir, Err: syscall.EROFS,
			Hint: "set PIPELINE_CACHE to a directory that can be written"}
	}
	if s.prepared {
		if _, err := os.Stat(filepath.Join(s.dir, layoutFile)); err == nil {
			return nil
		}
	}
	if err := s.makeLayout(); err != nil {
		return wrap("make the cache directory", s.dir, err)
	}
	s.prepared = true
	s.sweep()
	return nil
}

func (s *Store) makeLayout() error {
	if err := mkdirs(s.fs, parentDir(s.dir), 0o755); err != nil {
		return err
	}
	perm := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		perm = 0o755 // the account that builds and servers run as must get in
	}
	if err := mkdirs(s.fs, s.dir, perm); err != nil {
		return err
	}
	path := filepath.Join(s.dir, layoutFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		text := fmt.Sprintf("pipeline cache, layout %d\n", layoutVersion)
		if err := writeAtomic(s.fs, path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, name := range layoutDirs {
		if err := mkdirs(s.fs, filepath.Join(s.dir, name), 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

func (s *Store) entryPath(key string) string { return s.path(entriesDir, key[:2], key) }

// checkKey keeps anything but a sha256 from becoming a path.
func checkKey(key string) error {
	if len(key) != 64 || strings.Trim(key, "0123456789abcdef") != "" {
		return fmt.Errorf("key %q: not a lower-case sha256", key)
	}
	return nil
}

// short is how a key is shown to people.
func short(key string) string { return key[:min(12, len(key))] }

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line[:min(80, len(line))]
}
