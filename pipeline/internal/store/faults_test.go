package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// faulty is a file layer that makes the n-th change to the disk fail, and all that follow if the process is to be dead from
// then on. A write that fails has written half.
type faulty struct {
	FS
	at    int // counts down; the change that makes it 0 fails
	err   error
	dead  bool
	fired bool
	ops   []string // what was attempted, for the message of a failing test
}

func (f *faulty) hit(op, path string) error {
	f.ops = append(f.ops, op+" "+filepath.Base(path))
	f.at--
	if f.at == 0 || f.dead && f.at < 0 {
		f.fired = true
		return &fs.PathError{Op: op, Path: path, Err: f.err}
	}
	return nil
}

func (f *faulty) Mkdir(path string, perm fs.FileMode) error {
	if err := f.hit("mkdir", path); err != nil {
		return err
	}
	return f.FS.Mkdir(path, perm)
}

func (f *faulty) WriteFile(path string, data []byte, perm fs.FileMode) error {
	if err := f.hit("write", path); err != nil {
		if !f.dead || f.at == 0 {
			_ = f.FS.WriteFile(path, data[:len(data)/2], perm)
		}
		return err
	}
	return f.FS.WriteFile(path, data, perm)
}

func (f *faulty) Append(path string, data []byte) error {
	if err := f.hit("append", path); err != nil {
		if !f.dead || f.at == 0 {
			_ = f.FS.Append(path, data[:len(data)/2])
		}
		return err
	}
	return f.FS.Append(path, data)
}

func (f *faulty) Sync(path string) error {
	if err := f.hit("sync", path); err != nil {
		return err
	}
	return f.FS.Sync(path)
}

func (f *faulty) SyncAll(path string) error {
	if err := f.hit("syncall", path); err != nil {
		return err
	}
	return f.FS.SyncAll(path)
}

func (f *faulty) Rename(from, to string) error {
	if err := f.hit("rename", to); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f *faulty) RemoveAll(path string) error {
	if err := f.hit("remove", path); err != nil {
		return err
	}
	return f.FS.RemoveAll(path)
}

func (f *faulty) Chmod(path string, perm fs.FileMode) error {
	if err := f.hit("chmod", path); err != nil {
		return err
	}
	return f.FS.Chmod(path, perm)
}

func (f *faulty) Lchown(path string, uid, gid int) error {
	if err := f.hit("lchown", path); err != nil {
		return err
	}
	return f.FS.Lchown(path, uid, gid)
}

func (f *faulty) Touch(path string, t time.Time) error {
	if err := f.hit("touch", path); err != nil {
		return err
	}
	return f.FS.Touch(path, t)
}

// scenario is what is tried with a failing disk: make the entry of a key, in a new cache or over a damaged entry, with few
// or many files.
type scenario struct {
	name    string
	damaged bool
	files   int
}

func (sc scenario) prepare(t *testing.T, dir string) {
	if !sc.damaged {
		return
	}
	e := build(t, openTest(t, dir), "recipe", Info{Kind: "build"})
	spoiled(t, e.root, func(root string) error { return removeTree(root + "/out/bin") })
}

func (sc scenario) attempt(t *testing.T, dir string, fsys FS) (committed bool, err error) {
	s, err := Open(dir, Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	p, e, err := s.Create(t.Context(), Request{Key: key("recipe"), Recipe: "recipe"})
	if err != nil {
		return false, err
	}
	if e != nil {
		t.Fatal("Create returned the damaged entry")
	}
	fill(t, p.Dir, "recipe")
	for i := range sc.files {
		if err := os.WriteFile(filepath.Join(p.Dir, fmt.Sprint(i)), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, err = p.Commit(t.Context(), Info{Kind: "build"})
	return err == nil, err
}

var scenarios = []scenario{{"new", false, 0}, {"many files", false, syncEachBelow}, {"over a damaged one", true, 0}}

// TestEveryChangeFails makes each change to the disk fail in turn, with and without the process living on, and looks every
// time that the entry is whole or absent and that the next attempt works and leaves nothing behind.
func TestEveryChangeFails(t *testing.T) {
	modes := []struct {
		name string
		err  error
		dead bool
	}{{"disk full", syscall.ENOSPC, false}, {"io error", syscall.EIO, false}, {"dead from then on", syscall.EIO, true}}
	total := 0
	for _, sc := range scenarios {
		for _, mode := range modes {
			t.Run(sc.name+"/"+mode.name, func(t *testing.T) {
				for n := 1; ; n++ {
					dir := filepath.Join(tempDir(t), "cache")
					sc.prepare(t, dir)
					f := &faulty{FS: unsynced{}, at: n, err: mode.err, dead: mode.dead}
					committed, err := sc.attempt(t, dir, f)
					if !f.fired {
						break
					}
					total++
					where := fmt.Sprintf("change %d (%s)", n, f.ops[n-1])
					checkError(t, where, mode.err, committed, err)
					checkWholeOrAbsent(t, where, dir, committed)
					checkRecovers(t, where, dir)
				}
			})
		}
	}
	t.Logf("%d changes failed", total)
}

func checkError(t *testing.T, where string, injected error, committed bool, err error) {
	t.Helper()
	if committed {
		return // a change that only tidies
	}
	var se *Error
	if !errors.As(err, &se) || !errors.Is(err, injected) {
		t.Errorf("%s: error %v is not an Error with the cause", where, err)
	} else if injected == syscall.ENOSPC && se.Kind != Full {
		t.Errorf("%s: kind %q, want %q", where, se.Kind, Full)
	}
}

func checkWholeOrAbsent(t *testing.T, where, dir string, committed bool) {
	t.Helper()
	s := openTest(t, dir)
	e, reason := s.Lookup(key("recipe"))
	if reason.OK() {
		reason, _ = s.Check(t.Context(), e, ByContent)
	}
	switch {
	case committed && !reason.OK():
		t.Errorf("%s: committed, but %s", where, reason)
	case !reason.OK() && reason.Text != "not in the cache" && reason.Text != "damaged: bin is missing":
		t.Errorf("%s: neither whole nor absent: %s", where, reason)
	}
}

// checkRecovers makes the entry with a disk that works.
func checkRecovers(t *testing.T, where, dir string) {
	t.Helper()
	s := openTest(t, dir)
	p, e, err := s.Create(t.Context(), Request{Key: key("recipe"), Recipe: "recipe"})
	if err != nil {
		t.Fatalf("%s: next Create: %v", where, err)
	}
	if e == nil {
		fill(t, p.Dir, "recipe")
		if e, err = p.Commit(t.Context(), Info{Kind: "build"}); err != nil {
			t.Fatalf("%s: next Commit: %v", where, err)
		}
	}
	if err := s.Verify(t.Context(), e.Key); err != nil {
		t.Errorf("%s: after recovery: %v", where, err)
	}
	checkTidy(t, where, dir)
}

// checkTidy looks that nothing of dead or failed attempts is left.
func checkTidy(t *testing.T, where, dir string) {
	t.Helper()
	for _, sub := range []string{pendingDir, asideDir, locksDir} {
		names, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil || len(names) > 0 {
			t.Errorf("%s: left in %s: %v, %v", where, sub, names, err)
		}
	}
}

// powerless is a file layer that forgets, when the power fails, what was not synced: contents of files, and renames.
type powerless struct {
	faulty
	synced  map[uint64]bool // inodes
	renames [][2]string     // not yet durable
}

func inode(path string) uint64 {
	var st syscall.Stat_t
	if syscall.Lstat(path, &st) != nil {
		return 0
	}
	return st.Ino
}

func (p *powerless) WriteFile(path string, data []byte, perm fs.FileMode) error {
	err := p.faulty.WriteFile(path, data, perm)
	delete(p.synced, inode(path))
	return err
}

func (p *powerless) Append(path string, data []byte) error {
	err := p.faulty.Append(path, data)
	delete(p.synced, inode(path))
	return err
}

func (p *powerless) Sync(path string) error {
	if err := p.hit("sync", path); err != nil {
		return err
	}
	p.synced[inode(path)] = true
	var rest [][2]string
	for _, r := range p.renames {
		if filepath.Dir(r[1]) != path && filepath.Dir(r[0]) != path {
			rest = append(rest, r)
		}
	}
	p.renames = rest
	return nil
}

func (p *powerless) SyncAll(path string) error {
	if err := p.hit("syncall", path); err != nil {
		return err
	}
	p.renames = nil
	return filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		p.synced[inode(name)] = true
		return err
	})
}

func (p *powerless) Rename(from, to string) error {
	if err := p.faulty.Rename(from, to); err != nil {
		return err
	}
	p.renames = append(p.renames, [2]string{from, to})
	return nil
}

// fail turns the power off. Whether a rename that was not synced has reached the disk is open, so both are tried.
func (p *powerless) fail(t *testing.T, dir string, undo bool) {
	t.Helper()
	if undo {
		for i := len(p.renames) - 1; i >= 0; i-- {
			if err := os.Rename(p.renames[i][1], p.renames[i][0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the cache was not even made
		}
		if err != nil || !d.Type().IsRegular() || p.synced[inode(name)] {
			return err
		}
		return errors.Join(os.Chmod(name, 0o600), os.Truncate(name, 0))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPowerFailure turns the power off after each change and looks that an entry which was visible, or reported as
// committed, has all of its content.
func TestPowerFailure(t *testing.T) {
	total := 0
	for _, sc := range scenarios[:2] {
		for _, undo := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/undo=%v", sc.name, undo), func(t *testing.T) {
				for n := 1; ; n++ {
					dir := filepath.Join(tempDir(t), "cache")
					p := &powerless{faulty: faulty{FS: unsynced{}, at: n, err: syscall.EIO, dead: true}, synced: map[uint64]bool{}}
					committed, _ := sc.attempt(t, dir, p)
					p.fail(t, dir, undo)
					where := fmt.Sprintf("power off before change %d", n)
					checkAfterPowerFailure(t, where, dir, committed)
					if !p.fired {
						break
					}
					total++
				}
			})
		}
	}
	t.Logf("the power failed %d times", total)
}

func checkAfterPowerFailure(t *testing.T, where, dir string, committed bool) {
	t.Helper()
	if data, err := os.ReadFile(filepath.Join(dir, layoutFile)); err == nil && len(data) == 0 {
		t.Errorf("%s: LAYOUT is empty", where)
		return
	}
	checkWholeOrAbsent(t, where, dir, committed)
	checkRecovers(t, where, dir)
}
