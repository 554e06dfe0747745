package gate

import (
	"maps"
	"math"
	"slices"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/stat"
)

// evidence is the blocks of one facet that count, in the order in which they were measured.
type evidence struct {
	facet  engine.Facet
	blocks []engine.BlockRecord
	index  []map[place]*engine.Measurement // by block
	tails  map[tailKey]tail
}

type place struct{ step, variant string }

// gather picks from all blocks those of the facet, of one series, that are complete.
func gather(facet engine.Facet, blocks []engine.BlockRecord, series string) evidence {
	e := evidence{facet: facet, tails: map[tailKey]tail{}}
	for _, b := range blocks {
		if belongs(facet, b) && b.Series == series && b.Complete {
			e.blocks = append(e.blocks, b)
			e.index = append(e.index, usable(b.Measurements))
		}
	}
	return e
}

func belongs(facet engine.Facet, b engine.BlockRecord) bool {
	return b.Facet == facet.Name && b.Stage == facet.Stage && (b.EvidenceKey == facet.EvidenceKey || b.EvidenceKey == "")
}

// seriesOf lists the series of a facet's blocks in the order in which they were opened; the last is the current one.
func seriesOf(facet engine.Facet, blocks []engine.BlockRecord) []string {
	var out []string
	for _, b := range blocks {
		if belongs(facet, b) && !slices.Contains(out, b.Series) {
			out = append(out, b.Series)
		}
	}
	if len(out) == 0 {
		out = []string{""}
	}
	return out
}

func usable(list []engine.Measurement) map[place]*engine.Measurement {
	out := map[place]*engine.Measurement{}
	for i := range list {
		if m := &list[i]; m.Invalid == "" {
			out[place{m.Step, m.Variant}] = m
		}
	}
	return out
}

// measurement is what one step yielded on one variant in block i; nil when it did not run or must not be used.
func (e evidence) measurement(i int, step, variant string) *engine.Measurement {
	return e.index[i][place{step, variant}]
}

// loss counts the pairs of a step that were measured and those that do not count, by the side whose fault it was.
type loss struct {
	pairs, voided   int
	onCand, onBase  int
	unsteady, boots int
}

// biased says that so many pairs were lost, or so one-sidedly, that those left may not stand for all.
func (l loss) biased() bool {
	if l.pairs == 0 {
		return false
	}
	return float64(l.voided) > 0.1*float64(l.pairs) || stat.FisherP(l.onCand, l.pairs, l.onBase, l.pairs) < 0.01
}

// shaky says that too many warm-ups did not settle. One alone is not held against a run.
func (l loss) shaky() bool { return l.unsteady > 1 && float64(l.unsteady) > 0.2*float64(l.boots) }

// pairs makes log ratios, candidate over base, of a per-slice metric.
func (e evidence) pairs(step, cand, base string, value func(engine.Sample) float64) (stat.Pairs, loss) {
	var p stat.Pairs
	var l loss
	for i := range e.blocks {
		c, b := e.measurement(i, step, cand), e.measurement(i, step, base)
		if c == nil || b == nil {
			continue
		}
		l.boots++
		if c.Unsteady || b.Unsteady {
			l.unsteady++
		}
		cs, bs := byPair(c), byPair(b)
		numbers := maps.Clone(cs)
		maps.Copy(numbers, bs)
		for _, n := range slices.Sorted(maps.Keys(numbers)) {
			x, y := cs[n], bs[n]
			l.count(x, y)
			if counts(x) && counts(y) {
				p.Add(i, math.Log(value(*x))-math.Log(value(*y)))
			}
		}
	}
	return p, l
}

func (l *loss) count(cand, base *engine.Sample) {
	l.pairs++
	if !counts(cand) {
		l.onCand++
	}
	if !counts(base) {
		l.onBase++
	}
	if !counts(cand) || !counts(base) {
		l.voided++
	}
}

// counts says that a slice happened and was neither voided nor spoiled by errors. A slice that ran into its timeout counts
// with what it did: dropping the slow ones would flatter.
func counts(s *engine.Sample) bool {
	return s != nil && s.Void == "" && len(s.Errors) == 0 && s.Seconds > 0
}

func byPair(m *engine.Measurement) map[int]*engine.Sample {
	out := map[int]*engine.Sample{}
	for i := range m.Samples {
		out[m.Samples[i].Pair] = &m.Samples[i]
	}
	return out
}

// perBlock makes pairs of a metric that exists once per block.
func (e evidence) perBlock(step, cand, base string, value func(*engine.Measurement) (float64, string)) (stat.Pairs, string) {
	var p stat.Pairs
	for i := range e.blocks {
		c, b := e.measurement(i, step, cand), e.measurement(i, step, base)
		if c == nil || b == nil {
			continue
		}
		x, why := value(c)
		if why != "" {
			return p, why
		}
		y, why := value(b)
		if why != "" {
			return p, why
		}
		p.Add(i, math.Log(positive(x))-math.Log(positive(y)))
	}
	return p, ""
}

// levels are the logarithms of a metric of one variant, one per block.
func (e evidence) levels(step, variant string, value func(*engine.Measurement) (float64, string)) (stat.Pairs, string) {
	var p stat.Pairs
	for i := range e.blocks {
		m := e.measurement(i, step, variant)
		if m == nil {
			continue
		}
		v, why := value(m)
		if why != "" {
			return p, why
		}
		p.Add(i, math.Log(positive(v)))
	}
	return p, ""
}

// tiny stands for zero where a logarithm is taken: below any time, byte or operation that could be counted.
const tiny = 1e-12

func positive(v float64) float64 { return math.Max(v, tiny) }

// minutes is the time that a step was measured on the given variants together.
func (e evidence) minutes(step string, variants ...string) float64 {
	total := 0.0
	for i := range e.blocks {
		for _, v := range variants {
			if m := e.measurement(i, step, v); m != nil {
				total += measuredSeconds(m)
			}
		}
	}
	return total / 60
}

func measuredSeconds(m *engine.Measurement) float64 {
	total := 0.0
	for _, s := range m.Samples {
		total += s.Seconds
	}
	return total
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
