package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// relChart draws a group's relative rates as the published reports do: bars of all candidates per step, a y axis that begins at 0.8
// or 0.9, and what does not fit cut off and labelled by its value. What is not beyond noise is pale.
type relChart struct {
	group Group
	cands []Variant
	base  string

	bar, gap  float64 // widths
	y         scale
	plot      float64 // left edge of the bars
	top, foot float64
}

const (
	relPlotHeight = 200.0
	relCutAt      = 1.5 // as the published charts have it
)

func relativeChart(f Facet, g Group) template.HTML {
	c := &relChart{group: g, cands: f.Candidates(), base: f.BaseName(), plot: 44, top: 14}
	if len(c.cands) == 0 || len(g.Rows) == 0 {
		return ""
	}
	c.foot = c.top + relPlotHeight
	c.bar = max(9, min(26, 64/float64(len(c.cands))))
	c.gap = max(12, c.bar)
	lo, hi := relAxis(g)
	c.y = scale{lo: lo, hi: hi, from: c.foot, to: c.top}
	return c.draw()
}

// relAxis chooses the ends of the axis from the intervals: as close as 0.9 to 1.1, never beyond 0.8 and 1.5.
func relAxis(g Group) (lo, hi float64) {
	least, most := 1.0, 1.0
	for _, r := range g.Rows {
		for _, c := range r.Cells {
			if c.Ratio != nil {
				l, h := bounds(c)
				least, most = min(least, l), max(most, h)
			}
		}
	}
	lo, hi = 0.8, relCutAt
	if least >= 0.9 {
		lo = 0.9
	}
	for _, top := range []float64{1.1, 1.2, 1.3} {
		if most <= top {
			return lo, top
		}
	}
	return lo, hi
}

// bounds is the interval of a cell, the point where a side is not known.
func bounds(c Cell) (lo, hi float64) {
	lo, hi = c.Ratio.Point, c.Ratio.Point
	if c.Ratio.Lo != nil {
		lo = *c.Ratio.Lo
	}
	if c.Ratio.Hi != nil {
		hi = *c.Ratio.Hi
	}
	return lo, hi
}

func (c *relChart) stepWidth() float64 { return float64(len(c.cands))*c.bar + c.gap }

func (c *relChart) draw() template.HTML {
	longest := 0
	for _, r := range c.group.Rows {
		longest = max(longest, len(r.Name))
	}
	const slope, lean = 0.64, 0.77 // sine and cosine of 40 degrees
	const charWidth = 6.8          // of the widest usual font at 11 pixels
	labels := 18 + float64(longest)*charWidth*slope
	for i, r := range c.group.Rows { // the first labels lean out to the left
		c.plot = max(c.plot, float64(len(r.Name))*charWidth*lean-(float64(i)+0.5)*c.stepWidth()+8)
	}
	width := c.plot + float64(len(c.group.Rows))*c.stepWidth() + c.gap/2 + 4
	s := newSVG(width, c.foot+labels, c.label())
	c.axis(s, width)
	for i, r := range c.group.Rows {
		x := c.plot + float64(i)*c.stepWidth() + c.gap/2
		for j, v := range c.cands {
			c.drawBar(s, x+float64(j)*c.bar, r, r.Cells[v.Index])
		}
		s.turned(x+float64(len(c.cands))*c.bar/2+4, c.foot+14, -40, "end small", r.Name)
	}
	y1 := c.y.at(1)
	s.line(c.plot, y1, width, y1, "one")
	return s.done()
}

func (c *relChart) label() string {
	var parts []string
	for _, v := range c.cands {
		lo, hi, n := math.Inf(1), 0.0, 0
		for _, r := range c.group.Rows {
			if ratio := r.Cells[v.Index].Ratio; ratio != nil {
				lo, hi, n = min(lo, ratio.Point), max(hi, ratio.Point), n+1
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s from %.2f to %.2f", v.Name, lo, hi))
		}
	}
	return fmt.Sprintf("Bar chart: QPS relative to %s for %d steps of %s; %s. The table below has the figures.", c.base, len(c.group.Rows), c.group.Name, strings.Join(parts, ", "))
}

func (c *relChart) axis(s *svg, width float64) {
	for _, v := range c.y.ticks(6) {
		y := c.y.at(v)
		s.line(c.plot, y, width, y, "grid")
		s.text(c.plot-6, y+3.5, "end small num", trimZeros(fmt.Sprintf("%.2f", v), 1))
	}
}

func (c *relChart) drawBar(s *svg, x float64, r Row, cell Cell) {
	if cell.Ratio == nil {
		s.group(fmt.Sprintf("%s, %s: %s", r.Name, cell.Variant.Name, cell.State), func() {
			s.text(x+c.bar/2, c.foot-4, "mid small dim", "?")
		})
		return
	}
	title := fmt.Sprintf("%s, %s: %s %s of %s, %s", r.Name, cell.Variant.Name, ratioText(*cell.Ratio), ratioInterval(*cell.Ratio), c.base, changeText(cell.Change()))
	s.group(title, func() {
		p := cell.Ratio.Point
		top := c.y.at(p)
		s.rect(x+0.5, min(top, c.foot-2), c.bar-1, max(c.foot-top, 2), variantClass(cell.Variant)+" "+string(cell.Change()))
		switch {
		case p > c.y.hi:
			s.turned(x+c.bar/2+3.5, c.top+4, -90, "end cut "+string(cell.Change()), ratioText(*cell.Ratio))
			s.line(x, c.top+1, x+c.bar, c.top-3, "cutline")
		case p < c.y.lo:
			s.turned(x+c.bar/2+3.5, c.foot-5, -90, "under", ratioText(*cell.Ratio))
			s.arrow(x+c.bar/2, c.foot+1, "mark "+variantClass(cell.Variant))
		default: // where a value is written, its interval would cross it out; the table has it
			c.whisker(s, x+c.bar/2, cell)
		}
	})
}

func (c *relChart) whisker(s *svg, x float64, cell Cell) {
	if lo, hi := bounds(cell); hi > lo && hi >= c.y.lo && lo <= c.y.hi {
		s.line(x, c.y.at(lo), x, c.y.at(hi), "whisker")
	}
}

func changeText(c Change) string {
	if c == Same {
		return "no change beyond noise"
	}
	return string(c)
}

// variantClass picks the colour; there are as many as a reader can tell apart, then they come again.
func variantClass(v Variant) string {
	if v.Base {
		return "v0"
	}
	const colors = 5
	return fmt.Sprintf("v%d", (v.Index-1)%colors+1)
}
