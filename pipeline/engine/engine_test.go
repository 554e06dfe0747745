package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/store"
)

func TestSecondRunOnlyMeasures(t *testing.T) {
	l := newLab(t)
	rec, err := l.run(labFile, engine.RunOptions{Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	// Two versions; two tunings of each; the data does not depend on the tuning.
	if got, want := l.counts(), "source 2, tuning 4, data 2"; got != want {
		t.Errorf("first run: %s, want %s", got, want)
	}
	if got := len(rec.Blocks); got != 4 { // two facets, min_blocks 2
		t.Errorf("%d blocks, want 4", got)
	}
	rec, err = l.run(labFile, engine.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := l.counts(), "source 2, tuning 4, data 2"; got != want {
		t.Errorf("second run made something: %s, want %s", got, want)
	}
	if got := len(rec.Blocks); got != 6 { // one more of each facet, pooled with the first ones
		t.Errorf("%d blocks after the second run, want 6", got)
	}
}

func TestWhatAnEditRunsAgain(t *testing.T) {
	edits := []struct{ name, old, new, want string }{
		{"nothing", "", "", "source 2, tuning 4, data 2"},
		{"a comment and the order of keys", "{extends: a, settings: {y: \"2\"}}", "{settings: {y: \"2\"}, extends: a} # note", "source 2, tuning 4, data 2"},
		{"an unkeyed field", "{from: \"s${v}\"}", "{from: \"s${v}\", jobs: 7}", "source 2, tuning 4, data 2"},
		{"a setting never reaches the data", "y: \"2\"", "y: \"3\"", "source 2, tuning 6, data 2"},
		{"what the data depends on does", "settings: {x: \"1\"}", "init: [big], settings: {x: \"1\"}", "source 2, tuning 8, data 4"},
		{"rows", "10k", "11k", "source 2, tuning 4, data 4"},
		{"the same rows in other words", "10k", "10000", "source 2, tuning 4, data 2"},
		{"the source", "s${v}", "t${v}", "source 4, tuning 8, data 4"},
		{"one axis value more", `["1", "2"]`, `["1", "2", "3"]`, "source 3, tuning 6, data 3"},
	}
	for _, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			l := newLab(t)
			if _, err := l.run(labFile, engine.RunOptions{}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(labFile, e.old) {
				t.Fatalf("the file does not contain %q", e.old)
			}
			if _, err := l.run(strings.Replace(labFile, e.old, e.new, 1), engine.RunOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := l.counts(); got != e.want {
				t.Errorf("%s, want %s", got, e.want)
			}
		})
	}
}

func TestMissReasonNamesTheChange(t *testing.T) {
	l := newLab(t)
	if _, err := l.run(labFile, engine.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	plan, err := l.plan(strings.Replace(labFile, `y: "2"`, `y: "3"`, 1), engine.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := plan.Summary(l.runs)
	if err != nil {
		t.Fatal(err)
	}
	if got := sum.Pending(); got != 2 {
		t.Errorf("%d nodes pending, want the tuning b of both versions", got)
	}
	for _, n := range sum.Nodes {
		if n.State == engine.Pending && n.Reason != "settings.y was 2, is 3" {
			t.Errorf("%s: reason %q", n.ID, n.Reason)
		}
	}
	if got := sum.Facets[0].Reason; !strings.Contains(got, "tuning of b changed") {
		t.Errorf("facet's reason %q", got)
	}
}

func TestDamageIsAMissAndSaid(t *testing.T) {
	l := newLab(t)
	if _, err := l.run(labFile, engine.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	plan, _ := l.plan(labFile, engine.PlanOptions{})
	entry, _ := l.store.Lookup(plan.Nodes[0].Key)
	made := filepath.Join(entry.Dir(), "made")
	os.Chmod(made, 0o644)
	if err := os.WriteFile(made, []byte("garbage"), 0o644); err != nil {
		t.Fatal(err)
	}
	rec, err := l.run(labFile, engine.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := l.counts(), "source 3, tuning 4, data 2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if w := rec.Nodes[0].Warnings; len(w) != 1 || !strings.Contains(w[0], "damaged") {
		t.Errorf("warnings %q", w)
	}
}

func TestUnneededNodesStayAway(t *testing.T) {
	l := newLab(t)
	if _, err := l.run(labFile, engine.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	plan, _ := l.plan(labFile, engine.PlanOptions{})
	// bench takes the source itself, so drop it from what is taken: then nothing needs it.
	l.kinds[3].Takes = l.kinds[3].Takes[1:]
	if _, err := l.store.GC(context.Background(), store.GCOptions{MaxBytes: 1, DryRun: true}); err != nil {
		t.Fatal(err)
	}
	entry, _ := l.store.Lookup(plan.Nodes[0].Key)
	os.RemoveAll(filepath.Dir(entry.Dir()))
	again, err := l.plan(labFile, engine.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Nodes[0].State; got != engine.Unneeded {
		t.Errorf("the source is %s although what was made from it is there", got)
	}
}

func TestDecidedReadsDropOutAndWritesStay(t *testing.T) {
	l := newLab(t)
	var passes [][]string
	l.block = func(env *engine.Env) error {
		passes = append(passes, slices.Clone(env.Block.Steps))
		for _, v := range env.Variants {
			for _, s := range env.Block.Steps {
				env.Record(engine.Measurement{Step: s, Variant: v.Name})
			}
		}
		return nil
	}
	one := strings.Replace(labFile, `["1", "2"]`, `["1"]`, 1)
	if _, err := l.run(one, engine.RunOptions{Judge: judge{"read": 1, "write1": 1, "last": 3}}); err != nil {
		t.Fatal(err)
	}
	want := "[[read write1 last] [write1 last] [write1 last]]"
	if got := fmt.Sprint(passes); got != want {
		t.Errorf("passes %s, want %s", got, want)
	}
}

func TestFailures(t *testing.T) {
	l := newLab(t)
	l.fail["tuning"] = errors.New("no such setting")
	rec, err := l.run(labFile, engine.RunOptions{})
	var node *engine.NodeError
	if !errors.As(err, &node) || !strings.HasPrefix(node.Error(), "tuning[") {
		t.Fatalf("error %v", err)
	}
	if l.ran["data"].Load() != 0 {
		t.Error("data was made although the tuning it waits for failed")
	}
	if rec.Status != "failed" || len(rec.Blocks) != 0 {
		t.Errorf("status %s, %d blocks", rec.Status, len(rec.Blocks))
	}
	// What failed is no entry: once mended, it runs.
	l.fail = map[string]error{}
	if _, err := l.run(labFile, engine.RunOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestCandidateErrorIsKeptForTheJudge(t *testing.T) {
	l := newLab(t)
	l.block = func(env *engine.Env) error {
		return &engine.SideError{Side: "candidate:b", Err: errors.New("crashed")}
	}
	rec, err := l.run(labFile, engine.RunOptions{})
	if err != nil {
		t.Fatalf("a candidate's crash is a verdict, not a broken stage: %v", err)
	}
	if b := rec.Blocks[0]; b.Complete || b.ErrorSide != "candidate:b" || b.Error != "crashed" {
		t.Errorf("block %+v", b)
	}
}

func TestResumeKeepsWhatIsDone(t *testing.T) {
	l := newLab(t)
	ctx, cancel := context.WithCancel(context.Background())
	blocks := 0
	l.block = func(env *engine.Env) error {
		if blocks++; blocks == 2 {
			cancel()
			return ctx.Err()
		}
		for _, s := range env.Block.Steps {
			env.Record(engine.Measurement{Step: s, Variant: "a"})
		}
		return nil
	}
	plan, err := l.plan(labFile, engine.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	opt := engine.RunOptions{Store: l.store, Runs: l.runs, Machine: store.OpenMachine(""), Judge: judge{}}
	rec, err := plan.Run(ctx, opt)
	if !errors.Is(err, context.Canceled) || rec.Status != "interrupted" {
		t.Fatalf("error %v, status %s", err, rec.Status)
	}
	loaded, err := engine.LoadRecord(l.runs, "latest")
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.Blocks) != 2 || loaded.Blocks[1].Complete {
		t.Fatalf("%d blocks recorded; the interrupted one must be kept and marked", len(loaded.Blocks))
	}
	l.block = nil
	resumed, err := l.run(labFile, engine.RunOptions{Resume: loaded})
	if err != nil {
		t.Fatal(err)
	}
	if resumed.ID != rec.ID || l.counts() != "source 2, tuning 4, data 2" {
		t.Errorf("resumed as %s (was %s), %s", resumed.ID, rec.ID, l.counts())
	}
	complete := 0
	for _, b := range resumed.Blocks {
		if b.Complete {
			complete++
		}
	}
	if complete != 4 || len(resumed.Blocks) != 5 {
		t.Errorf("%d complete of %d blocks, want 4 of 5", complete, len(resumed.Blocks))
	}
}

func TestFreshRunOpensASeries(t *testing.T) {
	l := newLab(t)
	one := strings.Replace(labFile, `["1", "2"]`, `["1"]`, 1)
	if _, err := l.run(one, engine.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	rec, err := l.run(one, engine.RunOptions{Fresh: map[string]bool{"bench": true}})
	if err != nil {
		t.Fatal(err)
	}
	if rec.Facets[0].Series != rec.ID || len(rec.Blocks) != 4 {
		t.Errorf("series %q of run %s, %d blocks", rec.Facets[0].Series, rec.ID, len(rec.Blocks))
	}
	next, err := l.run(one, engine.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if next.Facets[0].Series != rec.ID {
		t.Errorf("the next run continues series %q, want %q", next.Facets[0].Series, rec.ID)
	}
}

// TestFreshWaitsForOtherRuns: what a run uses does not vanish or change under it when another one makes it again.
func TestFreshWaitsForOtherRuns(t *testing.T) {
	l := newLab(t)
	var once sync.Once
	waits, ended := make(chan engine.Event, 20), make(chan error, 1)
	l.block = func(env *engine.Env) error {
		once.Do(func() {
			dir := env.Variants[0].Inputs["tuning"].Dir
			before, _ := os.Stat(dir)
			go func() {
				_, err := l.run(labFile, engine.RunOptions{Fresh: map[string]bool{"tuning": true}, Sink: func(e engine.Event) {
					if e.Type == engine.NodeWaiting || e.Type == engine.NodeFinished {
						waits <- e
					}
				}})
				ended <- err
			}()
			if e := <-waits; e.Type != engine.NodeWaiting || e.Kind != "tuning" || !strings.Contains(e.Message, "in run ") {
				t.Errorf("the second run did not wait: %+v", e)
			}
			if now, err := os.Stat(dir); err != nil || !os.SameFile(before, now) {
				t.Errorf("another directory is at %s: %v", dir, err)
			}
		})
		for _, v := range env.Variants {
			for _, step := range env.Block.Steps {
				env.Record(engine.Measurement{Step: step, Variant: v.Name})
			}
		}
		return nil
	}
	if _, err := l.run(labFile, engine.RunOptions{}); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got, want := l.counts(), "source 2, tuning 8, data 2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPlanErrorsPointAtTheLine(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"client side compared", "steps: [read, write1, last]", "steps: [\"read-${conf}\"]", `stage "bench" differs between the compared variants "a" and "b"`},
		{"no base cell", "baseline:", "  exclude: [{v: \"2\", conf: a}]\nbaseline:", `the facet "v=2" has no base cell`},
		{"nothing to take", "  - source: {from: \"s${v}\"}\n", "", `stage "tuning" needs an earlier stage "source"`},
		{"unknown variable", "s${v}", "s${w}", "w"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			_, err := l.plan(strings.Replace(labFile, tt.old, tt.new, 1), engine.PlanOptions{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "lab.yaml:") {
				t.Errorf("error %v, want %q with its place", err, tt.want)
			}
		})
	}
}

func TestRecordIsPlainJSON(t *testing.T) {
	l := newLab(t)
	rec, err := l.run(labFile, engine.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	var back engine.Record
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(back)
	if string(again) != string(text) {
		t.Error("the record changes when it is read and written again")
	}
}
