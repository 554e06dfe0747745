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

func init() { children["use"] = func(args []string) error { return useAndTrim(args[0], 2) } }

// TestPinnedStays lets several goroutines of several processes pin, make and use the same few entries and trim everything in
// between: what is pinned stays whole until it is released.
func TestPinnedStays(t *testing.T) {
	dir := filepath.Join(tempDir(t), "cache")
	others := []*child{start(t, nil, "use", dir), start(t, nil, "use", dir)}
	if err := useAndTrim(dir, 4); err != nil {
		t.Error(err)
	}
	for _, c := range others {
		if line := c.line(); line != "" {
			t.Error(line)
		}
	}
}

func useAndTrim(dir string, workers int) error {
	var wg sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			s, err := Open(dir, Options{FS: unsynced{}})
			for i := 0; i < 10 && err == nil; i++ {
				err = useRepeatedly(context.Background(), s, fmt.Sprint((w+i)%3))
				if err == nil {
					_, err = s.GC(context.Background(), GCOptions{MaxBytes: 1})
				}
			}
			errs[w] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func useRepeatedly(ctx context.Context, s *Store, recipe string) error {
	pins, err := s.Pin(ctx, key(recipe))
	if err != nil {
		return err
	}
	defer pins.Close()
	if err := workEntry(ctx, s, recipe); err != nil {
		return err
	}
	for range 5 {
		if err := s.Verify(ctx, key(recipe)); err != nil {
			return fmt.Errorf("while pinned: %w", err)
		}
	}
	return nil
}

func TestPinsAreCheckedAndCounted(t *testing.T) {
	s := newTest(t)
	if _, err := s.Pin(t.Context(), "not a key"); err == nil || !strings.Contains(err.Error(), "not a lower-case sha256") {
		t.Errorf("bad key: %v", err)
	}
	p, err := s.Pin(t.Context(), key("a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Add(t.Context(), key("b"), key("a")); err != nil {
		t.Fatal(err)
	}
	keys, err := s.pinned(false)
	if err != nil || len(keys) != 2 {
		t.Errorf("pinned: %v, %v", keys, err)
	}
	p.Close()
	files, err := os.ReadDir(s.path(pinsDir))
	if err != nil || len(files) > 0 {
		t.Errorf("left: %v, %v", files, err)
	}
}
