package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgpipeline/pipeline/engine"
)

// phases of a run, in their order, as its events tell them.
var phases = []string{"start", "fetch", "build", "config", "load", "boot", "measure", "end"}

// phaseOf names the phase that an event belongs to; "" when it tells nothing new.
func phaseOf(e engine.Event) string {
	switch {
	case e.Type == engine.NodeStarted && e.Kind == "compare":
		return "end"
	case e.Type == engine.NodeStarted:
		return e.Kind
	case e.Type == engine.BlockStarted:
		return "boot"
	case e.Type == engine.NodeProgress && e.Kind == "run" && !strings.HasPrefix(e.Progress.What, "boot"):
		return "measure"
	}
	return ""
}

// spans is how long each phase lasted in a run: kills fall anywhere in it.
func spans(p *tool, began time.Time) map[string]time.Duration {
	out := map[string]time.Duration{}
	phase, since := "start", began
	for _, e := range p.events {
		if now := phaseOf(e); now != "" && now != phase {
			out[phase] = max(out[phase], e.Time.Sub(since))
			phase, since = now, e.Time
		}
	}
	out["end"] = 100 * time.Millisecond
	return out
}

// killer kills runs of one experiment and knows how an undisturbed one ends.
type killer struct {
	*rig
	undisturbed *engine.Record
	span        map[string]time.Duration
}

func newKiller(t *testing.T, count *tally) *killer {
	t.Helper()
	k := &killer{rig: newRig(t, count, tortureFile)}
	began := time.Now()
	p := k.run(0)
	if t.Failed() {
		t.FailNow()
	}
	k.span = spans(p, began)
	k.undisturbed = k.record()
	k.nothingLeft("after an undisturbed run")
	return k
}

// reset removes all runs, and from the cache what the given phase and later ones make.
func (k *killer) reset(phase string) {
	k.t.Helper()
	if err := os.RemoveAll(filepath.Join(k.dir, ".pipeline")); err != nil {
		k.t.Fatal(err)
	}
	from := slices.Index(phases, phase)
	for _, n := range k.undisturbed.Nodes {
		if at := slices.Index(phases, n.Kind); at >= from && at > 0 {
			if err := os.RemoveAll(filepath.Join(k.cache, "entries", n.Key[:2], n.Key)); err != nil {
				k.t.Fatal(err)
			}
		}
	}
}

// at starts a run and returns it somewhere within the given phase, or at its end when that phase does not come.
func (k *killer) at(phase string, more ...string) *tool {
	p := k.start(append([]string{"run", "t.yaml", "--progress", "json"}, more...)...)
	if phase != "start" {
		p.await(0, func(e engine.Event) bool { return phaseOf(e) == phase })
	}
	select { // where the fault falls, not a synchronisation
	case <-p.ended:
	case <-time.After(time.Duration(rand.Float64() * float64(k.span[phase]))):
	}
	return p
}

// landed is the phase that the tool was in.
func landed(p *tool) string {
	phase := "start"
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events {
		if now := phaseOf(e); now != "" {
			phase = now
		}
	}
	return phase
}

// tortureKill kills the tool again and again, resuming in between, and lets it finish in the end.
func tortureKill(t *testing.T, count *tally, until time.Time) {
	k := newKiller(t, count)
	for round := 0; round < len(some(phases, 2)) || time.Now().Before(until); round++ {
		first := phases[(round*3+2)%len(phases)] // neighbours take turns, also in the short form
		k.reset(first)
		k.killRound(first)
		if t.Failed() {
			return
		}
	}
}

func (k *killer) killRound(first string) {
	var before *engine.Record
	phase := first
	for range killsInARow() {
		p := k.at(phase, resume(before)...)
		_ = p.cmd.Process.Kill()
		if code := p.code(); code >= 0 {
			if code != 0 {
				k.t.Errorf("ended by itself with %d before the kill:\n%s", code, p.errors())
			}
			before = k.record()
			break
		}
		k.inject("SIGKILL of the tool, phase "+landed(p), func() { before = k.afterKill(before, landed(p)) })
		if k.t.Failed() {
			return
		}
		phase = k.toCome(before)
	}
	k.run(0, resume(before)...)
	k.sameAsUndisturbed(before)
	k.nothingLeft("at the end of a round")
}

// killsInARow is how often a run is killed before it may end: more often in the long form, where most of the time should go
// into kills and not into finishing.
func killsInARow() int {
	if os.Getenv("TORTURE") == "" {
		return 1 + rand.IntN(3)
	}
	return 4 + rand.IntN(8)
}

// toCome picks a phase that the run will still pass when it is resumed.
func (k *killer) toCome(rec *engine.Record) string {
	if rec == nil {
		return phases[rand.IntN(len(phases))]
	}
	list := []string{"start", "end"}
	for _, n := range rec.Nodes {
		if slices.Contains(phases, n.Kind) && n.Status != "done" && n.Status != "cached" && n.Status != "unneeded" {
			list = append(list, n.Kind)
		}
	}
	if complete(rec) < complete(k.undisturbed) {
		list = append(list, "boot", "measure")
	}
	return list[rand.IntN(len(list))]
}

// resume is --resume when there is a run to resume.
func resume(before *engine.Record) []string {
	if before == nil {
		return nil
	}
	return []string{"--resume", before.ID}
}

// afterKill looks at everything that a killed tool left.
func (k *killer) afterKill(before *engine.Record, phase string) *engine.Record {
	k.t.Helper()
	when := "killed in phase " + phase
	k.nothingLeft(when)
	if out := k.do(0, "cache", "verify").stdout.String(); !strings.Contains(out, " 0 damaged") {
		k.count.lost++
		k.t.Errorf("%s: %s", when, out)
	}
	k.do(0, "runs")
	rec := k.record()
	if rec == nil {
		return before
	}
	if rec.Status != "interrupted" && rec.Status != "done" {
		k.t.Errorf("%s: status %s", when, rec.Status)
	}
	k.keeps(when, before, rec)
	if open := incomplete(rec); phase == "measure" && open == 0 && rec.Status != "done" && len(rec.Blocks) == complete(rec) {
		k.t.Logf("%s: between two blocks", when)
	}
	return rec
}

// keeps compares a record with an earlier one of the same run: blocks stay, and what was made is not made again.
func (k *killer) keeps(when string, before, rec *engine.Record) {
	k.t.Helper()
	if before == nil {
		return
	}
	for _, old := range before.Blocks {
		i := slices.IndexFunc(rec.Blocks, func(b engine.BlockRecord) bool { return b.Seed == old.Seed })
		if i < 0 || rec.Blocks[i].Complete != old.Complete || len(rec.Blocks[i].Measurements) != len(old.Measurements) {
			k.count.lost++
			k.t.Errorf("%s: block %d (complete: %v) is lost or changed", when, old.Number, old.Complete)
		}
	}
	for _, old := range before.Nodes {
		for _, n := range rec.Nodes {
			made := old.Status == "done" || old.Status == "cached"
			again := n.Status == "done" && !n.Started.Equal(old.Started) // the same record may still stand
			if n.ID == old.ID && n.Kind != "compare" && made && again {
				k.count.lost++
				k.t.Errorf("%s: %s was made again: %s", when, n.ID, n.Reason)
			}
		}
	}
}

func complete(rec *engine.Record) (n int) {
	for _, b := range rec.Blocks {
		if b.Complete {
			n++
		}
	}
	return n
}

func incomplete(rec *engine.Record) int { return len(rec.Blocks) - complete(rec) }

// sameAsUndisturbed compares what counts: nodes, blocks and what was measured in them.
func (k *killer) sameAsUndisturbed(before *engine.Record) {
	k.t.Helper()
	rec := k.record()
	if rec == nil {
		k.t.Error("there is no record in the end")
		return
	}
	k.keeps("in the end", before, rec)
	if got, want := outcome(rec), outcome(k.undisturbed); got != want {
		k.count.lost++
		k.t.Errorf("after kills and a resume:\n%s\nundisturbed:\n%s", got, want)
	}
}

// outcome is a record without what differs between any two runs.
func outcome(rec *engine.Record) string {
	text := "status " + rec.Status + "\n"
	for _, n := range rec.Nodes {
		status := n.Status
		if status == "cached" || status == "unneeded" {
			status = "done"
		}
		text += fmt.Sprintln(n.ID, n.Key, status)
	}
	for _, b := range rec.Blocks {
		if b.Complete {
			text += fmt.Sprintln("a block of", b.EvidenceKey, len(b.Measurements), "measurements")
		}
	}
	return text
}

// tortureSignals sends the signals that ask the tool to stop.
func tortureSignals(t *testing.T, count *tally, budget time.Duration) {
	k := newKiller(t, count)
	began := time.Now()
	kinds := []struct {
		name    string
		signals []syscall.Signal
	}{{"SIGINT", []syscall.Signal{syscall.SIGINT}}, {"SIGTERM", []syscall.Signal{syscall.SIGTERM}},
		{"SIGINT twice", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}}}
	for round := 0; round < len(kinds) || time.Since(began) < budget; round++ {
		kind, phase := kinds[round%len(kinds)], []string{"measure", "load", "boot", "fetch", "build"}[round%5]
		k.reset(phase)
		p := k.at(phase)
		for i, s := range kind.signals {
			if i > 0 {
				time.Sleep(2 * burst) // sooner it would be taken for the first one
			}
			_ = p.cmd.Process.Signal(s)
		}
		if code := p.code(); code == 0 {
			continue // too late
		}
		k.inject(kind.name+" to the tool", func() { k.afterSignal(p, kind.name) })
		if t.Failed() {
			return
		}
	}
}

func (k *killer) afterSignal(p *tool, kind string) {
	k.t.Helper()
	when := kind + " in phase " + landed(p)
	if code := p.code(); code != exitInterrupted {
		k.t.Errorf("%s: exit code %d\n%s", when, code, p.errors())
	}
	if kind != "SIGINT twice" {
		if now := k.leftNow(); len(now) > 0 { // it has waited for all of them
			k.count.leaked += len(now)
			k.t.Errorf("%s: when the tool ended, %v still ran", when, now)
		}
		k.stoppedCleanly(when)
	}
	rec := k.afterKill(nil, landed(p))
	if kind != "SIGINT twice" && rec.Ended.IsZero() {
		k.t.Errorf("%s: the record was not concluded", when)
	}
	k.run(0, resume(rec)...)
	k.sameAsUndisturbed(rec)
}

// stoppedCleanly looks into the logs: every server that started has shut down, and none needed recovery.
func (k *killer) stoppedCleanly(when string) {
	k.t.Helper()
	logs, _ := filepath.Glob(filepath.Join(k.dir, ".pipeline/runs/2*/logs/*.log"))
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			k.t.Fatal(err)
		}
		ready := strings.Count(string(text), "database system is ready to accept connections")
		down := strings.Count(string(text), "database system is shut down")
		if down < ready || strings.Contains(string(text), "not properly shut down") {
			k.t.Errorf("%s: %s: %d servers were ready, %d shut down\n%s", when, path, ready, down, text)
		}
	}
}
