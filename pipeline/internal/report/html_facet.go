package report

import (
	"fmt"
	"html/template"
	"regexp"
	"sort"
	"strings"

	"pgpipeline/pipeline/engine"
)

// htmlFacet is a facet's part of the page.
type htmlFacet struct {
	Heading, Base, Evidence, BlockTitle string
	Unmeasured                          string
	Cards                               []htmlCard
	Legend, AllLegend                   []htmlVariant
	Variants, Candidates                []htmlVariant
	Groups                              []htmlGroup
	Absolute                            []htmlAbsolute
	Insert                              *htmlInsert
	Tails                               []htmlTail
	BaseHead                            template.HTML
	NamedOps                            bool
	Steps                               []htmlStep
	Hardware                            []htmlHardware
	Differ                              []FactRow
	Common                              []htmlFact
	Drift                               template.HTML
	DriftText                           string
	Blocks                              []htmlBlock
}

type htmlVariant struct {
	Name, Class string
	Head        template.HTML // the name with places where it may be broken
	Base        bool
}

// htmlCard says in a glance how a candidate compares.
type htmlCard struct {
	Variant, Class, Noise, More, Note      string
	Slower, Faster, Same, Unknown          int
	SlowerShare, FasterShare, UnknownShare float64 // percent
	Moves                                  []htmlCell
}

type htmlCell struct {
	Step, Class, Change, Ratio, Interval, Floor string
}

type htmlGroup struct {
	Name  string
	Chart template.HTML
	Rows  []htmlRow
}

type htmlRow struct {
	Name, Anchor, Base string
	Group              bool
	Cells              []htmlCell
}

type htmlAbsolute struct {
	Name, Unit string
	Clients    int
	Cells      []struct{ Text, Interval string }
}

type htmlTail struct {
	Step, Op string
	Cells    []string
}

type htmlHardware struct {
	Title, Short string
	Rows         []htmlHardwareRow
}

type htmlHardwareRow struct {
	Step  string
	Cells []struct {
		Absolute, Relative string
		Base               bool
	}
}

type htmlBlock struct {
	Number                         int
	Run, Began, Took, Order, State string
}

func buildHTMLFacet(f Facet, v *View) htmlFacet {
	merged := merge(f)
	lines := drift(f, merged)
	h := htmlFacet{Heading: clean(f.Heading), Base: clean(f.BaseName()), BaseHead: breakable(f.BaseName()), Evidence: evidenceText(f), Unmeasured: f.UnmeasuredText(), Drift: driftChart(lines), DriftText: driftText(lines)}
	for _, x := range f.Variants {
		hv := htmlVariant{Name: clean(x.Name), Head: breakable(x.Name), Class: variantClass(x), Base: x.Base}
		h.Variants, h.AllLegend = append(h.Variants, hv), append(h.AllLegend, hv)
		if !x.Base {
			h.Candidates, h.Legend = append(h.Candidates, hv), append(h.Legend, hv)
		}
	}
	for _, s := range f.Summary {
		h.Cards = append(h.Cards, buildCard(s))
	}
	for _, g := range f.Groups {
		h.Groups = append(h.Groups, buildHTMLGroup(f, g))
	}
	if len(f.Extra) > 0 {
		h.Groups = append(h.Groups, extraHTMLGroup(f))
	}
	h.addAbsolute(f)
	h.Insert = buildHTMLInsert(insertSummary(f))
	h.addSteps(f, merged)
	h.addHardware(hardware(f, merged))
	h.addFacts(f)
	h.addBlocks(f, v)
	return h
}

// breakable lets a long name be broken in a table's head, at the signs that part its words.
func breakable(name string) template.HTML {
	const short = 14
	name = template.HTMLEscapeString(clean(name))
	if len(name) <= short {
		return template.HTML(name)
	}
	return template.HTML(wordSigns.ReplaceAllString(name, "${0}<wbr>"))
}

var wordSigns = regexp.MustCompile(`[._/,=-]`)

const cardMoves = 8

func buildCard(s Summary) htmlCard {
	total := float64(max(1, s.Slower+s.Faster+s.Same+s.Unknown))
	c := htmlCard{Variant: clean(s.Variant.Name), Class: variantClass(s.Variant), Slower: s.Slower, Faster: s.Faster, Same: s.Same, Unknown: s.Unknown,
		SlowerShare: float64(s.Slower) / total * 100, FasterShare: float64(s.Faster) / total * 100, UnknownShare: float64(s.Unknown) / total * 100}
	if s.Variant.Info.Sentinel {
		c.Note = "A second copy of the base: what no change looks like here."
	}
	c.Noise = strings.ReplaceAll(s.noiseText(), " %", "\u00a0%")
	for _, m := range pickMoves(s.Changed, cardMoves) {
		c.Moves = append(c.Moves, buildCell(m.Step, m.Cell))
	}
	if rest := len(s.Changed) - len(c.Moves); rest > 0 {
		c.More = fmt.Sprintf("and %d more that moved", rest)
	}
	return c
}

// pickMoves takes the worst first and keeps room for the best.
func pickMoves(sorted []Changed, n int) []Changed {
	if len(sorted) <= n {
		return sorted
	}
	slower := sort.Search(len(sorted), func(i int) bool { return sorted[i].Cell.Ratio.Point >= 1 })
	worst := min(slower, n-min(n/3, len(sorted)-slower))
	best := n - worst
	return append(append([]Changed{}, sorted[:worst]...), sorted[len(sorted)-best:]...)
}

func buildCell(step string, c Cell) htmlCell {
	h := htmlCell{Step: clean(step), Class: variantClass(c.Variant), Change: string(c.Change())}
	switch {
	case c.Ratio == nil:
		h.Ratio, h.Interval = "n/a", clean(c.State)
	default:
		h.Ratio, h.Interval = ratioText(*c.Ratio), ratioInterval(*c.Ratio)
		if c.Change() == Same {
			h.Ratio = "~ " + h.Ratio
		}
		switch {
		case c.Ratio.Floor >= blindFloor:
			h.Floor = "?"
		case c.Ratio.Floor > 0:
			h.Floor = "±" + percentText(c.Ratio.Floor)
		}
	}
	return h
}

func buildHTMLGroup(f Facet, g Group) htmlGroup {
	h := htmlGroup{Name: clean(g.Name), Chart: relativeChart(f, g)}
	if mean := groupRow(f, g, "geometric mean"); mean != nil {
		h.Rows = append(h.Rows, *mean)
	}
	for _, r := range g.Rows {
		row := htmlRow{Name: clean(r.Name), Anchor: stepAnchor(f, r.Name), Base: nonZero(r.Base().QPS.Point, rateText)}
		for _, v := range f.Candidates() {
			row.Cells = append(row.Cells, buildCell(r.Name, r.Cells[v.Index]))
		}
		h.Rows = append(h.Rows, row)
	}
	return h
}

// groupRow is nil when nothing is known of the group as a whole.
func groupRow(f Facet, g Group, name string) *htmlRow {
	row := &htmlRow{Name: name, Group: true}
	known := false
	for _, v := range f.Candidates() {
		c := g.Cells[v.Index]
		known = known || c.Ratio != nil || c.State != ""
		row.Cells = append(row.Cells, buildCell("", c))
	}
	if !known {
		return nil
	}
	return row
}

func extraHTMLGroup(f Facet) htmlGroup {
	h := htmlGroup{Name: "groups of this experiment, geometric means"}
	for _, g := range f.Extra {
		if row := groupRow(f, g, clean(g.Name)); row != nil {
			h.Rows = append(h.Rows, *row)
		}
	}
	return h
}

func (h *htmlFacet) addAbsolute(f Facet) {
	for _, r := range f.Rows() {
		a := htmlAbsolute{Name: clean(r.Name), Unit: clean(r.Step.Unit), Clients: r.Step.Clients}
		for _, c := range r.Cells {
			a.Cells = append(a.Cells, struct{ Text, Interval string }{nonZero(c.QPS.Point, rateText), interval(c.QPS.Lo, c.QPS.Hi, rateText)})
		}
		h.Absolute = append(h.Absolute, a)
	}
}

func (h *htmlFacet) addHardware(tables []HardwareTable) {
	for _, t := range tables {
		out := htmlHardware{Title: t.Metric.Title, Short: t.Metric.Short}
		for _, r := range t.Rows {
			row := htmlHardwareRow{Step: clean(r.Step)}
			for _, c := range r.Cells {
				row.Cells = append(row.Cells, struct {
					Absolute, Relative string
					Base               bool
				}{c.Absolute, c.Relative, c.Variant.Base})
			}
			out.Rows = append(out.Rows, row)
		}
		h.Hardware = append(h.Hardware, out)
	}
}

func (h *htmlFacet) addFacts(f Facet) {
	differ, common := diffFacts(f)
	h.Differ = differ
	for _, c := range common {
		text := ""
		if len(c.Values) > 0 {
			text = c.Values[0].Text
		}
		h.Common = append(h.Common, htmlFact{Kind: c.Kind, Name: c.Name, Text: text})
	}
}

func (h *htmlFacet) addBlocks(f Facet, v *View) {
	h.BlockTitle = count(len(f.Blocks), "block")
	for _, b := range f.Blocks {
		row := htmlBlock{Number: b.Number, Run: clean(b.Run), Began: stamp(b.Started), Order: clean(firstOrder(b)), State: "counted"}
		if b.Run == v.Record.ID {
			row.Run = "this run"
		}
		if b.Ended.After(b.Started) {
			row.Took = durationText(b.Ended.Sub(b.Started).Seconds())
		}
		if !b.Complete {
			row.State = "not counted: " + clean(b.Error)
		}
		h.Blocks = append(h.Blocks, row)
	}
}

// firstOrder is the order of the variants in the first pair of the block's first step.
func firstOrder(b engine.BlockRecord) string {
	if len(b.Measurements) == 0 {
		return ""
	}
	type place struct {
		order int
		name  string
	}
	var places []place
	for _, m := range b.Measurements {
		if m.Step == b.Measurements[0].Step && len(m.Samples) > 0 {
			places = append(places, place{m.Samples[0].Order, m.Variant})
		}
	}
	sort.SliceStable(places, func(i, j int) bool { return places[i].order < places[j].order })
	names := make([]string, len(places))
	for i, p := range places {
		names[i] = p.name
	}
	return strings.Join(names, ", ")
}

// stepAnchor is the id of a step's section. Ids may hold anything but spaces.
func stepAnchor(f Facet, step string) string {
	text := "step-" + f.Info.Stage + "-" + f.Info.Name + "-" + step
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, text)
}
