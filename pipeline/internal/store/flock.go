package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

// Holder says who holds a lock.
type Holder struct {
	PID       int       `json:"pid"`
	User      string    `json:"user,omitempty"`
	Command   string    `json:"command,omitempty"` // values of key=value arguments are left out: they may be secrets
	Run       string    `json:"run,omitempty"`
	What      string    `json:"what,omitempty"` // "build[pg=17.0]", "block 3"
	Since     time.Time `json:"since"`
	Exclusive bool      `json:"exclusive,omitempty"`
}

func (h Holder) String() string {
	if h.PID == 0 {
		return "another process"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "pid %d", h.PID)
	if h.User != "" {
		fmt.Fprintf(&b, " of %s", h.User)
	}
	if h.Command != "" {
		fmt.Fprintf(&b, " (%s)", h.Command)
	}
	if h.What != "" {
		fmt.Fprintf(&b, " for %s", h.What)
	}
	if h.Run != "" {
		fmt.Fprintf(&b, " in run %s", h.Run)
	}
	if !h.Since.IsZero() {
		fmt.Fprintf(&b, " since %s", h.Since.Format("2006-01-02 15:04:05"))
	}
	return b.String()
}

// self describes this process.
func self(run, what string) Holder {
	h := Holder{PID: os.Getpid(), Command: commandLine(os.Args), Run: run, What: what, Since: time.Now().UTC().Truncate(time.Second)}
	if u, err := user.Current(); err == nil {
		h.User = u.Username
	}
	return h
}

func commandLine(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		if name, _, ok := strings.Cut(arg, "="); ok {
			arg = name + "=..."
		}
		words[i] = arg
	}
	if len(words) > 0 {
		words[0] = filepath.Base(words[0])
	}
	return strings.Join(words, " ")
}

// lockPoll bounds the pauses between attempts at a lock. Attempts rather than a blocking call because a blocked flock
// cannot be cancelled without leaking a thread; at ten attempts a second a waiter costs a measurement nothing.
const (
	lockPollMin = time.Millisecond
	lockPollMax = 100 * time.Millisecond
)

// tryFlock reports false when somebody else holds the lock.
func tryFlock(f *os.File, how int) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		}
		return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
}

// lockRequest is one attempt at a lock file.
type lockRequest struct {
	open    func() (*os.File, error)
	how     int // unix.LOCK_SH or unix.LOCK_EX
	noWait  bool
	waiting func() // called after each attempt that found the lock held; may be nil
}

var errLockHeld = errors.New("held by another process")

// acquire opens and locks a file. The file may be removed by its last holder, so after locking it must still be the one
// that the path names.
func acquire(ctx context.Context, r lockRequest) (*os.File, error) {
	pause := lockPollMin
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := r.open()
		if err != nil {
			return nil, err
		}
		ok, err := tryFlock(f, r.how)
		if ok && stillNamed(f) {
			return f, nil
		}
		f.Close()
		switch {
		case err != nil:
			return nil, err
		case ok:
			continue // a removed file: open the new one
		case r.noWait:
			return nil, errLockHeld
		}
		if r.waiting != nil {
			r.waiting()
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
		pause = min(2*pause, lockPollMax)
	}
}

func stillNamed(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(mine, named)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// openLockFile opens or creates a lock file of our own directories.
func openLockFile(path string) func() (*os.File, error) {
	return func() (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644) }
}

// held reports whether anybody holds a lock on the file. A missing or unreadable file is not held.
func held(path string) bool {
	f, err := openPlain(path)
	if err != nil {
		return false
	}
	defer f.Close()
	free, err := tryFlock(f, unix.LOCK_SH)
	return err == nil && !free
}

// sign writes who holds a lock into its file. It informs people and decides nothing, so a failure does not matter.
func sign(f *os.File, h Holder) {
	data, err := json.Marshal(h)
	if err != nil {
		return
	}
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt(append(data, '\n'), 0)
	}
}

// holderOf reads what sign wrote; the zero Holder when it cannot be read.
func holderOf(path string) Holder {
	var h Holder
	f, err := openPlain(path)
	if err != nil {
		return h
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxHolderBytes))
	if err != nil || json.Unmarshal(data, &h) != nil {
		return Holder{}
	}
	for _, text := range []*string{&h.User, &h.Command, &h.Run, &h.What} {
		*text = printable(*text)
	}
	return h
}

// maxHolderBytes bounds what is read of a file that another user may have written.
const maxHolderBytes = 16 << 10

// printable keeps another user's text from steering our terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// openPlain opens a file in a directory that others can write to: no link is followed, and a pipe does not block.
func openPlain(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// randomText returns n characters of a-z and 0-9 without those that look alike.
func randomText(n int) string {
	const letters = "abcdefghijkmnpqrstuvwxyz23456789"
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return string(b)
}
