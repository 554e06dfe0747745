package report

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
)

// View is a record and its verdict, ordered for reading.
type View struct {
	Record  *engine.Record
	Verdict gate.Verdict

	Name     string
	Headline string // the verdict in one sentence
	Facets   []Facet
	// Assertions in the order of the file; Worst first is for who has little room.
	Assertions []Assertion
	Stages     []Stage
	Warnings   []string
	Naive      Naive
}

// Facet is a set of variants that are compared, with their steps by group.
type Facet struct {
	Info     engine.Facet
	Heading  string // "" when there is only one facet
	Variants []Variant
	Groups   []Group
	// Extra are the user's groups: without rows of their own here, as they overlap with others.
	Extra   []Group
	Summary []Summary
	Blocks  []engine.BlockRecord // the evidence, in the order of time
	// Unmeasured are the steps of which no variant has anything: skipped ones, and those that an early end left out.
	Unmeasured []string
}

// Variant is a compared cell. Index counts from 0, the base, and picks the colour.
type Variant struct {
	Name  string
	Base  bool
	Index int
	Info  engine.VariantInfo
}

// Group is steps that are read together. Cells hold the geometric means, one per variant.
type Group struct {
	Name  string
	Rows  []Row
	Cells []Cell
}

// Row is one step, with a cell per variant.
type Row struct {
	Name  string
	Step  engine.StepInfo
	Cells []Cell
}

// Base is the row's cell of the base variant, an empty one when there is none.
func (r Row) Base() Cell {
	for _, c := range r.Cells {
		if c.Variant.Base {
			return c
		}
	}
	return Cell{}
}

// empty reports whether no variant has anything, not even a reason.
func (r Row) empty() bool {
	for _, c := range r.Cells {
		if c.QPS.Point > 0 || c.State != "" && c.State != notMeasured && c.State != "missing" {
			return false
		}
	}
	return true
}

const notMeasured = "not measured"

// Cell is one step (or group) on one variant.
type Cell struct {
	Variant Variant
	QPS     gate.Level
	Ratio   *gate.Ratio // nil for the base and where nothing can be said
	State   string      // why there is no figure
	Est     *gate.StepEstimate
}

// Change is how a cell reads.
type Change string

const (
	Faster  Change = "faster"
	Slower  Change = "slower"
	Same    Change = "same" // nothing beyond noise
	Unknown Change = "unknown"
	Base    Change = "base"
)

// Change says how the cell compares with the base.
func (c Cell) Change() Change {
	switch {
	case c.Variant.Base:
		return Base
	case c.Ratio == nil || !(c.Ratio.Point > 0):
		return Unknown
	case !c.Ratio.Changed:
		return Same
	case c.Ratio.Point < 1:
		return Slower
	}
	return Faster
}

// Summary counts how a candidate's steps compare with the base.
type Summary struct {
	Variant                       Variant
	Faster, Slower, Same, Unknown int
	Changed                       []Changed // worst first
	Floor                         float64   // median noise floor of its steps, as a fraction
}

// Changed is a step that moved beyond noise.
type Changed struct {
	Step string
	Cell Cell
}

// Build makes the view.
func Build(rec *engine.Record, verdict gate.Verdict) *View {
	v := &View{Record: rec, Verdict: verdict, Name: rec.Experiment.Name}
	if v.Name == "" {
		v.Name = rec.ID
	}
	estimates := indexSteps(verdict.Steps)
	for _, f := range rec.Facets {
		v.Facets = append(v.Facets, buildFacet(f, rec, verdict, estimates))
	}
	v.Assertions = buildAssertions(rec, verdict)
	v.Stages = buildStages(rec)
	v.Naive = naive(v.Assertions)
	v.Warnings = buildWarnings(rec, verdict)
	v.Headline = headline(v)
	return v
}

type cellKey struct{ facet, stage, step, variant string }

func indexSteps(steps []gate.StepEstimate) map[cellKey]*gate.StepEstimate {
	m := make(map[cellKey]*gate.StepEstimate, len(steps))
	for i := range steps {
		s := &steps[i]
		m[cellKey{s.Facet, s.Stage, s.Step, s.Variant}] = s
	}
	return m
}

func buildFacet(info engine.Facet, rec *engine.Record, verdict gate.Verdict, est map[cellKey]*gate.StepEstimate) Facet {
	f := Facet{Info: info, Heading: facetHeading(info, len(rec.Facets))}
	for i, v := range info.Variants {
		f.Variants = append(f.Variants, Variant{Name: v.Name, Base: v.Base, Index: i, Info: v})
	}
	shown := f.addRows(est, verdict.Groups)
	f.Extra = f.extraGroups(rec.Experiment.Groups, verdict.Groups, shown)
	if len(f.Groups) == 1 && f.Groups[0].Name == noGroup {
		f.Groups[0].Name = "all steps"
	}
	f.Summary = f.summaries()
	for _, b := range rec.Blocks {
		if b.Facet == info.Name && b.Stage == info.Stage && b.Series == info.Series {
			f.Blocks = append(f.Blocks, b)
		}
	}
	sort.SliceStable(f.Blocks, func(i, j int) bool { return f.Blocks[i].Started.Before(f.Blocks[j].Started) })
	return f
}

func facetHeading(f engine.Facet, total int) string {
	switch {
	case total < 2:
		return ""
	case f.Name == "":
		return f.Stage
	case f.Stage == "" || f.Stage == "run":
		return f.Name
	}
	return f.Stage + ", " + f.Name
}

func (f Facet) row(step engine.StepInfo, est map[cellKey]*gate.StepEstimate) Row {
	r := Row{Name: step.Name, Step: step}
	for _, v := range f.Variants {
		c := Cell{Variant: v, State: notMeasured}
		if e := est[cellKey{f.Info.Name, f.Info.Stage, step.Name, v.Name}]; e != nil {
			c.Est, c.QPS, c.State = e, e.QPS, e.State
			if r, ok := e.Rel["relqps"]; ok && !v.Base && e.State == "" {
				c.Ratio = &r
			}
		}
		r.Cells = append(r.Cells, c)
	}
	return r
}

func (f Facet) groupCells(name string, groups []gate.GroupEstimate) []Cell {
	cells := make([]Cell, len(f.Variants))
	for i, v := range f.Variants {
		cells[i] = Cell{Variant: v}
		for _, g := range groups {
			if g.Facet == f.Info.Name && g.Stage == f.Info.Stage && g.Group == name && g.Variant == v.Name && !v.Base {
				cells[i].State = g.State
				if g.Ratio.Point > 0 {
					ratio := g.Ratio
					cells[i].Ratio = &ratio
				}
			}
		}
	}
	return cells
}

// addRows puts each step into one group and returns the names of the groups.
func (f *Facet) addRows(est map[cellKey]*gate.StepEstimate, groups []gate.GroupEstimate) map[string]int {
	home := partition(f.Info.Steps)
	index := map[string]int{}
	for _, step := range f.Info.Steps {
		row := f.row(step, est)
		if row.empty() {
			f.Unmeasured = append(f.Unmeasured, step.Name)
			continue
		}
		name := home[step.Name]
		i, ok := index[name]
		if !ok {
			i = len(f.Groups)
			index[name] = i
			f.Groups = append(f.Groups, Group{Name: name, Cells: f.groupCells(name, groups)})
		}
		f.Groups[i].Rows = append(f.Groups[i].Rows, row)
	}
	return index
}

const noGroup = "other steps"

// partition gives each step one of its groups. Steps belong to groups of several generations of reports; the largest group that still
// has unplaced steps is taken first, which finds the generation that a list of steps was made for. The groups of the older
// generation are numbered (point-1, range-2): where both fit, the newer one is taken.
func partition(steps []engine.StepInfo) map[string]string {
	home := map[string]string{}
	for len(home) < len(steps) {
		size := map[string]int{}
		best := noGroup
		for _, s := range steps {
			if home[s.Name] != "" {
				continue
			}
			for _, g := range s.Groups {
				size[g]++
				if size[g] > size[best] || size[g] == size[best] && numbered(best) && !numbered(g) {
					best = g
				}
			}
		}
		for _, s := range steps {
			if home[s.Name] == "" && (best == noGroup || slices.Contains(s.Groups, best)) {
				home[s.Name] = best
			}
		}
	}
	return home
}

func numbered(group string) bool {
	return group != "" && group[len(group)-1] >= '0' && group[len(group)-1] <= '9'
}

// extraGroups are the user's own groups.
func (f Facet) extraGroups(own map[string][]string, groups []gate.GroupEstimate, shown map[string]int) []Group {
	var list []Group
	for _, name := range sortedKeys(own) {
		if _, ok := shown[name]; ok {
			continue
		}
		g := Group{Name: name, Cells: f.groupCells(name, groups)}
		if slices.ContainsFunc(g.Cells, func(c Cell) bool { return c.Ratio != nil || c.State != "" }) {
			list = append(list, g)
		}
	}
	return list
}

// Rows lists the facet's rows over all groups.
func (f Facet) Rows() []Row {
	var rows []Row
	for _, g := range f.Groups {
		rows = append(rows, g.Rows...)
	}
	return rows
}

// UnmeasuredText names the steps without anything, "" when there are none.
func (f Facet) UnmeasuredText() string {
	const named = 6
	n := len(f.Unmeasured)
	switch {
	case n == 0:
		return ""
	case n == len(f.Info.Steps):
		return "Nothing was measured."
	}
	text := "Not measured: " + strings.Join(f.Unmeasured[:min(n, named)], ", ")
	if n > named {
		text += fmt.Sprintf(" and %d more", n-named)
	}
	return clean(text) + "."
}

// Candidates lists the variants other than the base.
func (f Facet) Candidates() []Variant {
	var list []Variant
	for _, v := range f.Variants {
		if !v.Base {
			list = append(list, v)
		}
	}
	return list
}

// BaseName is the name of the variant that all relative figures are against.
func (f Facet) BaseName() string {
	for _, v := range f.Variants {
		if v.Base {
			return v.Name
		}
	}
	return ""
}

func (f Facet) summaries() []Summary {
	var list []Summary
	for _, v := range f.Candidates() {
		s := Summary{Variant: v}
		var floors []float64
		for _, r := range f.Rows() {
			c := r.Cells[v.Index]
			s.count(r.Name, c)
			if c.Ratio != nil && c.Ratio.Floor > 0 {
				floors = append(floors, c.Ratio.Floor)
			}
		}
		s.Floor = median(floors)
		sort.SliceStable(s.Changed, func(i, j int) bool { return s.Changed[i].Cell.Ratio.Point < s.Changed[j].Cell.Ratio.Point })
		list = append(list, s)
	}
	return list
}

func (s *Summary) count(step string, c Cell) {
	switch c.Change() {
	case Faster:
		s.Faster++
	case Slower:
		s.Slower++
	case Same:
		s.Same++
		return
	default:
		s.Unknown++
		return
	}
	s.Changed = append(s.Changed, Changed{Step: step, Cell: c})
}

// CompleteBlocks counts the blocks that the verdict rests on.
func (f Facet) CompleteBlocks() int {
	n := 0
	for _, b := range f.Blocks {
		if b.Complete {
			n++
		}
	}
	return n
}

// BlockMinutes is what a block takes on average, 0 when there is none.
func (f Facet) BlockMinutes() float64 {
	var sum time.Duration
	n := 0
	for _, b := range f.Blocks {
		if b.Complete && b.Ended.After(b.Started) {
			sum += b.Ended.Sub(b.Started)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum.Minutes() / float64(n)
}
