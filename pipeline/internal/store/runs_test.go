package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func init() { children["run"] = runForever }

// runForever begins a run, saves a record that says so, and never ends.
func runForever(args []string) error {
	run, err := OpenRuns(args[0], Options{}).Create()
	if err != nil {
		return err
	}
	if err := run.Save([]byte(`{"status":"running"}`), nil); err != nil {
		return err
	}
	fmt.Println(run.ID)
	select {}
}

func newRuns(t testing.TB) *Runs {
	t.Helper()
	return OpenRuns(filepath.Join(tempDir(t), ".pipeline"), Options{FS: unsynced{}})
}

func newRun(t testing.TB, r *Runs) *Run {
	t.Helper()
	run, err := r.Create()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run.Close)
	return run
}

func TestRunLife(t *testing.T) {
	runs := newRuns(t)
	if _, err := runs.Load("latest"); err == nil || !strings.Contains(err.Error(), "there are no runs") {
		t.Errorf("before the first: %v", err)
	}
	if exists(runs.dir) {
		t.Error("looking made a directory")
	}
	run := newRun(t, runs)
	if data, err := os.ReadFile(filepath.Join(runs.dir, ".gitignore")); string(data) != "*\n" {
		t.Errorf(".gitignore: %q, %v", data, err)
	}
	if l, err := runs.Load("latest"); err != nil || !l.Live || l.Interrupted || l.Record != nil || l.Holder.PID != os.Getpid() {
		t.Errorf("begun: %+v, %v", l, err)
	}
	if err := run.Save([]byte(`{"status":"running"}`), []byte(`{"name":"x"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := runs.Resume(run.ID); !isBusy(err) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", os.Getpid())) {
		t.Errorf("Resume of a live run: %v", err)
	}
	run.Close()
	if l, err := runs.Load(run.ID); err != nil || l.Live || !l.Interrupted {
		t.Errorf("closed without an end: %+v, %v", l, err)
	}
	again, err := runs.Resume("latest")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Save([]byte(`{"status":"done"}`), nil); err != nil {
		t.Fatal(err)
	}
	again.Close()
	l, err := runs.Load(run.ID[:12])
	if err != nil || l.Interrupted || string(l.Record) != `{"status":"done"}` || string(l.Summary) != `{"name":"x"}` {
		t.Errorf("done: %+v, %v", l, err)
	}
}

func TestRunKilled(t *testing.T) {
	runs := newRuns(t)
	c := start(t, nil, "run", runs.dir)
	id := c.line()
	if l, err := runs.Load(id); err != nil || !l.Live || l.Interrupted || l.Holder.PID != c.cmd.Process.Pid {
		t.Errorf("alive: %+v, %v", l, err)
	}
	c.kill()
	if l, err := runs.Load(id); err != nil || l.Live || !l.Interrupted {
		t.Errorf("killed: %+v, %v", l, err)
	}
	if run, err := runs.Resume(id); err != nil {
		t.Error(err)
	} else {
		run.Close()
	}
}

func TestFindRun(t *testing.T) {
	runs := newRuns(t)
	root := filepath.Join(runs.dir, "runs")
	for _, id := range []string{"20260101-100000-aaaa", "20260101-100000-aabb", "20260202-100000-cccc"} {
		if err := os.MkdirAll(filepath.Join(root, id), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct{ ref, id, err string }{
		{"20260202-100000-cccc", "20260202-100000-cccc", ""},
		{"202602", "20260202-100000-cccc", ""},
		{"latest", "20260202-100000-cccc", ""},
		{"20260101", "", `run "20260101": 2 runs begin like that: 20260101-100000-aaaa, 20260101-100000-aabb`},
		{"2027", "", `run "2027": no such run in ` + runs.dir + "; the latest is 20260202-100000-cccc (`pipeline runs` lists them)"},
		{"", "", `run "": no such run in ` + runs.dir + "; the latest is 20260202-100000-cccc (`pipeline runs` lists them)"},
		{"../runs", "", `run "../runs": no such run in ` + runs.dir + "; the latest is 20260202-100000-cccc (`pipeline runs` lists them)"},
	}
	for _, test := range tests {
		id, err := runs.Find(test.ref)
		if id != test.id || test.err == "" != (err == nil) || err != nil && err.Error() != test.err {
			t.Errorf("%q: %q, %v", test.ref, id, err)
		}
	}
}

// TestLatestAfterClockSetBack: the link knows better than the ids.
func TestLatestAfterClockSetBack(t *testing.T) {
	runs := newRuns(t)
	now := time.Date(2026, 11, 30, 21, 57, 0, 0, time.UTC)
	runs.now = func() time.Time { return now }
	if run := newRun(t, runs); !strings.HasPrefix(run.ID, "20261130-215700-") || len(run.ID) != 20 {
		t.Errorf("id %q", run.ID)
	}
	now = now.Add(-time.Hour)
	second := newRun(t, runs)
	if id, err := runs.Find("latest"); err != nil || id != second.ID {
		t.Errorf("latest is %s, %v; want %s", id, err, second.ID)
	}
}

// blocksOf collects the blocks of an evidence key.
func blocksOf(r *Runs, key string) (blocks []Block, damage []string, err error) {
	damage, err = r.Blocks(key, func(b Block) { blocks = append(blocks, b) })
	return blocks, damage, err
}

func TestBlocks(t *testing.T) {
	runs := newRuns(t)
	key1, key2 := key("one"), key("two")
	var want []string
	for r := range 3 {
		run := newRun(t, runs)
		for b := range 11 {
			text := fmt.Sprintf(`{"run":%d,"block":%d}`, r, b)
			if err := run.AppendBlock(key1, []byte(text)); err != nil {
				t.Fatal(err)
			}
			want = append(want, text)
		}
		if err := run.AppendBlock(key2, []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		run.Close()
	}
	resumed, err := runs.Resume("latest")
	if err != nil {
		t.Fatal(err)
	}
	defer resumed.Close()
	if err := resumed.AppendBlock(key1, []byte(`{"last":1}`)); err != nil {
		t.Fatal(err)
	}
	blocks, damage, err := blocksOf(runs, key1)
	if err != nil || len(damage) > 0 || len(blocks) != len(want)+1 {
		t.Fatalf("%d blocks, %v, %v", len(blocks), damage, err)
	}
	ordered := map[string][]string{}
	for _, b := range blocks {
		ordered[b.Run] = append(ordered[b.Run], string(b.Data))
	}
	last := ordered[resumed.ID]
	if len(ordered) != 3 || len(last) != 12 || last[0] != `{"run":2,"block":0}` || last[10] != `{"run":2,"block":10}` || last[11] != `{"last":1}` {
		t.Errorf("blocks of the last run: %q", last)
	}
	flip(t, blocks[0].Path, 2)
	if blocks, damage, err = blocksOf(runs, key1); err != nil || len(blocks) != len(want) || len(damage) != 1 {
		t.Errorf("with one damaged: %d, %v, %v", len(blocks), damage, err)
	}
}

func TestLogs(t *testing.T) {
	run := newRun(t, newRuns(t))
	seen := map[string]string{}
	for _, node := range []string{"build[pg=17.0,flags=def]", "build-pg=17.0,flags=def", "build[pg=17.0,flags=def", "build@pg=17.0,flags=def", "a/b", "a_b", "..", ".",
		"", "x y", "x\ny", strings.Repeat("long", 100), strings.Repeat("long", 101)} {
		f, rel, err := run.OpenLog(node)
		if err != nil {
			t.Fatalf("%q: %v", node, err)
		}
		if _, err := io.WriteString(f, "line\n"); err != nil {
			t.Error(err)
		}
		f.Close()
		if other, ok := seen[strings.ToLower(rel)]; ok && other != node {
			t.Errorf("%q and %q share %s", node, other, rel)
		}
		seen[strings.ToLower(rel)] = node
		if !filepath.IsLocal(rel) || filepath.Dir(rel) != "logs" {
			t.Errorf("%q: log at %q", node, rel)
		}
	}
	if seen["logs/build@pg=17.0,flags=def.log"] == "" {
		t.Errorf("an ordinary id has no ordinary name: %v", seen)
	}
}

// TestSaveFails: with each change to the disk failing, the record is the old or the new one and the blocks are whole.
func TestSaveFails(t *testing.T) {
	for n := 1; ; n++ {
		runs := newRuns(t)
		run := newRun(t, runs)
		old, next := `{"status":"running","blocks":0}`, `{"status":"running","blocks":1}`
		if err := run.Save([]byte(old), nil); err != nil {
			t.Fatal(err)
		}
		f := &faulty{FS: unsynced{}, at: n, err: syscall.ENOSPC, dead: n%2 == 0}
		runs.fs = f
		err := errors.Join(run.AppendBlock(key("e"), []byte(`{"n":1}`)), run.Save([]byte(next), []byte(`{}`)))
		if !f.fired {
			break
		}
		var se *Error
		if !errors.As(err, &se) || se.Kind != Full || se.Bytes == 0 {
			t.Errorf("change %d: %v", n, err)
		}
		l, err := runs.Load(run.ID)
		if err != nil || string(l.Record) != old && string(l.Record) != next {
			t.Errorf("change %d (%s): record %q, %v", n, f.ops[n-1], l.Record, err)
		}
		if blocks, damage, err := blocksOf(runs, key("e")); err != nil || len(damage) > 0 || len(blocks) > 1 {
			t.Errorf("change %d (%s): blocks %v, %v, %v", n, f.ops[n-1], blocks, damage, err)
		}
	}
}

// TestManyCreate: ids are never used twice.
func TestManyCreate(t *testing.T) {
	runs := newRuns(t)
	ids := make(chan string)
	for range 8 {
		go func() {
			run, err := runs.Create()
			if err != nil {
				t.Error(err)
				ids <- ""
				return
			}
			defer run.Close()
			ids <- run.ID
		}()
	}
	seen := map[string]bool{}
	for range 8 {
		seen[<-ids] = true
	}
	if len(seen) != 8 {
		t.Errorf("ids: %v", seen)
	}
}

func BenchmarkBlocks3000Runs(b *testing.B) {
	runs := newRuns(b)
	for i := range 3000 {
		id := fmt.Sprintf("20260101-%06d-aaaa", i)
		dir := filepath.Join(runs.dir, "runs", id, "blocks")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		run, err := runs.lockRun(context.Background(), id, filepath.Dir(dir))
		if err != nil {
			b.Fatal(err)
		}
		evidence := key(fmt.Sprint(i % 500))
		for range 3 {
			if err := run.AppendBlock(evidence, []byte(`{}`)); err != nil {
				b.Fatal(err)
			}
		}
		run.Close()
	}
	for b.Loop() {
		if blocks, _, err := blocksOf(runs, key("7")); err != nil || len(blocks) != 18 {
			b.Fatal(len(blocks), err)
		}
	}
}
