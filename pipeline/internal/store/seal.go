package store

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// sealer walks a finished tree from the top and makes it ours and read-only, so that nothing changes between hashing and
// use. Each directory is sealed before its names are read: an unprivileged leftover of the stage can then no longer swap a
// file for a link.
//
// Everything stays readable for everybody, because servers run as another account than the tool when that is root; a file
// that its maker kept to himself (0600) stays private. Under a umask that hides everything, modes say nothing about what is
// private, and all files are opened.
type sealer struct {
	fs    FS
	root  string
	uid   int
	gid   int
	hides bool // the umask takes the read bits of others
	nodes []node
	bytes int64
}

func newSealer(fsys FS, root string) *sealer {
	return &sealer{fs: fsys, root: root, uid: os.Geteuid(), gid: os.Getegid(), hides: currentUmask()&0o044 == 0o044}
}

// currentUmask reads the umask without changing it, which other goroutines would notice.
func currentUmask() fs.FileMode {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "Umask:"); ok {
			mask, err := strconv.ParseUint(strings.TrimSpace(text), 8, 32)
			if err == nil {
				return fs.FileMode(mask)
			}
		}
	}
	return 0o022
}

func (s *sealer) walk(rel string) error {
	full := filepath.Join(s.root, rel)
	info, err := os.Lstat(full)
	if err != nil {
		return err
	}
	n := node{kind: kindOfMode(info.Mode()), path: rel}
	if n.kind == 0 {
		return fmt.Errorf("%s is a %s, which an entry cannot hold", rel, describe(info.Mode()))
	}
	if err := s.own(full, info); err != nil {
		return err
	}
	if n.kind == 'l' {
		return s.addLink(n, full)
	}
	n.mode = s.sealed(info.Mode())
	if info.Mode()&^fs.ModeDir != n.mode {
		if err := s.fs.Chmod(full, n.mode); err != nil {
			return err
		}
	}
	n.modTime = info.ModTime().UnixNano()
	if n.kind == 'f' {
		n.size = info.Size()
		s.bytes += n.size
	}
	s.nodes = append(s.nodes, n)
	if n.kind == 'f' {
		return nil
	}
	return s.walkNames(rel, full)
}

func (s *sealer) walkNames(rel, full string) error {
	names, err := os.ReadDir(full)
	if err != nil {
		return err
	}
	for _, d := range names {
		if err := s.walk(path.Join(rel, d.Name())); err != nil {
			return err
		}
	}
	return nil
}

// own takes what the unprivileged account made.
func (s *sealer) own(full string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || (int(st.Uid) == s.uid && int(st.Gid) == s.gid) || s.uid != 0 {
		return nil
	}
	return s.fs.Lchown(full, s.uid, s.gid)
}

func (s *sealer) addLink(n node, full string) error {
	target, err := os.Readlink(full)
	if err != nil {
		return err
	}
	if pending := filepath.Dir(filepath.Dir(s.root)); strings.HasPrefix(target, pending+"/") {
		return fmt.Errorf("link %s points to %s, which is gone once the entry is finished", n.path, target)
	}
	n.target = target
	s.nodes = append(s.nodes, n)
	return nil
}

func (s *sealer) sealed(m fs.FileMode) fs.FileMode {
	perm := m.Perm()
	switch {
	case m.IsDir():
		return 0o555
	case perm&0o077 == 0 && !s.hides:
		return 0o400 | perm&0o100
	case perm&0o111 != 0:
		return 0o555
	}
	return 0o444
}

func describe(m fs.FileMode) string {
	switch {
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	}
	return "device"
}
