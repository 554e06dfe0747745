package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

// Run is a live run of this process.
type Run struct {
	ID   string
	Dir  string
	runs *Runs
	lock *os.File
	mu   sync.Mutex
	next map[string]int // block sequence by evidence prefix; see blocks.go
}

func (r *Runs) lockRun(ctx context.Context, id, dir string) (*Run, error) {
	path := filepath.Join(dir, "lock")
	lock, err := acquire(ctx, lockRequest{open: openLockFile(path), how: unix.LOCK_EX})
	if err != nil {
		return nil, err
	}
	sign(lock, self(id, ""))
	return &Run{ID: id, Dir: dir, runs: r, lock: lock, next: map[string]int{}}, nil
}

// resumeWait covers those who look whether a run is alive, which locks it for an instant.
const resumeWait = time.Second

// Resume takes up a run that has ended or died; ref is as for Load. A live one gives a Busy error that names its process.
func (r *Runs) Resume(ref string) (*Run, error) {
	id, err := r.Find(ref)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), resumeWait)
	defer cancel()
	dir := filepath.Join(r.dir, "runs", id)
	run, err := r.lockRun(ctx, id, dir)
	if isContext(err) {
		return nil, &Error{Kind: Busy, Op: "resume run " + id, Path: dir, Err: waitError{"it is alive: " + holderOf(filepath.Join(dir, "lock")).String(), err},
			Hint: "stop that process first"}
	}
	if err != nil {
		return nil, runError("resume run "+id, dir, err, 0)
	}
	run.sweep()
	return run, nil
}

// sweep removes files that a killed process was writing.
func (r *Run) sweep() {
	for _, pattern := range []string{"*.tmp-*", "blocks/*.tmp-*", "logs/*.tmp-*"} {
		names, _ := filepath.Glob(filepath.Join(r.Dir, pattern))
		for _, name := range names {
			_ = os.Remove(name)
		}
	}
}

// Save replaces the record, and the summary unless it is nil, so that a reader or a crash finds the old or the new one.
func (r *Run) Save(record, summary []byte) error {
	for _, f := range []struct {
		name string
		data []byte
	}{{"record.json", record}, {"summary.json", summary}} {
		if f.data == nil {
			continue
		}
		path := filepath.Join(r.Dir, f.name)
		if err := writeAtomic(r.runs.fs, path, f.data, 0o644); err != nil {
			return runError("save the record of run "+r.ID, path, err, len(f.data))
		}
	}
	return nil
}

// runError is wrap for what is not in the cache: other hints, and how many bytes a full disk had no room for.
func runError(op, path string, err error, bytes int) error {
	err = wrap(op, path, err)
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Kind {
	case Full:
		e.Bytes, e.Hint = int64(bytes), "free some space and resume the run"
	case ReadOnly, Permission:
		e.Hint = fmt.Sprintf("results go to %s, which uid %d must be able to write", parentDir(e.Path), os.Geteuid())
	}
	return err
}

// logName turns "build[pg=17.0]" into "build@pg=17.0.log", which needs no quoting in a shell. Other ids lose what is not
// harmless and are told apart by a hash.
func logName(node string) string {
	const most = 120
	name := node
	if kind, cell, ok := strings.Cut(node, "["); ok && strings.HasSuffix(cell, "]") {
		name = kind + "@" + strings.TrimSuffix(cell, "]")
	}
	plain := strings.Map(func(c rune) rune {
		if c < 0x80 && (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-_.,=+@", c)) {
			return c
		}
		return '_'
	}, name)
	if plain != name || strings.Contains(node, "@") || len(plain) > most || strings.Trim(plain, ".-") == "" || plain[0] == '.' {
		plain = "n" + plain[:min(most, len(plain))] + "@" + sumText([]byte(node))[:8]
	}
	return plain + ".log"
}

// Close ends the run's life. A second call does nothing.
func (r *Run) Close() {
	if r.lock != nil {
		_ = r.lock.Close()
		r.lock = nil
	}
}
