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
	p, err := s.Pin(t.Context(), key("a"), key("b"), key("a"))
	if err != nil {
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

// TestEarlierPinFile reads what a version wrote that did not say whose it is.
func TestEarlierPinFile(t *testing.T) {
	got := parsePins([]byte(key("a") + "\n" + key("b") + "\n"))
	if len(got.keys) != 2 || got.keys[key("a")] || got.holder.PID != 0 {
		t.Errorf("%+v", got)
	}
}

// pinning is one attempt to pin, which may have to wait.
type pinning struct {
	pins  *Pins
	err   error
	waits chan string // key and holder that it waits for
	done  chan struct{}
}

func beginPinning(ctx context.Context, s *Store, r PinRequest) *pinning {
	p := &pinning{waits: make(chan string, 10), done: make(chan struct{})}
	r.Waiting = func(key string, h Holder) { p.waits <- fmt.Sprint(short(key), " ", h.Run) }
	go func() {
		defer close(p.done)
		p.pins, p.err = s.PinFor(ctx, r)
	}()
	return p
}

// TestReplacingWaits: nobody replaces what another run uses, and nobody begins to use what another run is replacing; two
// runs that want to replace what the other uses do not wait for each other for ever.
func TestReplacingWaits(t *testing.T) {
	s := newTest(t)
	a, b := key("a"), key("b")
	user, err := s.PinFor(t.Context(), PinRequest{Keys: []string{a, b}, Run: "user"})
	if err != nil {
		t.Fatal(err)
	}
	first := beginPinning(t.Context(), s, PinRequest{Keys: []string{a, b}, Replace: []string{a}, Run: "first"})
	if got := <-first.waits; got != short(a)+" user" {
		t.Errorf("the first waits for %q", got)
	}
	second := beginPinning(t.Context(), s, PinRequest{Keys: []string{a, b}, Replace: []string{b}, Run: "second"})
	if got := <-second.waits; got != short(b)+" user" {
		t.Errorf("the second waits for %q", got)
	}
	user.Close()
	winner, loser, its := first, second, a // whoever is the first to look
	select {
	case <-first.done:
	case <-second.done:
		winner, loser, its = second, first, b
	}
	if winner.err != nil {
		t.Fatal(winner.err)
	}
	late := beginPinning(t.Context(), s, PinRequest{Keys: []string{its}, Run: "late"})
	if got := <-late.waits; !strings.HasPrefix(got, short(its)) {
		t.Errorf("the late one waits for %q", got)
	}
	winner.pins.Replaced(its)
	<-late.done
	if late.err != nil {
		t.Fatal(late.err)
	}
	late.pins.Close()
	winner.pins.Close()
	<-loser.done
	if loser.err != nil {
		t.Fatal(loser.err)
	}
	loser.pins.Close()
}

// TestReplacingWaitsForTheDead: a run that is killed is in nobody's way.
func TestReplacingWaitsForTheDead(t *testing.T) {
	s := newTest(t)
	other := start(t, nil, "pin", s.Dir(), key("a"))
	if line := other.line(); line != "pinned" {
		t.Fatal(line)
	}
	p := beginPinning(t.Context(), s, PinRequest{Keys: []string{key("a")}, Replace: []string{key("a")}})
	<-p.waits
	other.kill()
	<-p.done
	if p.err != nil {
		t.Fatal(p.err)
	}
	p.pins.Close()
}

func TestWaitingToReplaceCanBeCancelled(t *testing.T) {
	s := newTest(t)
	user, err := s.PinFor(t.Context(), PinRequest{Keys: []string{key("a")}, Run: "user"})
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close()
	ctx, cancel := context.WithCancel(t.Context())
	p := beginPinning(ctx, s, PinRequest{Keys: []string{key("a")}, Replace: []string{key("a")}})
	<-p.waits
	cancel()
	<-p.done
	if !errors.Is(p.err, context.Canceled) || !strings.Contains(p.err.Error(), "waited for pid") || !strings.Contains(p.err.Error(), "run user") {
		t.Errorf("%v", p.err)
	}
	if files, err := os.ReadDir(s.path(pinsDir)); err != nil || len(files) != 1 {
		t.Errorf("pin files: %v, %v", files, err)
	}
}
