package report

import (
	"encoding/csv"
	"io"
	"sort"
	"strconv"
	"strings"

	"pgpipeline/pipeline/gate"
)

var csvColumns = []struct{ name, doc string }{
	{"run", "id of the run"},
	{"experiment", "its name"},
	{"stage", "id of the run stage"},
	{"facet", "name of the facet, empty when there is only one"},
	{"step", "full name of the step, `*` for a group"},
	{"group", "the group; of a step the first that it belongs to"},
	{"variant", "the variant that the value is of"},
	{"base", "1 for the base, else empty"},
	{"operation", "for steps that have several: insert, query, ..."},
	{"metric", "qps and other absolute figures; those that begin with rel are ratios to the base"},
	{"unit", "of the value; empty for ratios and counts"},
	{"value", "the estimate"},
	{"lo", "lower end of its 95 % interval, empty when nothing bounds it"},
	{"hi", "upper end"},
	{"changed", "of ratios: 1 when the change is beyond noise"},
	{"pairs", "paired slices behind it"},
	{"boots", "boots of the server behind it"},
}

func csvHead() []string {
	names := make([]string, len(csvColumns))
	for i, c := range csvColumns {
		names[i] = c.name
	}
	return names
}

// writeCSV writes the long form: one line per step, variant and metric. qps is absolute; the metrics that begin with "rel" are ratios to
// the base with their 95 % interval; the unit of a ratio is empty. Group lines have "*" as their step.
func writeCSV(v *View, _ Input, w io.Writer) error {
	c := &csvReport{v: v, out: csv.NewWriter(w)}
	c.write(csvHead())
	for _, f := range v.Facets {
		for _, r := range f.Rows() {
			for _, cell := range r.Cells {
				c.step(f, r, cell)
			}
		}
		for _, g := range append(append([]Group{}, f.Groups...), f.Extra...) {
			c.group(f, g)
		}
	}
	c.out.Flush()
	return c.out.Error()
}

type csvReport struct {
	v   *View
	out *csv.Writer
}

// write keeps the first error in the csv.Writer. A cell that a spreadsheet would take for a formula gets a quote in front.
func (c *csvReport) write(fields []string) {
	for i, f := range fields {
		if f != "" && strings.ContainsRune("=+@\t\r", rune(f[0])) {
			fields[i] = "'" + f
		}
	}
	_ = c.out.Write(fields)
}

// csvLine is what differs between the lines of one step and variant.
type csvLine struct {
	operation, metric, unit string
	value                   float64
	lo, hi                  *float64
	changed                 string
	pairs, boots            int
}

func (c *csvReport) line(f Facet, step, group string, v Variant, l csvLine) {
	base := ""
	if v.Base {
		base = "1"
	}
	c.write([]string{c.v.Record.ID, clean(c.v.Name), f.Info.Stage, f.Info.Name, step, group, v.Name, base, l.operation, l.metric, l.unit,
		number(l.value), optional(l.lo), optional(l.hi), l.changed, strconv.Itoa(l.pairs), strconv.Itoa(l.boots)})
}

func (c *csvReport) step(f Facet, r Row, cell Cell) {
	e := cell.Est
	if e == nil {
		return
	}
	group := ""
	if len(r.Step.Groups) > 0 {
		group = r.Step.Groups[0]
	}
	say := func(l csvLine) { c.line(f, r.Name, group, cell.Variant, l) }
	if e.QPS.Point > 0 {
		say(csvLine{metric: "qps", unit: r.Step.Unit + "/s", value: e.QPS.Point, lo: e.QPS.Lo, hi: e.QPS.Hi, pairs: e.Pairs, boots: e.Boots})
	}
	for _, m := range sortedKeys(e.Rel) {
		say(ratioLine(m, e.Rel[m]))
	}
	for _, m := range sortedKeys(e.Abs) {
		say(csvLine{metric: m, unit: metricUnit(m), value: e.Abs[m], pairs: e.Pairs, boots: e.Boots})
	}
	for _, op := range sortedKeys(e.Ops) {
		for _, m := range sortedKeys(e.Ops[op]) {
			say(csvLine{operation: op, metric: m, unit: metricUnit(m), value: e.Ops[op][m], pairs: e.Pairs, boots: e.Boots})
		}
	}
}

func (c *csvReport) group(f Facet, g Group) {
	for _, cell := range g.Cells {
		if cell.Ratio != nil {
			c.line(f, "*", g.Name, cell.Variant, ratioLine("relqps", *cell.Ratio))
		}
	}
}

func ratioLine(metric string, r gate.Ratio) csvLine {
	changed := "0"
	if r.Changed {
		changed = "1"
	}
	return csvLine{metric: metric, value: r.Point, lo: r.Lo, hi: r.Hi, changed: changed, pairs: r.Pairs, boots: r.Boots}
}

// metricUnit is the unit of an absolute metric, by its name.
func metricUnit(metric string) string {
	switch {
	case metric == "maxrt" || metric == "max" || metric == "cpu_per_op" || metric == "client_cpu_per_op" || metric == "stall" || isPercentile(metric):
		return "s"
	case metric == "wal_per_op" || strings.HasSuffix(metric, "bytes_per_op"):
		return "B"
	case strings.HasPrefix(metric, "rate"):
		return "1/s"
	}
	return ""
}

func isPercentile(metric string) bool {
	digits, ok := strings.CutPrefix(metric, "p")
	if !ok {
		return false
	}
	_, err := strconv.Atoi(digits)
	return err == nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }

func optional(v *float64) string {
	if v == nil {
		return ""
	}
	return number(*v)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
