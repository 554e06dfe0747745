package report

import (
	"math"
	"regexp"
	"strconv"

	"pgpipeline/pipeline/gate"
)

// InsertSummary is the insert benchmark's summary as its published reports have it: rows are variants, columns are steps.
// Loads show inserts (or indexed rows) per second, the read-write steps queries per second beside a fixed insert rate.
type InsertSummary struct {
	Steps   []string
	Rows    []InsertRow
	Queries []QueryStep // the steps with a target insert rate
}

// InsertRow is one variant.
type InsertRow struct {
	Variant Variant
	Cells   []InsertCell // per step
	Inserts []RateCell   // per step of Queries
}

// InsertCell is a rate and how the reports colour it.
type InsertCell struct {
	Rate     float64
	Relative float64 // to the base, 0 when unknown: the paired estimate where there is one
	Color    string  // of the absolute figure: "green", "red", "grey" (the target was missed), ""
	RelColor string  // of the relative one: "yellow" below 95 %, "blue" above 105 %, "" between and within noise
}

// QueryStep is a step that inserts at a fixed rate while it queries.
type QueryStep struct {
	Name   string
	Target float64 // rows per second over all clients
}

// RateCell is the insert rate of a query step. Missed means below 95 % of the target: its query rate is not to be compared.
type RateCell struct {
	Rate   float64
	Missed bool
}

const (
	metTarget = 0.95 // of the target insert rate
	noRed     = 0.80 // of the maximum: above this the worst is not bad
)

var (
	insertStep = regexp.MustCompile(`^(?:.*/)?(l\.(?:i0|x|i1|i2)|q[rp]?(\d+)(?:\..*)?)$`)
	queryStep  = regexp.MustCompile(`^(?:.*/)?q[rp]?(\d+)(?:\..*)?$`)
)

// insertSummary returns nil when the facet has none of the insert benchmark's steps.
func insertSummary(f Facet) *InsertSummary {
	var rows []Row
	for _, r := range f.Rows() {
		if insertStep.MatchString(r.Name) {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 || len(f.Variants) == 0 {
		return nil
	}
	s := &InsertSummary{}
	merged := merge(f)
	for _, v := range f.Variants {
		s.Rows = append(s.Rows, InsertRow{Variant: v})
	}
	for _, r := range rows {
		s.addStep(r, merged)
	}
	return s
}

func (s *InsertSummary) addStep(r Row, merged map[mergeKey]*Merged) {
	s.Steps = append(s.Steps, r.Name)
	target, isQuery := targetRate(r)
	if isQuery {
		s.Queries = append(s.Queries, QueryStep{Name: r.Name, Target: target})
	}
	column := make([]InsertCell, len(s.Rows))
	missed := make([]bool, len(s.Rows))
	for i, c := range r.Cells {
		column[i] = InsertCell{Rate: c.QPS.Point}
		if isQuery {
			m := merged[mergeKey{r.Name, c.Variant.Name}]
			column[i].Rate = operationRate(c, m, "query", c.QPS.Point)
			inserts := operationRate(c, m, "insert", 0)
			missed[i] = inserts < metTarget*target
			s.Rows[i].Inserts = append(s.Rows[i].Inserts, RateCell{Rate: inserts, Missed: missed[i]})
		}
	}
	colorAbsolute(column, missed)
	estimates := make([]*gate.Ratio, len(column))
	for i, c := range r.Cells {
		estimates[i] = c.Ratio
	}
	colorRelative(column, estimates)
	for i := range column {
		s.Rows[i].Cells = append(s.Rows[i].Cells, column[i])
	}
}

// targetRate reads the insert rate per client from the step's name: q100, qr500.L3.
func targetRate(r Row) (float64, bool) {
	m := queryStep.FindStringSubmatch(r.Name)
	if m == nil {
		return 0, false
	}
	perClient, err := strconv.ParseFloat(m[1], 64)
	return perClient * float64(max(1, r.Step.Clients)), err == nil
}

// operationRate takes an operation's rate from the estimate, else from the measurements, else the given one.
func operationRate(c Cell, m *Merged, op string, otherwise float64) float64 {
	if c.Est != nil {
		if rate := c.Est.Ops[op]["qps"]; rate > 0 {
			return rate
		}
	}
	if m != nil {
		if rates := m.opRates(op); len(rates) > 0 {
			return median(rates)
		}
	}
	return otherwise
}

// colorAbsolute splits the range of those that met the target into quarters: the top one is green, the bottom one red. Red
// wins over grey where both apply.
func colorAbsolute(column []InsertCell, missed []bool) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, c := range column {
		if c.Rate > 0 && !missed[i] {
			lo, hi = min(lo, c.Rate), max(hi, c.Rate)
		}
	}
	for i := range column {
		c := &column[i]
		quarter := (hi - lo) / 4
		switch {
		case c.Rate <= 0:
		case lo < noRed*hi && c.Rate <= lo+quarter:
			c.Color = "red"
		case missed[i]:
			c.Color = "grey"
		case hi > lo && c.Rate >= hi-quarter:
			c.Color = "green"
		}
	}
}

// colorRelative divides by the first row and colours by rounded percent, as the published reports do. Where a step was measured in
// pairs, the ratio is the estimate from them, and what is not told from noise has no colour: two tables of one report
// must not disagree.
func colorRelative(column []InsertCell, estimates []*gate.Ratio) {
	base := column[0].Rate
	if base <= 0 {
		return
	}
	for i := range column {
		c, e := &column[i], estimates[i]
		c.Relative = c.Rate / base
		if e != nil && e.Point > 0 {
			c.Relative = e.Point
		}
		switch percent := math.Round(c.Relative * 100); {
		case i == 0 || c.Rate <= 0 || e != nil && !e.Changed:
		case percent < 95:
			c.RelColor = "yellow"
		case percent > 105:
			c.RelColor = "blue"
		}
	}
}
