package report

import (
	"fmt"
	"html/template"
	"sort"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/dustin/go-humanize"
)

// htmlStep is the folded part about one step.
type htmlStep struct {
	Name, Anchor, Loop string
	Open, Named        bool // named: its operations have names
	Cells              []htmlCell
	Latency            []htmlLatency
	Relative           *htmlRelative
	Charts             []htmlChart
	Notes              []htmlNote
	Excerpts           []htmlExcerpt
}

type htmlLatency struct {
	Variant, Class, Op, Rate, Max, Rate99, Count string
	Percentiles                                  []string
}

type htmlChart struct {
	Title string
	SVG   template.HTML
}

var shownPercentiles = []float64{50, 95, 99, 99.9}

func (h *htmlFacet) addSteps(f Facet, merged map[mergeKey]*Merged) {
	for _, r := range f.Rows() {
		s := htmlStep{Name: clean(r.Name), Anchor: stepAnchor(f, r.Name), Loop: loopNote(f, r, merged), Relative: buildRelative(f, r)}
		for _, v := range f.Candidates() {
			s.Cells = append(s.Cells, buildCell(r.Name, r.Cells[v.Index]))
		}
		for _, op := range operations(f, r, merged) {
			s.addOperation(f, r, op, merged)
			s.Named = s.Named || op != ""
			h.NamedOps = h.NamedOps || op != ""
			h.Tails = append(h.Tails, tail(f, r, op, merged))
		}
		for _, op := range seriesOperations(f, r, merged) {
			if svg := seriesCharts(r.Name, op, f.Variants, merged); svg != "" {
				s.Charts = append(s.Charts, htmlChart{Title: strings.TrimSpace(clean(op) + " rate and worst response over time"), SVG: svg})
			}
		}
		s.Notes, s.Excerpts = stepNotes(f, r, merged)
		s.Open = insertStep.MatchString(r.Name)
		h.Steps = append(h.Steps, s)
	}
}

// loopNote says from when response times count: operations at a fixed rate have an intended start, the others wait for each other.
func loopNote(f Facet, r Row, merged map[mergeKey]*Merged) string {
	const closedLoop = "a stall delays the operations that would have come, and they are not counted in the percentiles."
	var open, closed []string
	for _, op := range operations(f, r, merged) {
		if r.Step.OpenLoop || hasResponses(f, r, op, merged) {
			open = append(open, clean(op))
		} else {
			closed = append(closed, clean(op))
		}
	}
	switch {
	case len(open) == 0:
		return "Closed loop: " + closedLoop
	case len(closed) == 0:
		return "Open loop: response times count from the intended start."
	}
	return fmt.Sprintf("Open loop of %s: response times count from the intended start. Closed loop of %s: %s", strings.Join(open, ", "), strings.Join(closed, ", "), closedLoop)
}

func hasResponses(f Facet, r Row, op string, merged map[mergeKey]*Merged) bool {
	for _, v := range f.Variants {
		if m := merged[mergeKey{r.Name, v.Name}]; m != nil && m.Ops[op] != nil && m.Ops[op].Response != nil {
			return true
		}
	}
	return false
}

// operations are those that any variant has, sorted.
func operations(f Facet, r Row, merged map[mergeKey]*Merged) []string {
	return union(f, r, merged, (*Merged).OpNames)
}

func seriesOperations(f Facet, r Row, merged map[mergeKey]*Merged) []string {
	return union(f, r, merged, (*Merged).seriesOps)
}

func union(f Facet, r Row, merged map[mergeKey]*Merged, names func(*Merged) []string) []string {
	set := map[string]bool{}
	for _, v := range f.Variants {
		if m := merged[mergeKey{r.Name, v.Name}]; m != nil {
			for _, n := range names(m) {
				set[n] = true
			}
		}
	}
	return sortedKeys(set)
}

// addOperation adds the percentiles of one operation, and its histogram.
func (s *htmlStep) addOperation(f Facet, r Row, op string, merged map[mergeKey]*Merged) {
	hist := map[string]*hdrhistogram.Histogram{}
	for _, v := range f.Variants {
		m := merged[mergeKey{r.Name, v.Name}]
		if m == nil || m.Ops[op] == nil {
			continue
		}
		o := m.Ops[op]
		hist[v.Name] = o.Best()
		l := htmlLatency{Variant: clean(v.Name), Class: variantClass(v), Op: clean(op), Rate: rateText(float64(o.Count) / max(m.Seconds, 1e-9)),
			Max: secondsText(o.MaxSeconds), Count: humanize.Comma(o.Count), Percentiles: percentiles(o.Best()), Rate99: rate99(m, op)}
		if len(operations(f, r, merged)) == 1 {
			l.Rate = nonZero(r.Cells[v.Index].QPS.Point, rateText)
		}
		s.Latency = append(s.Latency, l)
	}
	if svg := latencyChart(r.Name, op, f.Variants, hist); svg != "" {
		s.Charts = append(s.Charts, htmlChart{Title: strings.TrimSpace(clean(op) + " response times, share of operations"), SVG: svg})
	}
}

func percentiles(h *hdrhistogram.Histogram) []string {
	list := make([]string, len(shownPercentiles))
	for i, p := range shownPercentiles {
		if h != nil && h.TotalCount() > 0 {
			list[i] = secondsText(float64(h.ValueAtPercentile(p)) / 1e9)
		}
	}
	return list
}

// rate99 is the rate that was exceeded in 99 % of the seconds, "" with fewer than ten of them.
func rate99(m *Merged, op string) string {
	if len(m.Series) < 10 {
		return ""
	}
	rates := make([]float64, len(m.Series))
	for i, s := range m.Series {
		rates[i] = s.Ops.At(op)
	}
	sort.Float64s(rates)
	return rateText(rates[len(rates)/100])
}

func tail(f Facet, r Row, op string, merged map[mergeKey]*Merged) htmlTail {
	t := htmlTail{Step: clean(r.Name), Op: clean(op)}
	for _, v := range f.Variants {
		text := ""
		if m := merged[mergeKey{r.Name, v.Name}]; m != nil && m.Ops[op] != nil {
			text = percentiles(m.Ops[op].Best())[2]
		}
		t.Cells = append(t.Cells, text)
	}
	return t
}
