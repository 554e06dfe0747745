package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is the lock that a measurement holds exclusively, and everything that would disturb one shared. It is one lock for
// all users of the machine. Two files make it fair:
//
//	pipeline-machine.turnstile  everybody passes through it, one at a time, on the way to the lock; whoever waits for the
//	                            lock stands in it
//	pipeline-machine.lock       held shared or exclusively
//
// So nobody who comes after a waiting exclusive one can get the lock before it, and a stream of shared ones cannot starve
// it. The files are empty, readable by all and never removed by us; a flock needs no permission to write. They are opened
// without following links, and only regular files are accepted, so that another user cannot make us lock or change
// something else. What another user can do is to hold the lock for ever: that is what a shared lock means, and Holders
// names him.
//
// Who holds the lock is written to pipeline-machine.holder.* files, each flocked by its holder, so that those of the dead
// are recognised. They inform people and decide nothing.
type Machine struct{ dir string }

const (
	turnstileFile = "pipeline-machine.turnstile"
	machineFile   = "pipeline-machine.lock"
	holderPrefix  = "pipeline-machine.holder."
)

// MachineDir is where the lock's files are: $PIPELINE_LOCK_DIR; else /run/lock if that is open to all as on Debian, else
// /tmp. It depends on nothing that differs between users, like TMPDIR does.
func MachineDir() string {
	if dir := os.Getenv("PIPELINE_LOCK_DIR"); dir != "" {
		return dir
	}
	const runLock = "/run/lock"
	info, err := os.Stat(runLock)
	if err == nil && info.IsDir() && info.Mode().Perm() == 0o777 && info.Mode()&fs.ModeSticky != 0 {
		return runLock
	}
	return "/tmp"
}

// OpenMachine returns the machine's lock; an empty dir means MachineDir. It touches nothing.
func OpenMachine(dir string) *Machine {
	if dir == "" {
		dir = MachineDir()
	}
	return &Machine{dir: dir}
}

// LockRequest asks for the machine.
type LockRequest struct {
	Exclusive bool
	Run, What string // for those who wait for us
	NoWait    bool   // a Busy error instead of waiting
	// Waiting is called when the lock is not free, and again whenever its holders change; may be nil.
	Waiting func([]Holder)
}

// Held is a lock that this process holds until Unlock, or until it dies.
type Held struct {
	lock *os.File
	note *note // nil when it could not be written
}

// note is a holder's file.
type note struct {
	file *os.File
	path string
}

// Lock waits for the machine, for at most as long as ctx lasts. A deadline or NoWait gives a Busy error that names the
// holders.
func (m *Machine) Lock(ctx context.Context, r LockRequest) (*Held, error) {
	w := &waiter{machine: m, callback: r.Waiting}
	turnstile, err := acquire(ctx, lockRequest{open: m.opener(turnstileFile), how: unix.LOCK_EX, noWait: r.NoWait, waiting: w.look})
	if err != nil {
		return nil, m.failed(err)
	}
	defer turnstile.Close()
	how := unix.LOCK_SH
	if r.Exclusive {
		how = unix.LOCK_EX
	}
	lock, err := acquire(ctx, lockRequest{open: m.opener(machineFile), how: how, noWait: r.NoWait, waiting: w.look})
	if err != nil {
		return nil, m.failed(err)
	}
	h := self(r.Run, r.What)
	h.Exclusive = r.Exclusive
	return &Held{lock: lock, note: m.sign(h)}, nil
}

// Unlock gives the machine back; a second call does nothing.
func (h *Held) Unlock() {
	if h.note != nil {
		_ = os.Remove(h.note.path) // what stays is recognised as dead
		_ = h.note.file.Close()
		h.note = nil
	}
	if h.lock != nil {
		_ = h.lock.Close()
		h.lock = nil
	}
}

// Holders lists who holds the machine, the longest first. It may be empty although the lock is held: by a process of
// another version, or in the instant before it signs.
func (m *Machine) Holders() []Holder {
	names, err := os.ReadDir(m.dir)
	if err != nil {
		return nil
	}
	var list []Holder
	for _, d := range names {
		if !strings.HasPrefix(d.Name(), holderPrefix) || !d.Type().IsRegular() {
			continue
		}
		path := filepath.Join(m.dir, d.Name())
		if !held(path) {
			_ = os.Remove(path) // of a dead process; only its user may
			continue
		}
		if h := holderOf(path); h.PID != 0 {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b Holder) int { return a.Since.Compare(b.Since) })
	return list
}

// waiter tells the callback about changes only.
type waiter struct {
	machine  *Machine
	callback func([]Holder)
	last     string
	next     time.Time
}

// holderLook is how often a waiter reads who holds the lock.
const holderLook = time.Second

func (w *waiter) look() {
	if w.callback == nil || time.Now().Before(w.next) {
		return
	}
	w.next = time.Now().Add(holderLook)
	holders := w.machine.Holders()
	data, _ := json.Marshal(holders)
	if text := string(data); text != w.last {
		w.last = text
		w.callback(holders)
	}
}

func (m *Machine) failed(err error) error {
	const op = "lock the machine"
	if errors.Is(err, errLockHeld) || errors.Is(err, context.DeadlineExceeded) {
		return &Error{Kind: Busy, Op: op, Path: m.dir, Err: waitError{"held by " + holdersText(m.Holders()), err},
			Hint: "wait for it, or stop it"}
	}
	return wrap(op, m.dir, err)
}

func holdersText(list []Holder) string {
	if len(list) == 0 {
		return Holder{}.String()
	}
	words := make([]string, len(list))
	for i, h := range list {
		words[i] = h.String()
	}
	return strings.Join(words, " and ")
}

// opener opens a lock file for reading, which is all that a flock needs. It is created only when it does not exist: in a
// directory like /tmp the kernel refuses O_CREAT on another user's file (fs.protected_regular), even to root.
func (m *Machine) opener(name string) func() (*os.File, error) {
	path := filepath.Join(m.dir, name)
	return func() (*os.File, error) {
		f, err := openPlain(path)
		if errors.Is(err, fs.ErrNotExist) {
			if err := createShared(path); err != nil {
				return nil, err
			}
			f, err = openPlain(path)
		}
		if err != nil {
			return nil, err
		}
		return f, acceptable(f)
	}
}

// createShared makes an empty file that every user can read. Losing the race to make it is fine.
func createShared(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o444)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Chmod(0o444) // whatever the umask
}

func acceptable(f *os.File) error {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file: remove it", f.Name())
	}
	if err != nil {
		f.Close()
	}
	return err
}

// sign writes who we are. The file is locked before it gets its name, so that nobody takes it for a dead one.
func (m *Machine) sign(h Holder) *note {
	name := fmt.Sprintf("%d.%s", h.PID, randomText(6))
	tmp := filepath.Join(m.dir, ".pipeline-machine."+name)
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil // informs only
	}
	_ = f.Chmod(0o644)
	sign(f, h)
	final := filepath.Join(m.dir, holderPrefix+name)
	locked, err := tryFlock(f, unix.LOCK_EX)
	if !locked || err != nil || os.Rename(tmp, final) != nil {
		_ = os.Remove(tmp)
		f.Close()
		return nil
	}
	return &note{f, final}
}
