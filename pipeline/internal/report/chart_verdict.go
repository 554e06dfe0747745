package report

import (
	"fmt"
	"html/template"
	"math"

	"pgpipeline/pipeline/gate"
)

// atomChart draws one comparison: the interval, the value, and the limit with the side that passes.
func atomChart(a gate.Atom, word string) template.HTML {
	if a.Value == nil {
		return ""
	}
	lo, hi := min(*a.Value, a.Limit), max(*a.Value, a.Limit)
	for _, side := range []*float64{a.Lo, a.Hi} {
		if side != nil && !math.IsInf(*side, 0) {
			lo, hi = min(lo, *side), max(hi, *side)
		}
	}
	if least := 0.1 * max(math.Abs(lo), math.Abs(hi)); hi-lo < least { // what is close to the limit has to look close
		middle := (lo + hi) / 2
		lo, hi = middle-least/2, middle+least/2
	}
	margin := (hi - lo) * 0.12
	if margin == 0 {
		margin = max(math.Abs(hi)*0.05, 1e-9)
	}
	x := scale{lo: lo - margin, hi: hi + margin, from: 4, to: 196}
	s := newSVG(200, 26, a.Call+": "+AtomText(a))
	limit := x.at(a.Limit)
	switch a.Op {
	case ">", ">=":
		s.rect(limit, 3, x.to-limit, 20, "okside")
	case "<", "<=":
		s.rect(x.from, 3, limit-x.from, 20, "okside")
	}
	s.line(x.from, 13, x.to, 13, "grid")
	s.line(limit, 1, limit, 25, "limit")
	from, to := x.from, x.to // an unbounded side runs to the edge
	if a.Lo != nil {
		from = x.at(*a.Lo)
	}
	if a.Hi != nil {
		to = x.at(*a.Hi)
	}
	s.group(AtomText(a), func() {
		if a.Guarded { // what is not has a value and nothing around it
			s.line(from, 13, to, 13, "span w-"+word)
		}
		s.circle(x.at(*a.Value), 13, 4.5, "dot w-"+word)
	})
	return s.done()
}

// driftChart shows each variant's rate per block against its own mean: the geometric mean over the steps that all counted blocks
// have. Lines that go up and down together are the machine; one that leaves the others is not.
func driftChart(lines []curve) template.HTML {
	if len(lines) == 0 {
		return ""
	}
	lo, hi, blocks := math.Inf(1), math.Inf(-1), 0
	for _, l := range lines {
		for _, p := range l.points {
			lo, hi = min(lo, p.y), max(hi, p.y)
			blocks = max(blocks, int(p.x)+1)
		}
	}
	margin := max((hi-lo)*0.1, 0.002)
	x := scale{lo: 0, hi: float64(blocks - 1), from: 56, to: seriesWidth - 16}
	y := scale{lo: lo - margin, hi: hi + margin, from: 130, to: 10}
	s := newSVG(seriesWidth, 166, fmt.Sprintf("Rate of each variant per block against its own mean, over %d blocks: from %.3f to %.3f", blocks, lo, hi))
	for _, v := range y.ticks(4) {
		s.line(x.from, y.at(v), x.to, y.at(v), "grid")
		s.text(x.from-5, y.at(v)+3.5, "end small num", fmt.Sprintf("%.3g", v))
	}
	s.text(x.to, y.from+30, "end small dim", "block")
	for i := range blocks {
		s.text(x.at(float64(i)), y.from+16, "mid small num", fmt.Sprint(i+1))
	}
	for _, l := range lines {
		var points []point
		for _, p := range l.points {
			points = append(points, point{x.at(p.x), y.at(p.y)})
		}
		s.group(l.variant.Name, func() {
			s.polyline(points, "curve "+variantClass(l.variant))
			for _, p := range points {
				s.circle(p.x, p.y, 2.5, "mark "+variantClass(l.variant))
			}
		})
	}
	return s.done()
}

// driftShown is a drift of the machine that a reader has to know of.
const driftShown = 0.05

// driftText says by how much the machine itself was faster in one block than in another, "" when that is little.
func driftText(lines []curve) string {
	if len(lines) == 0 {
		return ""
	}
	least, most := math.Inf(1), math.Inf(-1)
	for i := range lines[0].points {
		sum := 0.0
		for _, l := range lines {
			sum += math.Log(l.points[i].y) / float64(len(lines))
		}
		least, most = min(least, sum), max(most, sum)
	}
	change := math.Exp(most-least) - 1
	if change < driftShown {
		return ""
	}
	return fmt.Sprintf("between the blocks the machine itself changed by %s (mean of all variants); what they share cancels out in the ratios", percentText(change))
}

// drift gives per variant and counted block (x counts from 0) the geometric mean over the steps of rate by mean rate. Steps that a
// block left out, because they were decided, are left out everywhere.
func drift(f Facet, merged map[mergeKey]*Merged) []curve {
	total := f.CompleteBlocks()
	if total < 2 {
		return nil
	}
	var lines []curve
	for _, v := range f.Variants {
		sums := make([]float64, total)
		n := 0
		for _, r := range f.Rows() {
			m := merged[mergeKey{r.Name, v.Name}]
			if m == nil || len(m.Rates) != total {
				continue
			}
			if logs, ok := logRates(m.Rates); ok {
				n++
				for i, l := range logs {
					sums[i] += l
				}
			}
		}
		if n == 0 {
			continue
		}
		c := curve{variant: v}
		for i, sum := range sums {
			c.points = append(c.points, point{float64(i), math.Exp(sum / float64(n))})
		}
		lines = append(lines, c)
	}
	return lines
}

// logRates is the logarithm of each block's rate by their geometric mean; ok is false when one of them is zero.
func logRates(rates []BlockRate) (logs []float64, ok bool) {
	mean := 0.0
	for _, r := range rates {
		if r.Rate <= 0 {
			return nil, false
		}
		logs = append(logs, math.Log(r.Rate))
		mean += math.Log(r.Rate) / float64(len(rates))
	}
	for i := range logs {
		logs[i] -= mean
	}
	return logs, true
}
