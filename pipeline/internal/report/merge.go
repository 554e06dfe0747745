package report

import (
	"math"
	"slices"
	"sort"

	"github.com/HdrHistogram/hdrhistogram-go"

	"pgpipeline/pipeline/engine"
)

// Merged is what all counted measurements of one step on one variant hold together.
type Merged struct {
	Ops     map[string]*MergedOp
	Seconds float64 // counted time
	// Series is the rate per second over the blocks, one after the other.
	Series []engine.Second
	// Bounds are the positions in Series where a block begins.
	Bounds []int
	// Rates is the rate per block in the unit of the step, in the order of the blocks.
	Rates []BlockRate
	Notes map[string]string
	// Cost is totals over the counted time, as the stages reported them.
	Cost     map[string]float64
	Unsteady int // blocks
}

// MergedOp is one operation's latency over all counted blocks.
type MergedOp struct {
	Name       string
	Count      int64
	Service    *hdrhistogram.Histogram // nil when there is none
	Response   *hdrhistogram.Histogram // from the intended start; nil in a closed loop
	MaxSeconds float64
	// Rejected counts histograms that could not be read.
	Rejected int
}

// BlockRate is a step's figures in one block on one variant.
type BlockRate struct {
	Block   int // index into the facet's blocks
	Rate    float64
	Ops     float64
	Seconds float64
	CPU     float64 // server CPU seconds
	First   int     // smallest order of a sample within its pair
	Op      map[string]engine.Operation
}

type mergeKey struct{ step, variant string }

// merge gathers the measurements of a facet's complete blocks by step and variant.
func merge(f Facet) map[mergeKey]*Merged {
	all := map[mergeKey]*Merged{}
	for i, b := range f.Blocks {
		if !b.Complete {
			continue
		}
		for _, m := range b.Measurements {
			if m.Invalid != "" {
				continue
			}
			k := mergeKey{m.Step, m.Variant}
			if all[k] == nil {
				all[k] = &Merged{Ops: map[string]*MergedOp{}, Notes: map[string]string{}, Cost: map[string]float64{}}
			}
			all[k].add(i, m)
		}
	}
	return all
}

func (g *Merged) add(block int, m engine.Measurement) {
	rate := blockRate(block, m)
	if rate.Seconds > 0 {
		g.Rates = append(g.Rates, rate)
		g.Seconds += rate.Seconds
	}
	for name, op := range m.Ops {
		if g.Ops[name] == nil {
			g.Ops[name] = &MergedOp{Name: name}
		}
		g.Ops[name].add(op)
	}
	if len(m.Series) > 0 {
		g.Bounds = append(g.Bounds, len(g.Series))
		g.Series = append(g.Series, m.Series...)
	}
	for k, v := range m.Notes {
		g.Notes[k] = v
	}
	for k, v := range m.Cost {
		g.Cost[k] += v
	}
	if m.Unsteady {
		g.Unsteady++
	}
}

func blockRate(block int, m engine.Measurement) BlockRate {
	r := BlockRate{Block: block, First: math.MaxInt, Op: m.Ops}
	for _, s := range m.Samples {
		if s.Void != "" {
			continue
		}
		r.Ops += s.Ops
		r.Seconds += s.Seconds
		r.CPU += s.ServerCPU
		r.First = min(r.First, s.Order)
	}
	if r.Seconds > 0 {
		r.Rate = r.Ops / r.Seconds
	}
	return r
}

func (o *MergedOp) add(op engine.Operation) {
	o.Count += op.Count
	o.MaxSeconds = max(o.MaxSeconds, op.MaxSeconds)
	o.Service = o.mergeHistogram(o.Service, op.Service)
	o.Response = o.mergeHistogram(o.Response, op.Response)
}

func (o *MergedOp) mergeHistogram(into *hdrhistogram.Histogram, encoded string) *hdrhistogram.Histogram {
	if encoded == "" {
		return into
	}
	h, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		o.Rejected++
		return into
	}
	if into == nil {
		return h
	}
	into.Merge(h)
	return into
}

// Best is the histogram that tells more of the truth: from the intended start where there is one.
func (o *MergedOp) Best() *hdrhistogram.Histogram {
	if o.Response != nil && o.Response.TotalCount() > 0 {
		return o.Response
	}
	return o.Service
}

// OpNames lists the operations, sorted.
func (g *Merged) OpNames() []string {
	names := make([]string, 0, len(g.Ops))
	for n := range g.Ops {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// opRates is an operation's rate per second and block.
func (g *Merged) opRates(op string) []float64 {
	var list []float64
	for _, r := range g.Rates {
		if o, ok := r.Op[op]; ok {
			list = append(list, float64(o.Count)/r.Seconds)
		}
	}
	return list
}

// seriesOps lists the operations that the per-second series has.
func (g *Merged) seriesOps() []string {
	var names []string
	for _, s := range g.Series {
		for _, op := range s.Ops.Names() {
			if !slices.Contains(names, op) {
				names = append(names, op)
			}
		}
	}
	sort.Strings(names)
	return names
}
