package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Request asks for the directory of a key that is to be made.
type Request struct {
	Key    string
	Recipe string // readable text, kept beside the output
	// Replace is the ID of an entry of this key that must not be used: Check found it damaged, or a fresh one is wanted. Any
	// other whole entry of the key, made by somebody else meanwhile, is as good as a new one.
	Replace string
	Run     string // for those who wait for us
	What    string // likewise: "build[pg=17.0]"
	NoWait  bool   // a Busy error instead of waiting
	// Waiting is called once for every other process that turns out to be making the key; may be nil.
	Waiting func(Holder)
}

// Pending is an entry that is being made. Exactly one process has it at any time.
type Pending struct {
	Dir     string // to be filled
	Scratch string // private, on the same file system, removed with Commit or Abort
	// Replaces says what is wrong with the entry that this one takes the place of; OK when there is none.
	Replaces Reason

	store   *Store
	request Request
	root    string // pending/<key>
	lock    *os.File
}

// Create locks a key and hands out an empty directory to fill, or the entry when there is a usable one after all: exactly one of
// the two is not nil unless there is an error. While another process makes the same key it waits until that one is done or dead
// or ctx ends. The caller ends a Pending with Commit or Abort; a process that dies leaves nothing but a directory that
// the next one removes.
func (s *Store) Create(ctx context.Context, r Request) (*Pending, *Entry, error) {
	if err := checkKey(r.Key); err != nil {
		return nil, nil, err
	}
	if err := s.prepare(); err != nil {
		return nil, nil, err
	}
	lock, err := s.lockKey(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	e, reason, err := s.usable(ctx, r)
	if err != nil || e != nil {
		s.unlockKey(r.Key, lock)
		return nil, e, err
	}
	p := &Pending{store: s, request: r, root: s.path(pendingDir, r.Key), lock: lock, Replaces: reason}
	if err := p.make(); err != nil {
		p.Abort()
		return nil, nil, wrap("make entry "+short(r.Key), p.root, err)
	}
	return p, nil, nil
}

// usable returns the entry that makes making one unnecessary, or what is wrong with the one that is there.
func (s *Store) usable(ctx context.Context, r Request) (*Entry, Reason, error) {
	e, reason := s.Lookup(r.Key)
	if reason.OK() && e.ID == r.Replace {
		return nil, Reason{Text: "replaced on request"}, nil
	}
	if reason.OK() {
		var err error
		if reason, err = s.Check(ctx, e, ByStat); err != nil {
			return nil, Reason{}, err
		}
	}
	if reason.OK() {
		return e, Reason{}, nil
	}
	if !reason.Damaged {
		reason = Reason{}
	}
	return nil, reason, nil
}

func (s *Store) lockKey(ctx context.Context, r Request) (*os.File, error) {
	path := s.path(locksDir, r.Key)
	var last Holder
	lock, err := acquire(ctx, lockRequest{
		open: openLockFile(path), how: unix.LOCK_EX, noWait: r.NoWait,
		waiting: func() {
			h := holderOf(path)
			if r.Waiting != nil && h.PID != 0 && h.PID != last.PID {
				r.Waiting(h)
			}
			if h.PID != 0 {
				last = h
			}
		},
	})
	switch {
	case errors.Is(err, errLockHeld):
		return nil, &Error{Kind: Busy, Op: "make entry " + short(r.Key), Path: path,
			Err: errors.New("being made by " + holderOf(path).String()), Hint: "wait for it or stop it"}
	case err != nil && isContext(err) && last.PID != 0:
		return nil, &Error{Kind: Busy, Op: "make entry " + short(r.Key), Path: path,
			Err: waitError{"waited for " + last.String(), err}}
	case err != nil:
		return nil, wrap("make entry "+short(r.Key), path, err)
	}
	sign(lock, self(r.Run, r.What))
	return lock, nil
}

// waitError keeps the context's error findable behind the words.
type waitError struct {
	text string
	err  error
}

func (e waitError) Error() string { return e.text + ": " + e.err.Error() }
func (e waitError) Unwrap() error { return e.err }

// unlockKey removes the lock file while it is still locked, so that lock files do not pile up; those who wait notice.
func (s *Store) unlockKey(key string, lock *os.File) {
	_ = os.Remove(s.path(locksDir, key)) // a file that stays is harmless
	_ = lock.Close()
}

func (p *Pending) make() error {
	fsys := p.store.fs
	if err := fsys.RemoveAll(p.root); err != nil {
		return err
	}
	entry := filepath.Join(p.root, "entry")
	p.Dir, p.Scratch = filepath.Join(entry, "out"), filepath.Join(p.root, "scratch")
	for _, dir := range []string{p.root, entry, p.Dir, p.Scratch} {
		if err := fsys.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// Abort gives up: everything is removed. After Commit it does nothing, so it can be deferred.
func (p *Pending) Abort() {
	if p.lock == nil {
		return
	}
	_ = p.store.fs.RemoveAll(p.root) // the next Create of this key, or GC, tries again
	p.release()
}

func (p *Pending) release() {
	p.store.unlockKey(p.request.Key, p.lock)
	p.lock = nil
}

// Explain adds to the error of whatever filled the directory what only the store knows: that the disk is full, that the
// directory has vanished, or that it cannot be written.
func (p *Pending) Explain(err error) error {
	if err == nil || isContext(err) {
		return err
	}
	op := "make entry " + short(p.request.Key)
	if kindOf(err) != Full && strings.Contains(err.Error(), "No space left on device") { // what a child process said
		err = errors.Join(syscall.ENOSPC, err)
	}
	kind := kindOf(err)
	switch {
	case kind == Full, exists(p.Dir) && freeBytes(p.Dir) < fullBelow:
		e := &Error{Kind: Full, Op: op, Path: pathOf(err, p.Dir), Bytes: treeBytes(p.root), Err: err}
		e.complete()
		return e
	case !exists(p.Dir):
		return &Error{Kind: Vanished, Op: op, Path: p.Dir, Err: err, Hint: "something removed it while it was in use; run again"}
	case kind == ReadOnly:
		return wrap(op, p.Dir, err)
	}
	return err
}

// treeBytes sums the sizes of the files below a directory, as far as they can be seen.
func treeBytes(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// fullBelow is the free space below which a failed child process most likely failed for want of space.
const fullBelow = 1 << 20

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// sweep removes what dead processes left: pending directories and lock files of keys that nobody holds, and whatever is on
// its way out. Failing to tidy is no reason not to work, so errors are left to the next sweep.
func (s *Store) sweep() (removed int) {
	for _, dir := range []string{pendingDir, locksDir} {
		names, _ := os.ReadDir(s.path(dir))
		for _, d := range names {
			if checkKey(d.Name()) == nil && s.sweepKey(d.Name()) {
				removed++
			}
		}
	}
	aside, _ := os.ReadDir(s.path(asideDir))
	for _, d := range aside {
		if s.fs.RemoveAll(s.path(asideDir, d.Name())) == nil {
			removed++
		}
	}
	return removed
}

// sweepKey reports whether there was a pending directory to remove.
func (s *Store) sweepKey(key string) bool {
	lock, err := acquire(context.Background(), lockRequest{
		open: openLockFile(s.path(locksDir, key)), how: unix.LOCK_EX, noWait: true})
	if err != nil {
		return false // alive
	}
	defer s.unlockKey(key, lock)
	pending := s.path(pendingDir, key)
	return exists(pending) && s.fs.RemoveAll(pending) == nil
}
