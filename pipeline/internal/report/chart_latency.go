package report

import (
	"fmt"
	"html/template"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// curve is one variant's line in a chart.
type curve struct {
	variant Variant
	points  []point // in values, not pixels
}

// perDecade is how many buckets of a latency chart make a factor of ten.
const perDecade = 12

// latencyChart draws how response times are spread: the share of operations per bucket over a logarithmic axis of time.
func latencyChart(step, op string, variants []Variant, hist map[string]*hdrhistogram.Histogram) template.HTML {
	var curves []curve
	lo, hi, most := math.Inf(1), math.Inf(-1), 0.0
	for _, v := range variants {
		h := hist[v.Name]
		if h == nil || h.TotalCount() == 0 {
			continue
		}
		c := curve{variant: v, points: shares(h)}
		for _, p := range c.points {
			lo, hi, most = min(lo, p.x), max(hi, p.x), max(most, p.y)
		}
		curves = append(curves, c)
	}
	if len(curves) == 0 {
		return ""
	}
	width := math.Pow(10, 1.0/perDecade)
	x := scale{lo: lo / width, hi: hi * width, from: 40, to: 370, log: true}
	y := scale{lo: 0, hi: most * 1.05, from: 130, to: 10}
	s := newSVG(396, 152, latencyLabel(step, op, curves))
	for _, v := range y.ticks(3) {
		s.line(x.from, y.at(v), x.to, y.at(v), "grid")
		s.text(x.from-5, y.at(v)+3.5, "end small num", fmt.Sprintf("%.3g%%", v*100))
	}
	for _, v := range x.ticks(0) {
		s.line(x.at(v), y.from, x.at(v), y.from+4, "grid")
		s.text(x.at(v), y.from+16, "mid small num", tickSeconds(v))
	}
	for _, c := range curves {
		s.group(c.variant.Name, func() { s.polyline(stairs(c.points, x, y), "curve "+variantClass(c.variant)) })
	}
	return s.done()
}

func latencyLabel(step, op string, curves []curve) string {
	if op != "" {
		step += ", " + op
	}
	return fmt.Sprintf("Histogram of the response times of %s for %d variants; the table has the percentiles", step, len(curves))
}

// shares puts a histogram (ns) into buckets: x is the bucket's lower bound in seconds, y the share of all operations.
func shares(h *hdrhistogram.Histogram) []point {
	counts := map[int]int64{}
	first, last := math.MaxInt, math.MinInt
	for _, bar := range h.Distribution() {
		if bar.Count == 0 {
			continue
		}
		i := int(math.Floor(math.Log10(float64(max(bar.From, 1))/1e9) * perDecade))
		counts[i] += bar.Count
		first, last = min(first, i), max(last, i)
	}
	var list []point
	for i := first; i <= last && first != math.MaxInt; i++ {
		list = append(list, point{math.Pow(10, float64(i)/perDecade), float64(counts[i]) / float64(h.TotalCount())})
	}
	return list
}

// stairs turns buckets into an outline that begins and ends at zero.
func stairs(buckets []point, x, y scale) []point {
	width := math.Pow(10, 1.0/perDecade)
	list := []point{{x.at(buckets[0].x), y.at(0)}}
	for _, b := range buckets {
		list = append(list, point{x.at(b.x), y.at(b.y)}, point{x.at(b.x * width), y.at(b.y)})
	}
	return append(list, point{list[len(list)-1].x, y.at(0)})
}

// tickSeconds labels a power of ten.
func tickSeconds(v float64) string {
	switch {
	case v < 0.9e-6:
		return fmt.Sprintf("%.3g ns", v*1e9)
	case v < 0.9e-3:
		return fmt.Sprintf("%.3g µs", v*1e6)
	case v < 0.9:
		return fmt.Sprintf("%.3g ms", v*1e3)
	}
	return fmt.Sprintf("%.3g s", v)
}
