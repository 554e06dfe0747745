package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func init() {
	children["once"] = func(args []string) error { return makeAll(args[0], 4) }
	children["hold"] = holdKey
}

const onceKeys = 8

// makeAll makes all keys from several goroutines, each through a store of its own, and writes a line per making.
func makeAll(dir string, workers int) error {
	var wg sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			s, err := Open(filepath.Join(dir, "cache"), Options{FS: unsynced{}})
			for i := 0; i < onceKeys && err == nil; i++ {
				err = makeOnce(s, filepath.Join(dir, "made"), fmt.Sprint((i+w)%onceKeys))
			}
			errs[w] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func makeOnce(s *Store, log, recipe string) error {
	ctx := context.Background()
	p, e, err := s.Create(ctx, Request{Key: key(recipe), Recipe: recipe})
	if err != nil {
		return err
	}
	if p != nil {
		defer p.Abort()
		if err := (osFS{}).Append(log, []byte(recipe+"\n")); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(p.Dir, "f"), []byte(recipe), 0o644); err != nil {
			return err
		}
		if e, err = p.Commit(ctx, Info{Kind: "k"}); err != nil {
			return err
		}
	}
	data, err := os.ReadFile(filepath.Join(e.Dir(), "f"))
	if err != nil || string(data) != recipe {
		return fmt.Errorf("entry of %q holds %q, %v", recipe, data, err)
	}
	return nil
}

// TestMadeOnce lets several goroutines of several processes want the same keys at the same time.
func TestMadeOnce(t *testing.T) {
	dir := tempDir(t)
	var others []*child
	for range 4 {
		others = append(others, start(t, nil, "once", dir))
	}
	if err := makeAll(dir, 8); err != nil {
		t.Error(err)
	}
	for _, c := range others {
		if text := c.line(); text != "" {
			t.Errorf("child: %s", text)
		}
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("child: %v", err)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "made"))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for made := range strings.FieldsSeq(string(data)) {
		count[made]++
	}
	for i := range onceKeys {
		if n := count[fmt.Sprint(i)]; n != 1 {
			t.Errorf("key %d was made %d times", i, n)
		}
	}
	checkTidy(t, "at the end", filepath.Join(dir, "cache"))
}

// holdKey begins to make a key and never ends.
func holdKey(args []string) error {
	s, err := Open(args[0], Options{})
	if err != nil {
		return err
	}
	if _, _, err := s.Create(context.Background(), Request{Key: key("k"), Recipe: "k", Run: "run-1", What: "build[pg=17]"}); err != nil {
		return err
	}
	fmt.Println("holding")
	select {}
}

func TestWaitsForAnotherProcess(t *testing.T) {
	s := newTest(t)
	c := start(t, nil, "hold", s.Dir())
	if line := c.line(); line != "holding" {
		t.Fatalf("child says %q", line)
	}
	_, _, err := s.Create(t.Context(), Request{Key: key("k"), NoWait: true})
	var se *Error
	if !errors.As(err, &se) || se.Kind != Busy || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", c.cmd.Process.Pid)) {
		t.Errorf("NoWait: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err = s.Create(ctx, Request{Key: key("k"), Waiting: func(Holder) { cancel() }})
	if !errors.Is(err, context.Canceled) || !errors.As(err, &se) {
		t.Errorf("cancelled while waiting: %v", err)
	}
	var holders []Holder
	p, e, err := s.Create(t.Context(), Request{Key: key("k"), Recipe: "k", Waiting: func(h Holder) {
		holders = append(holders, h)
		c.kill()
	}})
	if err != nil || e != nil {
		t.Fatalf("after the other died: %v, %v", e, err)
	}
	p.Abort()
	if len(holders) != 1 || holders[0].PID != c.cmd.Process.Pid || holders[0].What != "build[pg=17]" || holders[0].Run != "run-1" {
		t.Errorf("waited for %v", holders)
	}
}

// TestReplace heals a damaged entry once, whoever finds the damage.
func TestReplace(t *testing.T) {
	s := newTest(t)
	first := build(t, s, "k", Info{Kind: "k"})
	file := filepath.Join(first.Dir(), "bin", "postgres")
	flip(t, file, 2)
	e, reason := s.Lookup(key("k"))
	if !reason.OK() {
		t.Fatalf("Lookup reads contents: %s", reason)
	}
	reason, err := s.Check(t.Context(), e, ByContent)
	if err != nil || reason.Text != "damaged: the content of bin/postgres has changed" {
		t.Fatalf("Check: %s, %v", reason, err)
	}
	p, _, err := s.Create(t.Context(), Request{Key: key("k"), Recipe: "k", Replace: first.ID})
	if err != nil || p == nil || p.Replaces.OK() {
		t.Fatalf("Create: %+v, %v", p, err)
	}
	fill(t, p.Dir, "k")
	second, err := p.Commit(t.Context(), Info{Kind: "k"})
	if err != nil {
		t.Fatal(err)
	}
	_, third, err := s.Create(t.Context(), Request{Key: key("k"), Recipe: "k", Replace: first.ID})
	if err != nil || third == nil || third.ID != second.ID {
		t.Errorf("the second to find the damage gets %v, %v", third, err)
	}
	checkTidy(t, "at the end", s.Dir())
}

// flip changes one byte of a file and hides it from everything but the checksum.
func flip(t *testing.T, path string, at int) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[at] ^= 1
	for _, err := range []error{os.Chmod(path, 0o600), os.WriteFile(path, data, 0), os.Chmod(path, info.Mode().Perm()),
		os.Chtimes(path, info.ModTime(), info.ModTime())} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
