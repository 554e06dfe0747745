package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func init() { children["pin"] = pinForever }

// pinForever pins keys and never ends.
func pinForever(args []string) error {
	s, err := Open(args[0], Options{})
	if err != nil {
		return err
	}
	if _, err := s.Pin(context.Background(), args[1:]...); err != nil {
		return err
	}
	fmt.Println("pinned")
	select {}
}

// clocked is a store with a clock of its own.
func clocked(t *testing.T) (s *Store, now *time.Time) {
	t.Helper()
	clock := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s, err := Open(filepath.Join(tempDir(t), "cache"), Options{FS: unsynced{}, Now: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	return s, &clock
}

// use notes the use of an entry now.
func use(t *testing.T, s *Store, recipe string) {
	t.Helper()
	p, err := s.Pin(t.Context(), key(recipe))
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
}

// chain makes entries a, b, c, d of 12 bytes, each used an hour after the one before; d is made from c.
func chain(t *testing.T, s *Store, now *time.Time) {
	t.Helper()
	for _, recipe := range []string{"a", "b", "c", "d"} {
		info := Info{Kind: "k"}
		if recipe == "d" {
			info.Needs = []string{key("c")}
		}
		build(t, s, recipe, info)
		*now = now.Add(time.Hour)
		use(t, s, recipe)
	}
}

func kept(t *testing.T, s *Store) string {
	t.Helper()
	names := ""
	for _, recipe := range []string{"a", "b", "c", "d"} {
		if _, reason := s.Lookup(key(recipe)); reason.OK() {
			names += recipe
		}
	}
	return names
}

func TestGC(t *testing.T) {
	const size = 12 // bytes of each entry
	tests := []struct {
		name string
		opt  GCOptions
		pin  []string
		want string
	}{
		{"no limits", GCOptions{}, nil, "abcd"},
		{"size fits", GCOptions{MaxBytes: 4 * size}, nil, "abcd"},
		{"size", GCOptions{MaxBytes: 2 * size}, nil, "cd"},
		{"size, one pinned", GCOptions{MaxBytes: 2 * size}, []string{"a"}, "ad"},
		{"age", GCOptions{MaxAge: 150 * time.Minute}, nil, "bcd"},
		{"age, kept by a lock file", GCOptions{MaxAge: time.Minute, Keep: []string{key("b")}}, nil, "bd"},
		{"what a kept one needs", GCOptions{MaxBytes: 1, Keep: []string{key("d")}}, nil, "cd"},
		{"what a pinned one needs", GCOptions{MaxBytes: 1}, []string{"d"}, "cd"},
		{"everything", GCOptions{MaxBytes: 1}, nil, ""},
		{"dry run", GCOptions{MaxBytes: 1, DryRun: true}, nil, "abcd"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, now := clocked(t)
			chain(t, s, now)
			if len(test.pin) > 0 {
				p, err := s.Pin(t.Context(), key(test.pin[0]))
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				*now = now.Add(-time.Second) // the pin's use must not matter
			}
			result, err := s.GC(t.Context(), test.opt)
			if err != nil {
				t.Fatal(err)
			}
			if got := kept(t, s); got != test.want {
				t.Errorf("kept %q, want %q; %+v", got, test.want, result)
			}
			if result.Freed != int64(len(result.Removed)*size) || result.Kept+len(result.Removed) != 4 {
				t.Errorf("counts: %+v", result)
			}
			checkTidy(t, "after gc", s.Dir())
		})
	}
}

// TestGCAgainstAnotherProcess: pins of a live process hold, those of a dead one do not.
func TestGCAgainstAnotherProcess(t *testing.T) {
	s := newTest(t)
	build(t, s, "a", Info{Kind: "k"})
	c := start(t, nil, "pin", s.Dir(), key("a"), key("not made yet"))
	if line := c.line(); line != "pinned" {
		t.Fatalf("child says %q", line)
	}
	build(t, s, "not made yet", Info{Kind: "k"})
	all := GCOptions{MaxBytes: 1}
	result, err := s.GC(t.Context(), all)
	if err != nil || result.Kept != 2 || result.Needed != 2 {
		t.Errorf("beside a live run: %+v, %v", result, err)
	}
	var se *Error
	if err := s.Remove(t.Context(), key("a")); !errors.As(err, &se) || se.Kind != InUse {
		t.Errorf("Remove beside a live run: %v", err)
	}
	c.kill()
	if err := s.Remove(t.Context(), key("a")); err != nil {
		t.Error(err)
	}
	result, err = s.GC(t.Context(), all)
	if err != nil || result.Kept != 0 || len(result.Removed) != 1 {
		t.Errorf("beside a dead run: %+v, %v", result, err)
	}
}

func TestGCRemovesDamageAndLeftovers(t *testing.T) {
	s := newTest(t)
	e := build(t, s, "a", Info{Kind: "k"})
	if err := os.Remove(filepath.Join(e.root, "meta")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(s.path(pendingDir, key("dead"), "entry", "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	alive, _, err := s.Create(t.Context(), Request{Key: key("alive")})
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Abort()
	result, err := s.GC(t.Context(), GCOptions{})
	if err != nil || len(result.Removed) != 1 || result.Removed[0].Why != "damaged: meta is missing" || result.Leftovers != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	if !exists(alive.Dir) || exists(s.path(pendingDir, key("dead"))) {
		t.Error("the wrong pending directory was removed")
	}
}

// TestClockSetBack: an entry that was used in the future is not old, and its next use is noted.
func TestClockSetBack(t *testing.T) {
	s, now := clocked(t)
	build(t, s, "a", Info{Kind: "k"})
	use(t, s, "a")
	*now = now.Add(-1000 * time.Hour)
	if result, err := s.GC(t.Context(), GCOptions{MaxAge: time.Hour}); err != nil || result.Kept != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	use(t, s, "a")
	if e, _ := s.Lookup(key("a")); !e.LastUsed().Equal(*now) {
		t.Errorf("last used %s, want %s", e.LastUsed(), now)
	}
}

// TestUseIsNotedOnceAMinute keeps lookups from writing all the time.
func TestUseIsNotedOnceAMinute(t *testing.T) {
	s, now := clocked(t)
	build(t, s, "a", Info{Kind: "k"})
	*now = now.Add(-time.Hour) // the file's own first time is today's
	use(t, s, "a")
	first := *now
	*now = now.Add(50 * time.Second)
	use(t, s, "a")
	if e, _ := s.Lookup(key("a")); !e.LastUsed().Equal(first) {
		t.Errorf("noted again after 50 s: %s", e.LastUsed())
	}
	*now = now.Add(20 * time.Second)
	use(t, s, "a")
	if e, _ := s.Lookup(key("a")); !e.LastUsed().Equal(*now) {
		t.Errorf("not noted after 70 s: %s", e.LastUsed())
	}
}

func TestListAndVerifyAll(t *testing.T) {
	s, now := clocked(t)
	chain(t, s, now)
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, l := range list {
		recipe, err := l.Entry.Recipe()
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, recipe)
	}
	if !slices.Equal(order, []string{"a", "b", "c", "d"}) {
		t.Errorf("order %v", order)
	}
	flip(t, filepath.Join(list[2].Entry.Dir(), "secret"), 0)
	var bad []string
	n, err := s.VerifyAll(t.Context(), func(l Listed, err error) {
		if err != nil {
			bad = append(bad, err.Error())
		}
	})
	want := "entry " + short(key("c")) + ": damaged: the content of secret has changed"
	if err != nil || n != 1 || len(bad) != 1 || bad[0] != want {
		t.Errorf("%d, %v, %v", n, bad, err)
	}
}
