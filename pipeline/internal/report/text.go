package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"pgpipeline/pipeline/gate"
	"pgpipeline/pipeline/internal/redact"
)

var (
	styleBold  = lipgloss.NewStyle().Bold(true)
	styleDim   = lipgloss.NewStyle().Faint(true)
	styleGood  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	styleBad   = lipgloss.NewStyle().Foreground(lipgloss.Red)
	styleWarn  = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	stylePlain = lipgloss.NewStyle()
)

// textReport writes for a terminal: tables first, the verdict in the last line, where the eye is.
type textReport struct {
	v     *View
	out   *strings.Builder
	color bool
	width int
}

func writeText(v *View, in Input, w io.Writer) error {
	t := &textReport{v: v, out: &strings.Builder{}, color: in.Color, width: in.Width}
	t.head()
	for _, f := range v.Facets {
		t.facet(f)
	}
	t.assertions()
	t.stages()
	t.warnings()
	t.verdict()
	_, err := io.WriteString(w, t.out.String())
	return err
}

func (t *textReport) line(format string, args ...any) {
	fmt.Fprintf(t.out, format+"\n", args...)
}

func (t *textReport) paint(s lipgloss.Style, text string) string { return paint(t.color, s, text) }

func paint(color bool, s lipgloss.Style, text string) string {
	if !color || text == "" {
		return text
	}
	return s.Render(text)
}

// para writes text, broken between words where the terminal ends, each line indented.
func (t *textReport) para(indent string, s lipgloss.Style, text string) {
	for _, line := range wrap(text, t.width-len(indent)) {
		t.line("%s%s", indent, t.paint(s, line))
	}
}

// wrap breaks text at blanks, and nowhere else: a command that is broken at a hyphen cannot be copied. A width below 20 is no limit.
func wrap(text string, width int) []string {
	if width < 20 {
		width = math.MaxInt
	}
	var lines []string
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && ansi.StringWidth(lines[n-1])+1+ansi.StringWidth(word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// section begins a part with an empty line and a heading.
func (t *textReport) section(title string) { t.line("\n%s", t.paint(styleBold, title)) }

func (t *textReport) head() {
	rec := t.v.Record
	t.line("%s  %s", t.paint(styleBold, clean(t.v.Name)), t.paint(styleDim, clean(rec.ID)))
	if rec.Experiment.Doc != "" {
		t.para("", stylePlain, clean(rec.Experiment.Doc))
	}
	t.para("", styleDim, hostText(rec.Host))
}

func (t *textReport) facet(f Facet) {
	title := "relative QPS"
	if f.Heading != "" {
		title = clean(f.Heading) + ": " + title
	}
	t.section(title + " against " + clean(f.BaseName()))
	t.para("", styleDim, evidenceText(f)+"; ~ is no change beyond noise")
	if text := f.UnmeasuredText(); text != "" {
		t.para("", styleWarn, text)
	}
	if len(f.Groups) == 0 {
		return
	}
	t.relative(f)
	t.section("absolute rate per second")
	t.absolute(f)
	if tab := insertSummary(f); tab != nil {
		t.insert(tab)
	}
}

// relative prints the table of ratios, in as many parts as the width needs.
func (t *textReport) relative(f Facet) {
	cells := fullCells
	for t.width > 0 && cells < compactCells && relativeGrid(f, f.Candidates(), cells).width() > t.width {
		cells++
	}
	for _, part := range t.fitting(f, cells) {
		g := relativeGrid(f, part, cells)
		t.out.WriteString(g.render(t.color))
	}
}

// fitting splits the candidates so that each part's table is as wide as the terminal at most.
func (t *textReport) fitting(f Facet, cells cellStyle) [][]Variant {
	all := f.Candidates()
	if t.width <= 0 || len(all) == 0 {
		return [][]Variant{all}
	}
	var parts [][]Variant
	for len(all) > 0 {
		n := len(all)
		for n > 1 && relativeGrid(f, all[:n], cells).width() > t.width {
			n--
		}
		parts, all = append(parts, all[:n]), all[n:]
	}
	return parts
}

func relativeGrid(f Facet, candidates []Variant, cells cellStyle) *grid {
	g := &grid{gap: "   "}
	head := []cell{{text: "step", style: styleDim}, {text: clean(f.BaseName()) + " QPS", style: styleDim, right: true}}
	for _, v := range candidates {
		head = append(head, cells.heading(v)...)
	}
	g.add(head...)
	for _, group := range f.Groups {
		line := []cell{{text: clean(group.Name), style: styleBold}, {}}
		for _, v := range candidates {
			line = append(line, cells.ratio(group.Cells[v.Index], true)...)
		}
		g.add(line...)
		for _, r := range group.Rows {
			g.add(rowCells(r, candidates, cells)...)
		}
	}
	for _, group := range f.Extra {
		line := []cell{{text: clean(group.Name) + " (group)", style: styleBold}, {}}
		for _, v := range candidates {
			line = append(line, cells.ratio(group.Cells[v.Index], true)...)
		}
		g.add(line...)
	}
	return g
}

func rowCells(r Row, candidates []Variant, cells cellStyle) []cell {
	base := cell{text: "-", style: styleDim, right: true}
	if qps := r.Base().QPS.Point; qps > 0 {
		base = cell{text: rateText(qps), right: true}
	}
	line := []cell{{text: "  " + clean(r.Name)}, base}
	for _, v := range candidates {
		line = append(line, cells.ratio(r.Cells[v.Index], false)...)
	}
	return line
}

// cellStyle is how much a ratio's cell says: the less room, the less.
type cellStyle int

const (
	fullCells    cellStyle = iota // value, interval
	halfCells                     // value, the larger half of the interval
	compactCells                  // value
)

func (s cellStyle) heading(v Variant) []cell {
	name := cell{text: clean(v.Name), style: styleBold, right: true}
	switch s {
	case compactCells:
		return []cell{name}
	case halfCells:
		return []cell{name, {}}
	}
	return []cell{name, {text: "95 %", style: styleDim}}
}

func (s cellStyle) ratio(c Cell, group bool) []cell {
	var value, span cell
	style, mark := changeStyle(c.Change())
	switch {
	case c.Ratio != nil:
		value = cell{text: mark + ratioText(*c.Ratio), style: style, right: true}
		span = cell{text: s.span(*c.Ratio), style: styleDim}
	case !group || c.State != "":
		value = cell{text: "n/a", style: styleWarn, right: true}
		span = cell{text: clean(c.State), style: styleDim, max: 22}
	}
	if s == compactCells {
		return []cell{value}
	}
	return []cell{value, span}
}

func (s cellStyle) span(r gate.Ratio) string {
	if s == fullCells {
		return ratioInterval(r)
	}
	if r.Lo == nil || r.Hi == nil {
		return "±?"
	}
	half := max(r.Point-*r.Lo, *r.Hi-r.Point)
	if half >= 9.995 {
		return "±>9"
	}
	return fmt.Sprintf("±%.2f", half)
}

func changeStyle(c Change) (lipgloss.Style, string) {
	switch c {
	case Faster:
		return styleGood, ""
	case Slower:
		return styleBad, ""
	case Same:
		return styleDim, "~ "
	}
	return stylePlain, ""
}

// absolute prints the rates, in as many parts as the width needs. Where a column of units has no room, a line says them.
func (t *textReport) absolute(f Facet) {
	units := t.width <= 0 || absoluteGrid(f, f.Variants, true).width() <= t.width
	if !units {
		t.para("", styleDim, unitsText(f))
	}
	for rest := f.Variants; len(rest) > 0; {
		n := len(rest)
		for n > 1 && t.width > 0 && absoluteGrid(f, rest[:n], units).width() > t.width {
			n--
		}
		t.out.WriteString(absoluteGrid(f, rest[:n], units).render(t.color))
		rest = rest[n:]
	}
}

func absoluteGrid(f Facet, variants []Variant, units bool) *grid {
	g := &grid{gap: "   "}
	line := []cell{{text: "step", style: styleDim}}
	for _, v := range variants {
		line = append(line, cell{text: clean(v.Name), style: styleBold, right: true})
	}
	if units {
		line = append(line, cell{text: "unit", style: styleDim})
	}
	g.add(line...)
	for _, r := range f.Rows() {
		line := []cell{{text: "  " + clean(r.Name)}}
		for _, v := range variants {
			text := "-"
			if c := r.Cells[v.Index]; c.QPS.Point > 0 {
				text = rateText(c.QPS.Point)
			}
			line = append(line, cell{text: text, right: true})
		}
		if units {
			line = append(line, cell{text: clean(r.Step.Unit), style: styleDim})
		}
		g.add(line...)
	}
	return g
}

// unitsText says what is counted: the unit of most steps, then those that count something else.
func unitsText(f Facet) string {
	steps := map[string][]string{}
	most := ""
	for _, r := range f.Rows() {
		unit := clean(r.Step.Unit)
		if steps[unit] = append(steps[unit], clean(r.Name)); len(steps[unit]) > len(steps[most]) {
			most = unit
		}
	}
	text := most
	for _, unit := range sortedKeys(steps) {
		if unit != most {
			text += "; " + strings.Join(steps[unit], ", ") + ": " + unit
		}
	}
	return text
}

func (t *textReport) assertions() {
	if len(t.v.Assertions) == 0 {
		return
	}
	t.section("assertions")
	for _, a := range t.v.Assertions {
		t.assertion(a)
	}
}

func (t *textReport) assertion(a Assertion) {
	style := wordStyle(a.Word)
	tags := ""
	if marks := a.Marks(); marks != "" {
		tags = t.paint(styleDim, " ("+marks+")")
	}
	t.line("  %s %s  %s%s", t.paint(style, fmt.Sprintf("%-8s", a.Word)), clean(a.Expr), t.paint(styleBold, clean(a.Where)), tags)
	const indent = "           "
	values := clean(a.Values())
	if a.Published != "" {
		values += "; published " + clean(a.Published)
	}
	t.para(indent, stylePlain, values)
	if a.NaiveDiffers() {
		t.para(indent, styleDim, "without statistics: "+a.NaiveText())
	}
	t.para(indent, styleWarn, a.Excuse())
	if a.Outcome == gate.Pass {
		return
	}
	t.para(indent, stylePlain, a.Why())
	t.para(indent, styleWarn, clean(a.Hint))
	if loc := a.Location(); loc != "" && a.Source != "" {
		t.line("           %s:%d", clean(loc), a.Column)
		source, at := window(clean(a.Source), max(a.Column-1, 0), t.width-14)
		t.line("            | %s", source)
		t.line("            | %s^", strings.Repeat(" ", at))
	} else if loc != "" {
		t.line("           %s", clean(loc))
	}
}

// window cuts a line to the width around a place in it, and says where that then is. A width below 20 is no limit.
func window(line string, at, width int) (string, int) {
	signs := []rune(line)
	at = min(at, len(signs))
	if width < 20 || len(signs) <= width {
		return line, at
	}
	from := max(0, min(at-width/3, len(signs)-width))
	cut := signs[from : from+width]
	if from > 0 {
		cut[0] = '…'
	}
	if from+width < len(signs) {
		cut[width-1] = '…'
	}
	return string(cut), at - from
}

func wordStyle(word string) lipgloss.Style {
	switch word {
	case "PASS":
		return styleGood
	case "FAIL", "INVALID":
		return styleBad.Bold(true)
	}
	return styleWarn
}

func (t *textReport) stages() {
	t.section("stages")
	for _, s := range t.v.Stages {
		t.line("  %-8s %s", clean(s.Kind), s.Text())
		for _, n := range s.Nodes {
			if n.Status == "failed" {
				t.line("           %s", t.paint(styleBad, clean(n.ID+": "+n.Error)))
			}
		}
	}
}

func (t *textReport) warnings() {
	if len(t.v.Warnings) == 0 {
		return
	}
	t.section("warnings")
	for _, w := range t.v.Warnings {
		t.para("  ", stylePlain, "! "+clean(w))
	}
}

func (t *textReport) verdict() {
	t.line("")
	for _, a := range t.v.Verdict.Accepted {
		t.para("", stylePlain, fmt.Sprintf("accept.yaml: %s on %s, up to %s, until %s, by %s: %s", clean(a.Metric), clean(a.Step), percentText(a.Size), clean(a.Until), clean(a.By), clean(a.Reason)))
		t.para("  ", acceptStyle(a.State), a.State+": "+clean(a.Message))
	}
	for _, e := range t.v.Verdict.Earlier {
		t.line("earlier series %s: %s after %s", clean(e.Series), e.Outcome, count(e.Blocks, "block"))
	}
	if n := t.v.Verdict.Noise.Text; n != "" {
		t.para("", styleDim, clean(n))
	}
	if t.v.Record.Status != "done" && t.v.Record.Status != "" {
		t.line("%s", strings.TrimSpace(statusText(t.v.Record.Status)+" "+clean(t.v.Record.Error)))
	}
	outcome := t.v.Word()
	t.line("%s  %s", t.paint(wordStyle(outcome).Bold(true), outcome), clean(t.v.Headline))
}

// acceptStyle warns of entries that no longer excuse anything.
func acceptStyle(state string) lipgloss.Style {
	switch state {
	case "applied":
		return styleWarn
	case "unused":
		return styleDim
	}
	return styleBad
}

// cleanLines is clean for text of several lines.
func cleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = clean(l)
	}
	return strings.Join(lines, "\n")
}

// clean makes outside text safe for a terminal: redacted, one line, no control characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return -1
		}
		return r
	}, redact.Text(s))
}
