package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgpipeline/pipeline/engine"
)

// tortureTwo runs two tools at once on one cache and one machine lock.
func tortureTwo(t *testing.T, count *tally) {
	r := newRig(t, count, tortureFile)
	count.injected["two runs at once"]++
	first := r.start("run", "t.yaml", "--progress", "json")
	first.await(0, func(e engine.Event) bool { return phaseOf(e) == "fetch" })
	second := r.start("run", "t.yaml", "--progress", "json")
	_, _, began := second.await(0, func(e engine.Event) bool { return e.Type == engine.PlanReady })
	if code := first.code(); code != 0 || !began {
		t.Fatalf("first: %d\n%s", code, first.errors())
	}
	if code := second.code(); code != 0 {
		t.Fatalf("second: %d\n%s", code, second.errors())
	}
	wait, _, ok := second.await(0, func(e engine.Event) bool { return e.Type == engine.NodeWaiting })
	if !ok || !strings.Contains(wait.Message, "pid ") && !strings.Contains(wait.Message, "process ") {
		t.Errorf("the second did not say for whom it waits: %+v", wait)
	}
	t.Logf("%s waits for %s", wait.Node, wait.Message)
	madeOnce(t, first, second)
	if n := r.overlaps(); n > 0 {
		t.Errorf("%d pairs of blocks were measured at the same time", n)
	}
	r.nothingLeft("two runs")
	r.do(0, "cache", "verify")
	if !t.Failed() {
		count.recovered++
	}
}

// madeOnce wants every key made by one of the two.
func madeOnce(t *testing.T, tools ...*tool) {
	t.Helper()
	records := map[string]int{}
	for _, p := range tools {
		var run string
		for _, e := range p.events {
			run = e.Run
		}
		if run == "" {
			t.Error("a tool without a run")
		}
		records[run]++
	}
	if len(records) != len(tools) {
		t.Errorf("%d tools had the runs %v", len(tools), records)
	}
}

// overlaps counts pairs of blocks of different runs that overlap in time.
func (r *rig) overlaps() (n int) {
	r.t.Helper()
	type span struct {
		run        string
		begin, end time.Time
	}
	var spans []span
	list, _ := filepath.Glob(filepath.Join(r.dir, ".pipeline/runs/2*"))
	for _, dir := range list {
		var rec engine.Record
		if err := json.Unmarshal(r.do(0, "show", filepath.Base(dir), "--json").stdout.Bytes(), &rec); err != nil {
			r.t.Fatal(err)
		}
		for _, b := range rec.Blocks {
			if b.Run == rec.ID {
				spans = append(spans, span{b.Run, b.Started, b.Ended})
			}
		}
	}
	if len(spans) < 3 {
		r.t.Errorf("%d blocks over %d runs", len(spans), len(list))
	}
	for i, a := range spans {
		for _, b := range spans[:i] {
			if a.begin.Before(b.end) && b.begin.Before(a.end) {
				n++
			}
		}
	}
	return n
}
