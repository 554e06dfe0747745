package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Listed is an entry as `cache ls` shows it.
type Listed struct {
	Key      string    `json:"key"`
	Entry    *Entry    `json:"entry,omitempty"`  // what is readable of it; nil when meta is damaged
	Damage   string    `json:"damage,omitempty"` // what Lookup says of it
	LastUsed time.Time `json:"last_used,omitzero"`
}

// List returns all entries, the least recently used first.
func (s *Store) List() ([]Listed, error) {
	groups, err := os.ReadDir(s.path(entriesDir))
	if err != nil {
		if os.IsNotExist(err) {
			return nil, nil
		}
		return nil, wrap("list entries", s.path(entriesDir), err)
	}
	var list []Listed
	for _, g := range groups {
		keys, err := os.ReadDir(s.path(entriesDir, g.Name()))
		if err != nil {
			return nil, wrap("list entries", s.path(entriesDir, g.Name()), err)
		}
		for _, d := range keys {
			if checkKey(d.Name()) == nil {
				list = append(list, s.listed(d.Name()))
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Listed) int { return a.LastUsed.Compare(b.LastUsed) })
	return list, nil
}

func (s *Store) listed(key string) Listed {
	l := Listed{Key: key}
	e, reason := readEntry(s.entryPath(key), key)
	l.Entry, l.Damage = e, reason.Text
	if e != nil {
		l.LastUsed = e.LastUsed()
	}
	return l
}

// VerifyAll hashes every entry and calls done for each with what is wrong, nil for nothing. It returns the number of damaged
// entries; the error is that of listing or of ctx.
func (s *Store) VerifyAll(ctx context.Context, done func(l Listed, err error)) (bad int, err error) {
	list, err := s.List()
	if err != nil {
		return 0, err
	}
	for _, l := range list {
		err := s.Verify(ctx, l.Key)
		if ctx.Err() != nil {
			return bad, ctx.Err()
		}
		if err != nil {
			bad++
		}
		done(l, err)
	}
	return bad, nil
}

// GCOptions limit the cache.
type GCOptions struct {
	MaxBytes int64         // least recently used entries go first until the rest fits; 0: no limit
	MaxAge   time.Duration // entries that were not used for that long go; 0: no limit
	Keep     []string      // keys that must stay, with everything they need: what lock files name
	DryRun   bool          // only say what would be removed
}

// Removal is one entry that GC removed.
type Removal struct {
	Listed
	Why string `json:"why"` // "not used for 31 days", "over the size limit", "damaged: ..."
}

// GCResult says what GC did.
type GCResult struct {
	Removed   []Removal `json:"removed"`
	Freed     int64     `json:"freed"` // bytes
	Kept      int       `json:"kept"`
	KeptBytes int64     `json:"kept_bytes"`
	// Needed counts the entries that a limit would have removed and a live run or Keep needs.
	Needed    int `json:"needed"`
	Leftovers int `json:"leftovers"` // directories of dead processes
}

// GC removes damaged entries, leftovers of dead processes, and what is beyond the limits, but never what a live run has
// pinned, what Keep names, or what those need in turn.
func (s *Store) GC(ctx context.Context, opt GCOptions) (GCResult, error) {
	if !exists(s.dir) {
		return GCResult{}, nil
	}
	if !opt.DryRun {
		if err := s.prepare(); err != nil {
			return GCResult{}, err
		}
	}
	var result GCResult
	err := s.underGCLockUnless(ctx, opt.DryRun, func() error {
		var err error
		result, err = s.collect(ctx, opt)
		return err
	})
	return result, wrap("trim the cache", s.dir, err)
}

// underGCLockUnless leaves the lock alone in a dry run, which may be on a read-only cache.
func (s *Store) underGCLockUnless(ctx context.Context, dryRun bool, f func() error) error {
	if dryRun {
		return f()
	}
	return s.underGCLock(ctx, unix.LOCK_EX, f)
}

func (s *Store) collect(ctx context.Context, opt GCOptions) (GCResult, error) {
	var result GCResult
	pins, err := s.pinned(!opt.DryRun)
	if err != nil {
		return result, err
	}
	list, err := s.List()
	if err != nil {
		return result, err
	}
	needed := closure(list, pins, opt.Keep)
	doomed := s.doomed(list, needed, opt, &result)
	for _, r := range doomed {
		if err := ctx.Err(); err != nil {
			return result, err
		}
		if !opt.DryRun {
			if err := s.setAside(r.Key); err != nil {
				return result, err
			}
		}
		result.Removed = append(result.Removed, r)
		if r.Entry != nil {
			result.Freed += r.Entry.Bytes
		}
	}
	if !opt.DryRun {
		result.Leftovers = s.sweep()
		s.sweepTemporary()
		s.rebuildIndex(survivors(list, doomed))
	}
	return result, nil
}

// sweepTemporary removes what killed processes were writing; nobody else writes such files while the gc lock is held.
func (s *Store) sweepTemporary() {
	names, _ := filepath.Glob(s.path(indexDir, "*.tmp-*"))
	for _, name := range names {
		_ = os.Remove(name)
	}
}

// closure adds to the pinned and kept keys everything they were made from.
func closure(list []Listed, pins map[string]bool, keep []string) map[string]bool {
	needs := map[string][]string{}
	for _, l := range list {
		if l.Entry != nil {
			needs[l.Key] = l.Entry.Needs
		}
	}
	needed := map[string]bool{}
	var add func(key string)
	add = func(key string) {
		if needed[key] {
			return
		}
		needed[key] = true
		for _, k := range needs[key] {
			add(k)
		}
	}
	for key := range pins {
		add(key)
	}
	for _, key := range keep {
		add(key)
	}
	return needed
}

// doomed picks what goes, least recently used first, and counts the rest.
func (s *Store) doomed(list []Listed, needed map[string]bool, opt GCOptions, result *GCResult) []Removal {
	var total int64
	for _, l := range list {
		total += l.bytes()
	}
	var out []Removal
	for _, l := range list {
		why := s.whyRemove(l, opt, total)
		if why == "" || needed[l.Key] {
			result.Kept++
			result.KeptBytes += l.bytes()
			if why != "" {
				result.Needed++
			}
			continue
		}
		total -= l.bytes()
		out = append(out, Removal{l, why})
	}
	return out
}

func (l Listed) bytes() int64 {
	if l.Entry == nil {
		return 0
	}
	return l.Entry.Bytes
}

// whyRemove is empty for an entry that may stay. An entry used in the future (the clock was set back) counts as used now.
func (s *Store) whyRemove(l Listed, opt GCOptions, total int64) string {
	age := s.now().Sub(l.LastUsed)
	switch {
	case l.Damage != "":
		return l.Damage
	case opt.MaxAge > 0 && age > opt.MaxAge:
		return "not used for " + ageText(age)
	case opt.MaxBytes > 0 && total > opt.MaxBytes:
		return "over the size limit of " + sizeText(opt.MaxBytes)
	}
	return ""
}

func ageText(d time.Duration) string {
	if days := int(d / (24 * time.Hour)); days > 1 {
		return fmt.Sprintf("%d days", days)
	}
	return d.Truncate(time.Minute).String()
}

func survivors(list []Listed, doomed []Removal) []*Entry {
	gone := map[string]bool{}
	for _, r := range doomed {
		gone[r.Key] = true
	}
	var rest []*Entry
	for _, l := range list {
		if l.Entry != nil && !gone[l.Key] {
			rest = append(rest, l.Entry)
		}
	}
	return rest
}

// Remove removes one entry, unless a live run needs it (an InUse error). A missing entry is fine.
func (s *Store) Remove(ctx context.Context, key string) error {
	op := "remove entry " + short(key)
	if err := checkKey(key); err != nil {
		return err
	}
	if !exists(s.entryPath(key)) {
		return nil
	}
	if err := s.prepare(); err != nil {
		return err
	}
	return wrap(op, s.entryPath(key), s.underGCLock(ctx, unix.LOCK_EX, func() error {
		pins, err := s.pinned(true)
		if err != nil {
			return err
		}
		if pins[key] {
			return &Error{Kind: InUse, Op: op, Path: s.entryPath(key), Err: errors.New("a live run needs it"), Hint: "wait for that run to end"}
		}
		return s.setAside(key)
	}))
}
