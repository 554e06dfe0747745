package store

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Pins keep entries from being trimmed while a run is alive. They die with the process.
type Pins struct {
	store *Store
	mu    sync.Mutex
	file  *os.File // pins/<name>: one key per line, flocked
	keys  map[string]bool
}

// Pin begins a run's use of the given keys, whether their entries exist yet or not, and notes the time of use of those
// that do. Call it before Lookup: what is found afterwards stays. In a read-only cache it does nothing, as nothing can be
// removed there either. Close ends it.
func (s *Store) Pin(ctx context.Context, keys ...string) (*Pins, error) {
	p := &Pins{store: s, keys: map[string]bool{}}
	if s.readOnly {
		return p, nil
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if err := p.open(ctx); err != nil {
		return nil, wrap("pin entries", s.path(pinsDir), err)
	}
	if err := p.Add(ctx, keys...); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// open makes and locks the pin file, while nobody tidies.
func (p *Pins) open(ctx context.Context) error {
	return p.store.underGCLock(ctx, unix.LOCK_SH, func() error {
		path := p.store.path(pinsDir, fmt.Sprintf("%d-%s", os.Getpid(), randomText(8)))
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		if _, err := tryFlock(f, unix.LOCK_EX); err != nil {
			f.Close()
			return err
		}
		p.file = f
		return nil
	})
}

// Add pins more keys.
func (p *Pins) Add(ctx context.Context, keys ...string) error {
	if p.file == nil {
		return nil
	}
	var text strings.Builder
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return fmt.Errorf("pin: %w", err)
		}
		if !p.keys[key] {
			text.WriteString(key + "\n")
		}
	}
	err := p.store.underGCLock(ctx, unix.LOCK_SH, func() error {
		_, err := p.file.WriteString(text.String())
		return err
	})
	if err != nil {
		return wrap("pin entries", p.file.Name(), err)
	}
	for _, key := range keys {
		p.keys[key] = true
		p.store.touch(key)
	}
	return nil
}

// Close ends the use.
func (p *Pins) Close() {
	if p.file == nil {
		return
	}
	_ = os.Remove(p.file.Name()) // GC removes what stays
	_ = p.file.Close()
}

// touch notes that an entry was used, at most once a minute. It only orders what is trimmed first.
func (s *Store) touch(key string) {
	path := s.entryPath(key) + "/used"
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	now := s.now()
	if age := now.Sub(info.ModTime()); age > time.Minute || age < 0 {
		_ = s.fs.Touch(path, now)
	}
}

// pinned returns the keys that live runs need. With tidy it removes the files of dead ones, which takes the exclusive gc
// lock: a file that was just made is not locked yet.
func (s *Store) pinned(tidy bool) (map[string]bool, error) {
	keys := map[string]bool{}
	files, err := os.ReadDir(s.path(pinsDir))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, d := range files {
		path := s.path(pinsDir, d.Name())
		if !held(path) {
			if tidy {
				_ = os.Remove(path)
			}
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		for key := range strings.FieldsSeq(string(data)) {
			keys[key] = true
		}
	}
	return keys, nil
}

// underGCLock runs f while nobody trims (LOCK_SH) or nobody pins (LOCK_EX).
func (s *Store) underGCLock(ctx context.Context, how int, f func() error) error {
	lock, err := acquire(ctx, lockRequest{open: openLockFile(s.path(gcLockFile)), how: how})
	if err != nil {
		return err
	}
	defer lock.Close()
	return f()
}
