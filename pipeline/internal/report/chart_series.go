package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
)

// seriesBuckets is the most points that a line has: a page is as fine as its pixels.
const seriesBuckets = 240

// span is a stretch of a series: its mean rate, and the worst response and lowest rate in it, so that a stall of one second is seen
// however long the run was.
type span struct{ t, rate, least, worst float64 }

// spans reduces the seconds of one operation to about n stretches, block by block: no stretch has seconds of two of them.
func spans(m *Merged, op string, n int) [][]span {
	size := (len(m.Series) + n - 1) / n
	var blocks [][]span
	for i, from := range m.Bounds {
		end := len(m.Series)
		if i+1 < len(m.Bounds) {
			end = m.Bounds[i+1]
		}
		var list []span
		for ; from < end; from += size {
			part := m.Series[from:min(from+size, end)]
			sp := span{t: float64(from) + float64(len(part))/2, least: math.Inf(1)}
			for _, s := range part {
				r := s.Ops.At(op)
				sp.rate += r / float64(len(part))
				sp.least = min(sp.least, r)
				sp.worst = max(sp.worst, s.MaxSeconds.At(op))
			}
			list = append(list, sp)
		}
		blocks = append(blocks, list)
	}
	return blocks
}

// stallShare is the share of the median rate below which a second counts as a stall.
const stallShare = 0.1

// stallRate is the rate below which a second of an operation is a stall, 0 when it has none to speak of.
func stallRate(m *Merged, op string) float64 {
	rates := make([]float64, len(m.Series))
	for i, s := range m.Series {
		rates[i] = s.Ops.At(op)
	}
	return stallShare * median(rates)
}

// seriesChart draws rate over time and, below, the worst response on a logarithmic axis. The blocks follow each other.
type seriesChart struct {
	step, op string
	x        scale
	rate     scale
	worst    scale
	lines    map[int][][]span // by variant index, then by block
	stall    map[int]float64
	bounds   []int
}

const seriesWidth = 560.0

func seriesCharts(step, op string, variants []Variant, merged map[mergeKey]*Merged) template.HTML {
	c := &seriesChart{step: step, op: op, lines: map[int][][]span{}, stall: map[int]float64{}}
	length, most, slow, quick := 0, 0.0, 0.0, math.Inf(1)
	for _, v := range variants {
		m := merged[mergeKey{step, v.Name}]
		if m == nil || len(m.Series) < 2 {
			continue
		}
		c.lines[v.Index], c.stall[v.Index] = spans(m, op, seriesBuckets), stallRate(m, op)
		if len(m.Series) > length {
			length, c.bounds = len(m.Series), m.Bounds
		}
		for _, s := range slices.Concat(c.lines[v.Index]...) {
			most, slow = max(most, s.rate), max(slow, s.worst)
			if s.worst > 0 {
				quick = min(quick, s.worst)
			}
		}
	}
	if len(c.lines) == 0 || most <= 0 {
		return ""
	}
	c.x = scale{lo: 0, hi: float64(length), from: 56, to: seriesWidth - 10}
	c.rate = scale{lo: 0, hi: most * 1.05, from: 124, to: 20}
	c.worst = scale{lo: quick / 1.5, hi: slow * 1.5, from: 218, to: 152, log: true}
	return c.draw(variants, slow > 0)
}

func (c *seriesChart) draw(variants []Variant, responses bool) template.HTML {
	height := 154.0
	if responses {
		height = 242
	}
	name := c.step
	if c.op != "" {
		name += ", " + c.op
	}
	s := newSVG(seriesWidth, height, fmt.Sprintf("Rate of %s per second over the measured time, and the worst response, for %d variants", name, len(c.lines)))
	c.axes(s, responses)
	for _, v := range variants {
		if len(c.lines[v.Index]) == 0 {
			continue
		}
		s.group(v.Name, func() {
			for _, block := range c.lines[v.Index] {
				c.drawBlock(s, v, block, responses)
			}
		})
	}
	return s.done()
}

// drawBlock draws the lines of one block, and a mark below each stretch with a stall.
func (c *seriesChart) drawBlock(s *svg, v Variant, block []span, responses bool) {
	var rate, worst []point
	for _, sp := range block {
		rate = append(rate, point{c.x.at(sp.t), c.rate.at(sp.rate)})
		worst = append(worst, point{c.x.at(sp.t), c.worst.at(sp.worst)})
		if sp.least < c.stall[v.Index] {
			s.rect(c.x.at(sp.t)-1.5, c.rate.from+1, 3, 7, "stall")
		}
	}
	c.stretch(s, rate, "curve "+variantClass(v), v)
	if responses {
		c.stretch(s, worst, "curve thin "+variantClass(v), v)
	}
}

// stretch draws a line, or a dot where a block has only one point.
func (c *seriesChart) stretch(s *svg, points []point, class string, v Variant) {
	if len(points) == 1 {
		s.circle(points[0].x, points[0].y, 2, "mark "+variantClass(v))
		return
	}
	s.polyline(points, class)
}

func (c *seriesChart) axes(s *svg, responses bool) {
	for _, v := range c.rate.ticks(4) {
		s.line(c.x.from, c.rate.at(v), c.x.to, c.rate.at(v), "grid")
		s.text(c.x.from-5, c.rate.at(v)+3.5, "end small num", shortRate(v))
	}
	s.text(c.x.to, c.rate.to-8, "end small dim", "per second")
	foot := c.rate.from
	if responses {
		foot = c.worst.from
		for _, v := range c.worst.ticks(0) {
			s.line(c.x.from, c.worst.at(v), c.x.to, c.worst.at(v), "grid")
			s.text(c.x.from-5, c.worst.at(v)+3.5, "end small num", tickSeconds(v))
		}
		s.text(c.x.to, c.worst.to-8, "end small dim", "worst response")
	}
	for _, b := range c.bounds {
		if b > 0 {
			s.line(c.x.at(float64(b)), c.rate.to, c.x.at(float64(b)), foot, "bound")
		}
	}
	for _, v := range c.x.ticks(min(6, int(c.x.hi))) {
		s.text(c.x.at(v), foot+14, "mid small num", durationText(v))
	}
}

// shortRate writes an axis label: 12k, 1.5M.
func shortRate(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.3gk", v/1e3)
	}
	return fmt.Sprintf("%.3g", v)
}
