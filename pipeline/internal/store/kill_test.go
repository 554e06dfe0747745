package store

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kills is how often TestKilled kills; the torture suite asks for hundreds.
var kills = flag.Int("kills", 40, "number of processes that TestKilled kills")

func init() { children["work"] = work }

// work does all that writes, over and over, until it is killed: entries of a few keys, pins, trimming, a run with records
// and blocks.
func work(args []string) error {
	ctx := context.Background()
	s, err := Open(filepath.Join(args[0], "cache"), Options{FS: unsynced{}})
	if err != nil {
		return err
	}
	runs := OpenRuns(filepath.Join(args[0], ".pipeline"), Options{FS: unsynced{}})
	fmt.Println("ready")
	for round := 0; ; round++ {
		pins, err := s.Pin(ctx, key("a"), key("b"))
		if err != nil {
			return err
		}
		for _, recipe := range []string{"a", "b", fmt.Sprint(rand.IntN(20))} {
			if err := workEntry(ctx, s, recipe); err != nil {
				return err
			}
		}
		if err := workRun(runs, round); err != nil {
			return err
		}
		pins.Close()
		if _, err := s.GC(ctx, GCOptions{MaxBytes: 3000}); err != nil {
			return err
		}
	}
}

// workEntry makes an entry whose files say which key they belong to.
func workEntry(ctx context.Context, s *Store, recipe string) error {
	p, _, err := s.Create(ctx, Request{Key: key(recipe), Recipe: recipe})
	if err != nil || p == nil {
		return err
	}
	defer p.Abort()
	for i := range 5 {
		if err := os.WriteFile(filepath.Join(p.Dir, fmt.Sprint(i)), []byte(strings.Repeat(recipe+"\n", 50)), 0o644); err != nil {
			return err
		}
	}
	_, err = p.Commit(ctx, Info{Kind: "work"})
	return err
}

func workRun(runs *Runs, round int) error {
	run, err := runs.Create()
	if err != nil {
		return err
	}
	defer run.Close()
	for block := range 3 {
		record := fmt.Sprintf(`{"status":"running","round":%d,"blocks":%d}`, round, block)
		if err := run.Save([]byte(record), []byte(`{}`)); err != nil {
			return err
		}
		if err := run.AppendBlock(key("evidence"), []byte(record)); err != nil {
			return err
		}
	}
	return run.Save([]byte(`{"status":"done"}`), nil)
}

// TestKilled kills processes that write at random points and looks each time that every entry is whole, every record and
// block readable, no lock left, and that the next process can work.
func TestKilled(t *testing.T) {
	dir := tempDir(t)
	var whole, blocks, interrupted int
	for n := range *kills {
		c := start(t, nil, "work", dir)
		if line := c.line(); line != "ready" {
			t.Fatalf("child %d says %q", n, line)
		}
		time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond) // where the kill falls, not a synchronisation
		c.kill()
		if code := c.cmd.ProcessState.ExitCode(); code != -1 {
			t.Fatalf("child %d ended by itself with %d", n, code)
		}
		whole += checkStoreAfterKill(t, dir)
		b, i := checkRunsAfterKill(t, dir, *kills-1-n)
		blocks, interrupted = blocks+b, interrupted+i
	}
	checkWorks(t, dir)
	t.Logf("%d kills; %d times an entry was found whole, none damaged; %d blocks kept; %d runs interrupted", *kills, whole, blocks, interrupted)
	if whole == 0 || blocks == 0 {
		t.Error("the children were killed before they did anything")
	}
}

func checkStoreAfterKill(t *testing.T, dir string) (whole int) {
	t.Helper()
	s := openTest(t, filepath.Join(dir, "cache"))
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		if err := s.Verify(t.Context(), l.Key); err != nil {
			t.Errorf("after a kill: %v", err)
		}
		whole++
	}
	return whole
}

func checkRunsAfterKill(t *testing.T, dir string, n int) (blocks, interrupted int) {
	t.Helper()
	runs := OpenRuns(filepath.Join(dir, ".pipeline"), Options{})
	list, err := runs.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range list {
		l, err := runs.Load(info.ID)
		if err != nil {
			t.Errorf("after a kill: %v", err)
			continue
		}
		if l.Live || l.Record != nil && !json.Valid(l.Record) {
			t.Errorf("after a kill: run %s live=%v record=%q", l.ID, l.Live, l.Record)
		}
		if l.Interrupted {
			interrupted++
		}
	}
	found, damage, err := blocksOf(runs, key("evidence"))
	if err != nil || len(damage) > 0 {
		t.Errorf("after a kill: blocks: %v, %v", damage, err)
	}
	if n > 0 { // the last kill's runs stay for the end of the test
		if err := os.RemoveAll(filepath.Join(dir, ".pipeline")); err != nil {
			t.Fatal(err)
		}
	}
	return len(found), interrupted
}

// checkWorks makes and trims what is left: nothing may be locked, pinned or lying about.
func checkWorks(t *testing.T, dir string) {
	t.Helper()
	s := openTest(t, filepath.Join(dir, "cache"))
	for _, recipe := range []string{"a", "b"} {
		if err := workEntry(t.Context(), s, recipe); err != nil {
			t.Error(err)
		}
	}
	result, err := s.GC(t.Context(), GCOptions{MaxBytes: 1})
	if err != nil || result.Kept > 0 {
		t.Errorf("GC: %+v, %v", result, err)
	}
	checkTidy(t, "at the end", s.Dir())
	if pins, _ := os.ReadDir(s.path(pinsDir)); len(pins) > 0 {
		t.Errorf("pins of dead processes: %v", pins)
	}
	runs := OpenRuns(filepath.Join(dir, ".pipeline"), Options{})
	list, err := runs.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range list {
		run, err := runs.Resume(info.ID)
		if err != nil {
			t.Fatal(err)
		}
		run.Close()
	}
	if err := workRun(runs, 0); err != nil {
		t.Error(err)
	}
}
