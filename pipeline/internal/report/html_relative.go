package report

import "pgpipeline/pipeline/gate"

// htmlRelative is the ratios of a step beside relative QPS: what a candidate costs, and how steady it is.
type htmlRelative struct {
	Heads []string
	Rows  []htmlRelativeRow
}

type htmlRelativeRow struct {
	Variant, Class string
	Cells          []htmlCell
}

// relMetrics are the ratios that the page shows. Of all of them less is better.
var relMetrics = []struct{ name, title string }{
	{"relp50", "median response"}, {"relp95", "95th percentile"}, {"relp99", "99th percentile"}, {"relcv", "variation of the rate"},
	{"relcpu", "server CPU per operation"}, {"relswitches", "context switches"}, {"relreads", "reads"}, {"relwrites", "writes"}, {"relwal", "WAL"},
}

// nextToNothing is a ratio from which on the base had next to none of it, and the figure says nothing.
const nextToNothing = 100

// buildRelative returns nil when the estimates have none of them.
func buildRelative(f Facet, r Row) *htmlRelative {
	h := &htmlRelative{}
	var shown []string
	for _, m := range relMetrics {
		for _, v := range f.Candidates() {
			if e := r.Cells[v.Index].Est; e != nil && e.Rel[m.name].Point > 0 {
				shown, h.Heads = append(shown, m.name), append(h.Heads, m.title)
				break
			}
		}
	}
	if len(shown) == 0 {
		return nil
	}
	for _, v := range f.Candidates() {
		row := htmlRelativeRow{Variant: clean(v.Name), Class: variantClass(v)}
		for _, name := range shown {
			row.Cells = append(row.Cells, relativeCell(r.Cells[v.Index].Est, name))
		}
		h.Rows = append(h.Rows, row)
	}
	return h
}

func relativeCell(e *gate.StepEstimate, metric string) htmlCell {
	if e == nil || e.Rel[metric].Point <= 0 {
		return htmlCell{}
	}
	r := e.Rel[metric]
	c := htmlCell{Ratio: ratioText(r), Interval: ratioInterval(r), Change: string(Same)}
	if r.Point > nextToNothing {
		return htmlCell{Ratio: ">" + rateText(nextToNothing), Change: string(Unknown)}
	}
	switch {
	case !r.Changed:
		c.Ratio = "~ " + c.Ratio
	case r.Point < 1:
		c.Change = string(Faster)
	default:
		c.Change = string(Slower)
	}
	return c
}
