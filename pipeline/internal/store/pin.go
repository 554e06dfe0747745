package store

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Pins keep entries from being trimmed, and from being replaced by another run, while a run is alive. They die with the process.
type Pins struct {
	store *Store
	mu    sync.Mutex
	file  *os.File // pins/<name>: who, and what in lines; flocked
}

// PinRequest says what a run will use.
type PinRequest struct {
	Keys []string
	// Replace are those of the keys whose whole entry the run will put a new one in the place of. Nobody else may be using
	// them, and nobody begins to until Replaced is called.
	Replace []string
	Run     string // for those who wait for us
	// Waiting is called when another run's use of a key has to end first, and again when it is another run; may be nil.
	Waiting func(key string, h Holder)
}

// Pin begins a run's use of the given keys; see PinFor.
func (s *Store) Pin(ctx context.Context, keys ...string) (*Pins, error) {
	return s.PinFor(ctx, PinRequest{Keys: keys})
}

// PinFor begins a run's use of keys, whether their entries exist yet or not, and notes the time of use of those that do.
// Call it before Lookup: what is found afterwards stays. All keys are pinned at once or none, so that whoever waits holds
// nothing that another could wait for. In a read-only cache it does nothing, as nothing can be removed there either. Close
// ends it.
func (s *Store) PinFor(ctx context.Context, r PinRequest) (*Pins, error) {
	p := &Pins{store: s}
	if s.readOnly {
		return p, nil
	}
	for _, key := range r.Keys {
		if err := checkKey(key); err != nil {
			return nil, fmt.Errorf("pin: %w", err)
		}
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if err := p.open(ctx); err != nil {
		return nil, wrap("pin entries", s.path(pinsDir), err)
	}
	if err := p.take(ctx, r); err != nil {
		p.Close()
		return nil, wrap("pin entries", s.path(pinsDir), err)
	}
	for _, key := range r.Keys {
		s.touch(key)
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

// pinPollMax is how often a run that waits for the end of another looks.
const pinPollMax = time.Second

// take writes the keys down once no other run is in the way.
func (p *Pins) take(ctx context.Context, r PinRequest) error {
	how := unix.LOCK_SH
	if len(r.Replace) > 0 {
		how = unix.LOCK_EX // nobody pins what is claimed between the look and the writing
	}
	var last Holder
	for pause := lockPollMin; ; pause = min(2*pause, pinPollMax) {
		var by Holder
		var key string
		err := p.store.underGCLock(ctx, how, func() (err error) {
			if key, by, err = p.blocked(r); err == nil && key == "" {
				_, err = p.file.WriteString(pinText(r))
			}
			return err
		})
		if err != nil || key == "" {
			return err
		}
		if r.Waiting != nil && by != last {
			r.Waiting(key, by)
		}
		last = by
		if err := sleep(ctx, pause); err != nil {
			return waitError{"waited for " + by.String(), err}
		}
	}
}

// The lines of a pin file after the first, which says whose it is: a key that is used, one that is also going to be
// replaced, and one that has been.
const (
	claimMark = "!"
	doneMark  = "-"
)

func pinText(r PinRequest) string {
	who, _ := json.Marshal(self(r.Run, "")) // strings and a time: it cannot fail
	lines := append([]string{string(who)}, r.Keys...)
	for _, key := range r.Replace {
		lines = append(lines, claimMark+key)
	}
	return strings.Join(lines, "\n") + "\n"
}

// Replaced ends the claim to replace an entry, which stays pinned: others may use it from now on.
func (p *Pins) Replaced(key string) {
	if p.file == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.file.WriteString(doneMark + key + "\n") // else the claim ends with the run
}

// pinned is what one live run uses.
type pinned struct {
	holder Holder
	keys   map[string]bool // true: about to be replaced
}

func parsePins(data []byte) pinned {
	who, rest, _ := strings.Cut(string(data), "\n")
	out := pinned{keys: map[string]bool{}}
	if json.Unmarshal([]byte(who), &out.holder) != nil { // an earlier version wrote the keys alone
		out.holder, rest = Holder{}, string(data)
	}
	for key := range strings.FieldsSeq(rest) {
		if claimed, ok := strings.CutPrefix(key, claimMark); ok {
			out.keys[claimed] = true
			continue
		}
		out.keys[strings.TrimPrefix(key, doneMark)] = false
	}
	return out
}

// blocked returns a key that another run uses and r wants to replace, or the other way round, and that run; "" for none.
func (p *Pins) blocked(r PinRequest) (string, Holder, error) {
	others, err := p.store.live(false, p.file.Name())
	if err != nil {
		return "", Holder{}, err
	}
	for _, other := range others {
		for _, key := range r.Replace {
			if _, used := other.keys[key]; used {
				return key, other.holder, nil
			}
		}
		for _, key := range r.Keys {
			if other.keys[key] {
				return key, other.holder, nil
			}
		}
	}
	return "", Holder{}, nil
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

// pinned returns the keys that live runs need.
func (s *Store) pinned(tidy bool) (map[string]bool, error) {
	runs, err := s.live(tidy, "")
	keys := map[string]bool{}
	for _, run := range runs {
		for key := range run.keys {
			keys[key] = true
		}
	}
	return keys, err
}

// live reads the pin files of live runs but one. With tidy it removes those of dead ones, which takes the exclusive gc lock:
// a file that was just made is not locked yet.
func (s *Store) live(tidy bool, but string) ([]pinned, error) {
	files, err := os.ReadDir(s.path(pinsDir))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var out []pinned
	for _, d := range files {
		path := s.path(pinsDir, d.Name())
		if path == but {
			continue
		}
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
		out = append(out, parsePins(data))
	}
	return out, nil
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
