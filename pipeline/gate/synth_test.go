package gate

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"pgpipeline/pipeline/engine"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// lab makes records without a server: two variants, a reading and a writing step, noise as asked.
type lab struct {
	rng    *rand.Rand
	facet  engine.Facet
	blocks []engine.BlockRecord
	// ratio of the candidate's rate over the base's; spread of a slice's log rate; boot spread.
	ratio, spread, boot float64
	pairs               int
}

func newLab() *lab {
	l := &lab{rng: rand.New(rand.NewPCG(1, 2)), ratio: 1, spread: 0.05, boot: 0.003, pairs: 20}
	l.facet = engine.Facet{Stage: "run", EvidenceKey: "k", MinBlocks: 3, MaxBlocks: 12,
		Variants: []engine.VariantInfo{{Name: "a16", Base: true, Cell: map[string]string{"config": "a16"}}, {Name: "a18", Cell: map[string]string{"config": "a18"}}},
		Steps: []engine.StepInfo{
			{Name: "hot-points_range=100", Class: "steady", Unit: "queries", Groups: []string{"reads"}, Clients: 1},
			{Name: "point-query_range=100", Class: "steady", Unit: "queries", Groups: []string{"reads"}, Clients: 1},
			{Name: "point-query.pre_range=100", Class: "steady", Unit: "queries", Clients: 1},
			{Name: "q1000", Class: "whole", Writes: true, Unit: "inserts", Operations: []string{"insert", "query"}, Clients: 1},
		}}
	return l
}

// block measures one more block, then lets change spoil it.
func (l *lab) block(change ...func(*engine.BlockRecord)) {
	b := engine.BlockRecord{Run: "r1", Stage: "run", EvidenceKey: "k", Number: len(l.blocks) + 1, Complete: true}
	level := map[string]float64{"a16": l.boot * l.rng.NormFloat64(), "a18": l.boot*l.rng.NormFloat64() + math.Log(l.ratio)}
	for _, step := range l.facet.Steps {
		for _, v := range l.facet.Variants {
			b.Measurements = append(b.Measurements, l.measure(step, v.Name, level[v.Name]))
		}
	}
	for _, f := range change {
		f(&b)
	}
	l.blocks = append(l.blocks, b)
}

func (l *lab) measure(step engine.StepInfo, variant string, level float64) engine.Measurement {
	m := engine.Measurement{Step: step.Name, Variant: variant, Class: step.Class, Unit: step.Unit, Ops: map[string]engine.Operation{}, Cost: map[string]float64{"wal_bytes": 1e6}}
	n, seconds := l.pairs, 1.0
	if step.Class == "whole" {
		n, seconds = 1, 60
	}
	for i := range n {
		rate := 5000 * math.Exp(level+l.spread*l.rng.NormFloat64())
		m.Samples = append(m.Samples, engine.Sample{Pair: i, Seconds: seconds, Ops: math.Round(rate * seconds), ServerCPU: 0.8 * seconds, MaxSeconds: 0.02})
	}
	for i := range 60 {
		m.Series = append(m.Series, engine.Second{T: float64(i), Ops: engine.NewReadings(map[string]float64{"": 5000})})
	}
	ops := step.Operations
	if len(ops) == 0 {
		ops = []string{""}
	}
	for _, op := range ops {
		m.Ops[op] = engine.Operation{Count: 100000, Service: histogramOf(100000), MaxSeconds: 0.02}
	}
	return m
}

// histogramOf is a histogram of n response times between 0.2 and 1.2 ms. Making one takes longer than judging it, so each is made
// once.
func histogramOf(n int64) string {
	if text, ok := histograms.Load(n); ok {
		return text.(string)
	}
	h := hdrhistogram.New(1, 60e9, 3)
	for i := range int64(1000) {
		_ = h.RecordValues(200_000+i*1000, n/1000)
	}
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		panic(err)
	}
	histograms.Store(n, string(text))
	return string(text)
}

var histograms sync.Map

// record is the run so far with the given assertions.
func (l *lab) record(exprs ...string) *engine.Record {
	rec := &engine.Record{ID: "r1", Ended: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Facets: []engine.Facet{l.facet}, Blocks: l.blocks}
	for i, e := range exprs {
		rec.Experiment.Asserts = append(rec.Experiment.Asserts, engine.Assertion{Expr: e, Severity: "fail", File: "x.yaml", Line: 30 + i, Column: 5})
	}
	return rec
}

func (l *lab) judge(t *testing.T, exprs ...string) Verdict {
	t.Helper()
	rec := l.record(exprs...)
	g, err := Compile(rec.Experiment.Asserts, rec.Facets, map[string][]string{"mine": {"*point*"}})
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return g.Judge(rec)
}

// measurements applies f to the measurements of one step on one variant.
func measurements(step, variant string, f func(*engine.Measurement)) func(*engine.BlockRecord) {
	return func(b *engine.BlockRecord) {
		for i := range b.Measurements {
			if m := &b.Measurements[i]; m.Step == step && m.Variant == variant {
				f(m)
			}
		}
	}
}

// samples applies f to the first n samples of such a measurement.
func samples(step, variant string, n int, f func(*engine.Sample)) func(*engine.BlockRecord) {
	return measurements(step, variant, func(m *engine.Measurement) {
		for i := range min(n, len(m.Samples)) {
			f(&m.Samples[i])
		}
	})
}
