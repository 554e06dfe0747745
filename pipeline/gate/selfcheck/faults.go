package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
)

// fault is a way in which the environment can deceive a measurement. It changes the samples of one pair: rates of the base, its
// sentinel and the candidate.
type fault struct {
	name  string
	spoil func(m *machine, block, pair int, logRates []float64)
}

// Places of the variants in a pair.
const (
	baseAt = iota
	sentinelAt
	candidateAt
)

var faults = []fault{
	{"base on a busy core", func(_ *machine, _, _ int, r []float64) { r[baseAt] -= 0.3 }},
	{"sentinel on a busy core", func(_ *machine, _, _ int, r []float64) { r[sentinelAt] -= 0.3 }},
	{"clock step", func(_ *machine, block, pair int, r []float64) {
		if pair == block%pairsPerBlock {
			r[candidateAt] -= 3
		}
	}},
	{"checkpoint storm", func(m *machine, _, _ int, r []float64) {
		for i := range r {
			if m.rng.Float64() < 0.3 {
				r[i] -= 0.7
			}
		}
	}},
}

// faultsCaught sends broken environments through the whole gate, a live second copy of the base included. Nothing changed
// in any of them, so a FAIL is wrong.
func (b bench) faultsCaught() figure {
	f := figure{number: 10, what: "broken environments (base or its copy on a busy core, clock step, checkpoint storm), nothing changed", target: "harmless or caught >= 95 %, wrong FAIL <= 1 %",
		met: true}
	for _, ft := range faults {
		wrong, caught := 0, 0
		outcomes := make([]string, b.faults)
		parallel(b.faults, func(i int) { outcomes[i] = ft.verdict(i) })
		for _, o := range outcomes {
			switch o {
			case gate.Fail:
				wrong++
			case gate.Inconclusive, gate.Invalid:
				caught++
			}
		}
		f.ours += fmt.Sprintf("%s: %d FAIL, %d caught of %d; ", ft.name, wrong, caught, b.faults)
		f.met = f.met && float64(wrong) <= 0.01*float64(b.faults)
		if ft.name == "base on a busy core" || ft.name == "sentinel on a busy core" {
			f.met = f.met && float64(caught) >= 0.95*float64(b.faults)
		}
	}
	f.why = "a candidate alone on a busy core looks like a slower candidate: equal placement prevents that, no statistic finds it"
	return f
}

// verdict measures until the gate has had enough.
func (ft fault) verdict(i int) string {
	m := newMachine(shared, seeded(ft.name, i))
	facet := engine.Facet{Stage: "run", EvidenceKey: "k", MinBlocks: 3, MaxBlocks: maxBlocks,
		Variants: []engine.VariantInfo{{Name: "base", Base: true}, {Name: "base'", Sentinel: true}, {Name: "candidate"}},
		Steps:    []engine.StepInfo{{Name: "point-query", Class: "steady", Unit: "queries", Seconds: pairsPerBlock}}}
	g, err := gate.Compile([]engine.Assertion{{Expr: `relqps("point-query") > 0.95`, Severity: "fail"}}, []engine.Facet{facet}, nil)
	if err != nil {
		return err.Error()
	}
	rec := &engine.Record{ID: "r", Facets: []engine.Facet{facet}, Ended: time.Unix(0, 0)}
	for n := range 6 {
		rec.Blocks = append(rec.Blocks, ft.block(m, n, facet))
	}
	return g.Judge(rec).Outcome
}

func (ft fault) block(m *machine, n int, facet engine.Facet) engine.BlockRecord {
	m.skip(bootSeconds)
	b := engine.BlockRecord{Run: "r", Stage: "run", EvidenceKey: "k", Number: n + 1, Complete: true}
	level := make([]float64, len(facet.Variants))
	for i, v := range facet.Variants {
		level[i] = m.boot * m.rng.NormFloat64()
		b.Measurements = append(b.Measurements, engine.Measurement{Step: "point-query", Variant: v.Name, Class: "steady"})
	}
	for pair := range pairsPerBlock {
		rates := make([]float64, len(level))
		for order, i := range m.rng.Perm(len(rates)) {
			rates[i] = m.slice(ticksPerSlice) + level[i]
			b.Measurements[i].Samples = append(b.Measurements[i].Samples, engine.Sample{Pair: pair, Order: order, Seconds: 1})
		}
		ft.spoil(m, n, pair, rates)
		for i := range rates {
			b.Measurements[i].Samples[pair].Ops = math.Round(5000 * math.Exp(rates[i]))
		}
	}
	return b
}

// states is the table of section (g): its cases are a test of package gate, and a sample of them runs here too.
func (b bench) states() figure {
	f := figure{number: 11, what: "crash, missing, zero and timeout give the stated state", target: "100 % of the cases", why: "the table of all cases is TestStates of package gate, part of `make test`; these are the three that matter most"}
	cases := []struct {
		name, want string
		spoil      func(*engine.Measurement)
		variant    int
	}{
		{"candidate crashes", gate.Fail, func(m *engine.Measurement) { m.Invalid, m.Cause = "crashed", "server" }, candidateAt},
		{"base crashes", gate.Invalid, func(m *engine.Measurement) { m.Invalid, m.Cause = "crashed", "server" }, baseAt},
		{"nothing measured", gate.Inconclusive, func(m *engine.Measurement) { m.Samples = nil }, candidateAt},
	}
	right := 0
	for _, c := range cases {
		if got := stateOf(c.spoil, c.variant); got == c.want {
			right++
		} else {
			f.why = fmt.Sprintf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	f.ours, f.met = fmt.Sprintf("%d of %d", right, len(cases)), right == len(cases)
	return f
}

func stateOf(spoil func(*engine.Measurement), variant int) string {
	none := fault{"none", func(*machine, int, int, []float64) {}}
	m := newMachine(machines[0], seeded("states", variant))
	facet := engine.Facet{Stage: "run", EvidenceKey: "k", MinBlocks: 3, MaxBlocks: maxBlocks,
		Variants: []engine.VariantInfo{{Name: "base", Base: true}, {Name: "base'", Sentinel: true}, {Name: "candidate"}},
		Steps:    []engine.StepInfo{{Name: "point-query", Class: "steady"}}}
	block := none.block(m, 0, facet)
	spoil(&block.Measurements[variant])
	rec := &engine.Record{ID: "r", Facets: []engine.Facet{facet}, Blocks: slices.Repeat([]engine.BlockRecord{block}, 1)}
	g, err := gate.Compile([]engine.Assertion{{Expr: `relqps("point-query") > 0.5`, Severity: "fail"}}, rec.Facets, nil)
	if err != nil {
		return err.Error()
	}
	return g.Judge(rec).Outcome
}
