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
//
// A file with several names is sealed last, and only if all of its names are in the tree: the unprivileged account could
// have given a name here to a file that is none of its business.
type sealer struct {
	fs    FS
	root  string
	uid   int
	gid   int
	hides bool // the umask takes the read bits of others
	nodes []node
	bytes int64              // a file with several names counts once
	links map[uint64]*linked // by inode
}

// linked is a file with several names.
type linked struct {
	want  uint64 // number of names that it has
	names []string
	mode  fs.FileMode
}

func newSealer(fsys FS, root string) *sealer {
	return &sealer{fs: fsys, root: root, uid: os.Geteuid(), gid: os.Getegid(), hides: currentUmask()&0o044 == 0o044,
		links: map[uint64]*linked{}}
}

// seal does all of it and leaves the nodes in the order of their names.
func (s *sealer) seal() error {
	if err := s.walk("."); err != nil {
		return err
	}
	for _, l := range s.links {
		if uint64(len(l.names)) != l.want {
			return fmt.Errorf("%s has %d hard links outside of the entry: copy it instead", l.names[0], l.want-uint64(len(l.names)))
		}
		full := filepath.Join(s.root, l.names[0])
		info, err := os.Lstat(full)
		if err == nil {
			err = s.own(full, info)
		}
		if err == nil {
			err = s.fs.Chmod(full, l.mode)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
	n := node{kind: kindOfMode(info.Mode()), path: rel, modTime: info.ModTime().UnixNano()}
	switch n.kind {
	case 'l':
		return s.addLink(n, full, info)
	case 'f':
		return s.addFile(n, full, info)
	case 'd':
		return s.addDirectory(n, full, info)
	}
	return fmt.Errorf("%s is a %s, which an entry cannot hold", rel, describe(info.Mode()))
}

func (s *sealer) addFile(n node, full string, info fs.FileInfo) error {
	n.mode, n.size = s.sealed(info.Mode()), info.Size()
	s.nodes = append(s.nodes, n)
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Nlink == 1 {
		s.bytes += n.size
		return s.close(full, info, n.mode)
	}
	l := s.links[st.Ino]
	if l == nil {
		l = &linked{want: st.Nlink, mode: n.mode}
		s.links[st.Ino] = l
		s.bytes += n.size
	}
	l.names = append(l.names, n.path)
	return nil
}

func (s *sealer) addDirectory(n node, full string, info fs.FileInfo) error {
	n.mode = s.sealed(info.Mode())
	if err := s.close(full, info, n.mode); err != nil {
		return err
	}
	s.nodes = append(s.nodes, n)
	return s.walkNames(n.path, full)
}

// close takes a file or directory and gives it its final mode.
func (s *sealer) close(full string, info fs.FileInfo, mode fs.FileMode) error {
	if err := s.own(full, info); err != nil {
		return err
	}
	if info.Mode()&^fs.ModeDir == mode {
		return nil
	}
	return s.fs.Chmod(full, mode)
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

func (s *sealer) addLink(n node, full string, info fs.FileInfo) error {
	n.modTime = 0
	if err := s.own(full, info); err != nil {
		return err
	}
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
