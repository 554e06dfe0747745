package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
)

// synth makes records that look like real ones, seeded: nothing in it depends on the time or the machine.
type synth struct {
	rng      *rand.Rand
	steps    []engine.StepInfo
	variants []string
	blocks   int
	seconds  int // of series per block and step
}

var synthStart = time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)

// the 42 steps of the published list, by group
var synthGroups = []struct {
	name  string
	steps string
}{
	{"point-1", "point-query.pre points-covered-pk.pre points-notcovered-pk.pre points-covered-si.pre points-notcovered-si.pre point-query hot-points points-covered-pk points-notcovered-pk points-covered-si points-notcovered-si"},
	{"point-2", "random-points.pre_range=10 random-points.pre_range=100 random-points.pre_range=1000 random-points_range=10 random-points_range=100 random-points_range=1000"},
	{"range-1", "range-covered-pk.pre range-notcovered-pk.pre range-covered-si.pre range-notcovered-si.pre range-covered-pk range-notcovered-pk range-covered-si range-notcovered-si scan"},
	{"range-2", "read-only.pre_range=10 read-only.pre_range=100 read-only.pre_range=10000 read-only_range=10 read-only_range=100 read-only_range=10000"},
	{"writes", "update-inlist update-index update-nonindex update-one update-zipf write-only read-write_range=10 read-write_range=100 delete insert"},
}

func sysbenchSteps() []engine.StepInfo {
	var list []engine.StepInfo
	for _, g := range synthGroups {
		for _, name := range strings.Fields(g.steps) {
			s := engine.StepInfo{Name: name, Class: "steady", Unit: "queries", Groups: []string{g.name}, Seconds: 20, Clients: 8}
			if g.name == "writes" {
				s.Class, s.Writes = "whole", true
			}
			list = append(list, s)
		}
	}
	return list
}

func newSynth(variants, steps, blocks int) *synth {
	s := &synth{rng: rand.New(rand.NewPCG(7, 42)), steps: sysbenchSteps(), blocks: blocks, seconds: 20}
	all := []string{"15.8", "16.4", "17.0", "17.0/lz4", "18.1", "18.1/uring"}
	s.variants = all[:variants]
	if steps < len(s.steps) {
		s.steps = pick(s.steps, "point-query", "hot-points", "random-points_range=100", "range-covered-si", "scan", "read-only_range=100", "update-one", "update-index")
	}
	return s
}

func pick(steps []engine.StepInfo, names ...string) []engine.StepInfo {
	var list []engine.StepInfo
	for _, s := range steps {
		if slices.Contains(names, s.Name) {
			list = append(list, s)
		}
	}
	return list
}

// effect is the true relative rate of a variant on a step: mostly nothing, now and then something, and the known large ones.
func (s *synth) effect(step string, variant int) float64 {
	if variant == 0 {
		return 1
	}
	h := 0
	for _, r := range step {
		h = h*31 + int(r)
	}
	h = (h + variant*7) & 0xff
	switch {
	case step == "hot-points" && variant >= 2:
		return 2.43
	case step == "update-one" && variant == 1:
		return 0.72
	case step == "scan":
		return 1 - 0.06*float64(variant)
	case h < 40:
		return 1 - 0.01*float64(h%9)
	case h < 90:
		return 1 + 0.01*float64(h%12)
	}
	return 1 + 0.002*float64(h%5-2)
}

func (s *synth) record() *engine.Record {
	facet := engine.Facet{Stage: "run", Steps: s.steps, EvidenceKey: "e1", MinBlocks: 3, MaxBlocks: 12}
	for i, v := range s.variants {
		facet.Variants = append(facet.Variants, synthVariant(v, i))
	}
	rec := &engine.Record{Version: engine.RecordVersion, ID: "20260301-060000-pg-versions", Tool: "pipeline test", Status: "done",
		Started: synthStart, Facets: []engine.Facet{facet}, Nodes: synthNodes(s.variants),
		Host: engine.HostFacts{CPUs: 8, MemoryBytes: 32 << 30, CPUModel: "Example CPU 3.2 GHz", Kernel: "6.12.0", Arch: "amd64", OS: "debian 13", MachineID: "m-1234"},
		Experiment: engine.ExperimentInfo{Name: "pg-versions", Doc: "Did anything get slower since 15?", Path: "experiments/pg-versions.yaml",
			SHA256: "c0ffee", Text: synthText, OnInconclusive: "report"},
		Warnings: []string{"fetch https://joe:pa55word@mirror.example.org/x: 404, took the next source <b>"}}
	at := synthStart.Add(20 * time.Minute)
	for b := 1; b <= s.blocks; b++ {
		block := s.block(b, at, facet)
		rec.Blocks = append(rec.Blocks, block)
		at = block.Ended.Add(10 * time.Second)
	}
	rec.Ended = at
	return rec
}

const synthText = `# a comment
version: 1
name: pg-versions
matrix:
  pg: ["15.8", "16.4", "17.0"]
baseline: {pg: "15.8"}
stages:
  - run: {steps: [{list: sysbench-a}], clients: 8}
assert:
  - relqps("hot-points") > 1.7
  - relqps("update-one") > 0.95
  - relqps("scan") > 0.93
  - {expr: 'p99("point-query") < seconds(0.001)', severity: warn}
`

func synthVariant(name string, i int) engine.VariantInfo {
	version, extra, _ := strings.Cut(name, "/")
	facts := map[string]map[string]string{
		"fetch":  {"address": "https://joe:pa55word@mirror.example.org/postgresql-" + version + ".tar.bz2", "sha256": strings.Repeat(fmt.Sprint(i), 8)},
		"build":  {"version": version, "CFLAGS": "-O2 -fno-omit-frame-pointer", "configure": "--with-lz4"},
		"config": {"shared_buffers": "8GB", "max_wal_size": "32GB", "wal_compression": "off", "bind_password": "s3cret"},
		"load":   {"rows": "10,000,000", "tables": "8"},
	}
	if extra == "lz4" {
		facts["config"]["wal_compression"] = "lz4"
	}
	if extra == "uring" {
		facts["config"]["io_method"] = "io_uring"
	}
	return engine.VariantInfo{Name: name, Base: i == 0, Cell: map[string]string{"pg": name}, Facts: facts,
		Nodes: map[string]string{"build": "build[pg=" + name + "]", "load": "load[pg=" + name + "]"}}
}

func synthNodes(variants []string) []engine.NodeRecord {
	var nodes []engine.NodeRecord
	for _, kind := range []string{"fetch", "build", "config", "load"} {
		for i, v := range variants {
			n := engine.NodeRecord{ID: kind + "[pg=" + v + "]", Kind: kind, Key: fmt.Sprintf("%s%064d", kind, i), Status: "cached", Started: synthStart}
			if kind == "load" && i > 0 {
				n.Status, n.Seconds, n.Reason = "done", 61.5, "build differs: version"
			}
			nodes = append(nodes, n)
		}
	}
	return append(nodes, engine.NodeRecord{ID: "run", Kind: "run", Status: "done", Seconds: 9000, Started: synthStart, Log: "logs/run.log"})
}

func (s *synth) block(number int, at time.Time, facet engine.Facet) engine.BlockRecord {
	b := engine.BlockRecord{Run: "20260301-060000-pg-versions", Facet: facet.Name, Stage: facet.Stage, EvidenceKey: "e1", Number: number,
		Seed: uint64(number), Started: at, Complete: true}
	if number == s.blocks && s.blocks > 3 {
		b.Complete, b.Error = false, "interrupted"
	}
	drift := 1 + 0.01*math.Sin(float64(number))
	for i, step := range s.steps {
		base := 2000 * math.Exp(float64(i%9)/2)
		order := s.rng.Perm(len(s.variants))
		for v, name := range s.variants {
			m := s.measure(step, name, base*drift*s.effect(step.Name, v)*(1+0.008*s.rng.NormFloat64()), order[v], at)
			b.Measurements = append(b.Measurements, m)
		}
		at = at.Add(time.Duration(s.seconds*len(s.variants)) * time.Second)
	}
	b.Ended = at
	return b
}

func (s *synth) measure(step engine.StepInfo, variant string, rate float64, order int, at time.Time) engine.Measurement {
	m := engine.Measurement{Step: step.Name, Variant: variant, Class: step.Class, Unit: step.Unit, Clients: step.Clients, WarmupSeconds: 5,
		Cost: map[string]float64{"wal_bytes": rate * 100}, Notes: map[string]string{"cached": "os, confirmed"}}
	ops := step.Operations
	if len(ops) == 0 {
		ops = []string{""}
	}
	m.Ops = map[string]engine.Operation{}
	for i, op := range ops {
		m.Ops[op] = s.operation(rate/float64(i+1), float64(step.Clients))
	}
	for t := range s.seconds {
		r := rate * (1 + 0.03*s.rng.NormFloat64())
		worst := 0.004 * math.Exp(s.rng.NormFloat64())
		if step.Writes && t%13 == 7 {
			r, worst = r*0.2, 0.8+0.5*s.rng.Float64()
		}
		rates, responses := map[string]float64{}, map[string]float64{}
		for i, op := range ops {
			rates[op], responses[op] = r/float64(i+1), worst
		}
		m.Series = append(m.Series, engine.Second{T: float64(t + 1), Ops: engine.NewReadings(rates), MaxSeconds: engine.NewReadings(responses)})
		m.Samples = append(m.Samples, engine.Sample{Pair: t, Order: order, Start: at.Add(time.Duration(t) * time.Second), Seconds: 1, Ops: r, Events: r,
			ServerCPU: 6.5, ClientCPU: 1.2, MaxSeconds: worst})
	}
	return m
}

func (s *synth) operation(rate, clients float64) engine.Operation {
	h := hdrhistogram.New(1, 60e9, 2)
	mean := clients / rate * 1e9
	for range 100 {
		_ = h.RecordValues(int64(mean*math.Exp(0.4*s.rng.NormFloat64())), int64(rate*float64(s.seconds)/100)+1)
	}
	_ = h.RecordValue(int64(mean * 60))
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		panic(err)
	}
	return engine.Operation{Count: h.TotalCount(), Service: string(text), MaxSeconds: float64(h.Max()) / 1e9}
}

func ptr(v float64) *float64 { return &v }

// verdict judges the record in a simple way of its own, so that a change in the statistics does not touch the reports' golden files.
func (s *synth) verdict(rec *engine.Record) gate.Verdict {
	v := gate.Verdict{Outcome: gate.Fail, ExitCode: 1, Reason: "1 assertion does not hold", Atoms: 6,
		Noise: gate.NoiseInfo{Text: "This machine's noise is assumed, not calibrated: 1 % between boots.", SigmaBoot: 0.01}}
	f := Build(rec, gate.Verdict{}).Facets[0]
	merged := merge(f)
	for _, step := range s.steps {
		base := merged[mergeKey{step.Name, s.variants[0]}]
		for i, name := range s.variants {
			v.Steps = append(v.Steps, synthEstimate(step, name, i == 0, base, merged[mergeKey{step.Name, name}]))
		}
	}
	for _, g := range synthGroups {
		for _, name := range s.variants[1:] {
			if e, ok := synthGroup(g.name, name, v.Steps); ok {
				v.Groups = append(v.Groups, e)
			}
		}
	}
	v.Assertions = synthAssertions(rec, v.Steps)
	return v
}

func synthEstimate(step engine.StepInfo, variant string, isBase bool, base, own *Merged) gate.StepEstimate {
	var rates, logs []float64
	for i, r := range own.Rates {
		rates = append(rates, r.Rate)
		logs = append(logs, math.Log(r.Rate/base.Rates[i].Rate))
	}
	sort.Float64s(rates)
	h := own.Ops[own.OpNames()[0]].Service
	q := func(p float64) float64 { return float64(h.ValueAtQuantile(p)) / 1e9 }
	e := gate.StepEstimate{Stage: "run", Step: step.Name, Variant: variant, Base: isBase, Class: step.Class, Unit: step.Unit, Groups: step.Groups,
		QPS: gate.Level{Point: median(rates), Lo: ptr(rates[0]), Hi: ptr(rates[len(rates)-1])}, Boots: len(rates), Pairs: 20 * len(rates), Minutes: own.Seconds / 60,
		Abs: map[string]float64{"p50": q(50), "p95": q(95), "p99": q(99), "p999": q(99.9), "maxrt": 1.1, "cpu_per_op": 6.5 / median(rates), "wal_per_op": 100}}
	if isBase {
		return e
	}
	mean, sd := meanSD(logs)
	half := 2 * sd / math.Sqrt(float64(len(logs)))
	r := gate.Ratio{Point: math.Exp(mean), Lo: ptr(math.Exp(mean - half)), Hi: ptr(math.Exp(mean + half)), P: 0.01, Q: 0.02, Floor: 0.013, Pairs: e.Pairs, Boots: e.Boots}
	r.Changed = math.Abs(mean) > half && math.Abs(mean) > r.Floor
	cpu := r
	cpu.Point, cpu.Lo, cpu.Hi = 1/r.Point, ptr(1 / *r.Hi), ptr(1 / *r.Lo)
	e.Rel = map[string]gate.Ratio{"relqps": r, "relcpu": cpu}
	return e
}

func meanSD(list []float64) (mean, sd float64) {
	for _, v := range list {
		mean += v / float64(len(list))
	}
	for _, v := range list {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / math.Max(1, float64(len(list)-1)))
}

func synthGroup(group, variant string, steps []gate.StepEstimate) (gate.GroupEstimate, bool) {
	g := gate.GroupEstimate{Stage: "run", Group: group, Variant: variant, Min: math.Inf(1)}
	sum := 0.0
	for _, s := range steps {
		r, ok := s.Rel["relqps"]
		if !ok || s.Variant != variant || s.Groups[0] != group {
			continue
		}
		g.Members = append(g.Members, s.Step)
		sum += math.Log(r.Point)
		if r.Point < g.Min {
			g.Min, g.MinStep = r.Point, s.Step
		}
		if r.Point > g.Max {
			g.Max, g.MaxStep = r.Point, s.Step
		}
	}
	if len(g.Members) == 0 {
		return g, false
	}
	p := math.Exp(sum / float64(len(g.Members)))
	g.Ratio = gate.Ratio{Point: p, Lo: ptr(p * 0.99), Hi: ptr(p * 1.01), Changed: math.Abs(p-1) > 0.015, Floor: 0.01}
	return g, true
}

// synthAssertions gives one of each outcome.
func synthAssertions(rec *engine.Record, steps []gate.StepEstimate) []gate.AssertionResult {
	rel := func(step, variant string) *gate.Ratio {
		for _, s := range steps {
			if s.Step == step && s.Variant == variant {
				r := s.Rel["relqps"]
				return &r
			}
		}
		return &gate.Ratio{Point: 1, Lo: ptr(0.99), Hi: ptr(1.01)}
	}
	result := func(line int, expr, step, variant, op string, limit float64, outcome, state string) gate.AssertionResult {
		r := rel(step, variant)
		naive := map[bool]string{true: gate.Pass, false: gate.Fail}[op == ">" && r.Point > limit]
		return gate.AssertionResult{Expr: expr, File: rec.Experiment.Path, Line: line, Column: 5, Severity: "fail", Stage: "run", Candidate: variant, Base: "15.8",
			Outcome: outcome, Message: expr, Naive: naive, NaiveValue: r.Point,
			Atoms: []gate.Atom{{Text: expr, Call: fmt.Sprintf("relqps(%q)", step), Op: op, Step: step, State: state, Value: &r.Point, Lo: r.Lo, Hi: r.Hi, Limit: limit,
				Guarded: true, Pairs: r.Pairs, Boots: r.Boots, Minutes: 3, Floor: 0.013}}}
	}
	second := rec.Facets[0].Variants[1].Name
	last := rec.Facets[0].Variants[len(rec.Facets[0].Variants)-1].Name
	pass := result(10, `relqps("hot-points") > 1.7`, "hot-points", last, ">", 1.7, gate.Pass, "true")
	pass.Published = "2.44"
	fail := result(11, `relqps("update-one") > 0.95`, "update-one", second, ">", 0.95, gate.Fail, "false")
	open := result(12, `relqps("scan") > 0.93`, "scan", second, ">", 0.93, gate.Inconclusive, "unknown")
	open.Reason, open.MinutesNeeded, open.Atoms[0].MinutesNeeded = "budget", 4, 4
	warn := result(13, `p99("point-query") < seconds(0.001)`, "point-query", second, "<", 0.001, gate.Fail, "false")
	warn.Severity, warn.Tags = "warn", []string{"closed loop"}
	warn.Atoms[0].Unit, warn.Atoms[0].Call, warn.Atoms[0].Value, warn.Atoms[0].Lo, warn.Atoms[0].Hi = "s", `p99("point-query")`, ptr(0.0021), ptr(0.0019), ptr(0.0024)
	warn.NaiveValue = 0.0021
	return []gate.AssertionResult{pass, fail, open, warn}
}
