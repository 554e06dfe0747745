package report

import (
	"fmt"
	"io"
	"strings"
)

// markdownLimit is below what GitHub and GitLab take as a comment (65,536 characters), with room for who adds a line.
const markdownLimit = 60_000

// writeMarkdown writes a comment for a merge request: the verdict, what moved beyond noise, and the rest folded. Folded parts that do
// not fit are left out, the last first, and the comment says so.
func writeMarkdown(v *View, _ Input, w io.Writer) error {
	must := mdHead(v) + mdAssertions(v) + mdAccepted(v) + mdMoved(v)
	parts := []string{must}
	left := markdownLimit - len(must) - 200
	if left < 0 {
		parts[0] = cutLines(must, markdownLimit-200)
	}
	dropped := 0
	for _, fold := range mdFolds(v) {
		text := mdFold(fold)
		if len(text) > left {
			dropped++
			continue
		}
		left -= len(text)
		parts = append(parts, text)
	}
	if dropped > 0 || left < 0 {
		parts = append(parts, "\n_Shortened to fit into a comment; the HTML report has all of it._\n")
	}
	_, err := io.WriteString(w, strings.Join(parts, ""))
	return err
}

// cutLines keeps whole lines of s up to size bytes.
func cutLines(s string, size int) string {
	if len(s) <= size {
		return s
	}
	return s[:strings.LastIndexByte(s[:size], '\n')+1]
}

var verdictSigns = map[string]string{"PASS": "✅", "FAIL": "❌", "INCONCLUSIVE": "❔", "INVALID": "⚠️", "MEASURED": "📏", "DONE": "✅"}

func mdHead(v *View) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s %s: %s\n\n", verdictSigns[v.Word()], v.Word(), md(v.Headline))
	fmt.Fprintf(&b, "**%s**", md(v.Name))
	if doc := v.Record.Experiment.Doc; doc != "" {
		fmt.Fprintf(&b, ": %s", md(doc))
	}
	b.WriteString("\n")
	for _, f := range v.Facets {
		heading := ""
		if f.Heading != "" {
			heading = md(f.Heading) + ": "
		}
		fmt.Fprintf(&b, "\n%s%s against %s; %s\n", heading, mdNames(f.Candidates()), md(f.BaseName()), md(evidenceText(f)))
		if text := f.UnmeasuredText(); text != "" {
			b.WriteString("\n" + md(text) + "\n")
		}
	}
	return b.String()
}

func mdNames(list []Variant) string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = md(v.Name)
	}
	return strings.Join(names, ", ")
}

// mdAssertions lists what did not pass; what passed is folded below.
func mdAssertions(v *View) string {
	var rows [][]string
	for _, a := range v.Assertions {
		if a.Word != "PASS" {
			rows = append(rows, mdAssertion(a))
		}
	}
	if len(rows) == 0 {
		return ""
	}
	return "\n" + mdTable([]string{"", "assertion", "variant", "measured", "where"}, "llll", rows)
}

func mdAssertion(a Assertion) []string {
	measured := md(a.Values())
	if a.Published != "" {
		measured += "; published " + md(a.Published)
	}
	if text := a.Excuse(); text != "" {
		measured += "<br>" + md(text)
	}
	if why := a.Why(); why != "" {
		measured += "<br>" + md(why)
	}
	if a.Hint != "" { // ours, but for the file's name; its backticks are meant
		measured += "<br>" + strings.ReplaceAll(clean(a.Hint), "|", `\|`)
	}
	word := a.Word
	if marks := a.Marks(); marks != "" {
		word += "<br>" + md(marks)
	}
	return []string{word, mdCode(a.Expr), md(a.Where), measured, md(a.Location())}
}

// mdAccepted lists the entries of the accept file and the verdicts of earlier series: neither is ever folded away.
func mdAccepted(v *View) string {
	text := ""
	if len(v.Verdict.Accepted) > 0 {
		var rows [][]string
		for _, a := range v.Verdict.Accepted {
			rows = append(rows, []string{md(a.State), md(a.Step), md(a.Metric), percentText(a.Size), md(a.Reason), md(a.By), md(a.Until), md(a.Message)})
		}
		text += "\n" + mdTable([]string{"accepted", "step", "metric", "size", "reason", "by", "until", "effect"}, "lllrllll", rows)
	}
	for _, e := range v.Verdict.Earlier {
		text += fmt.Sprintf("\nAn earlier series of the same evidence (%s) was %s after %s.\n", md(e.Series), md(e.Outcome), count(e.Blocks, "block"))
	}
	return text
}

// mdMoved lists what changed beyond noise, worst first.
func mdMoved(v *View) string {
	var b strings.Builder
	for _, f := range v.Facets {
		for _, s := range f.Summary {
			b.WriteString(mdSummary(f, s))
		}
	}
	return b.String()
}

func mdSummary(f Facet, s Summary) string {
	where := md(s.Variant.Name)
	if f.Heading != "" {
		where = md(f.Heading) + ", " + where
	}
	text := fmt.Sprintf("\n### %s: %s\n", where, summaryText(s))
	if len(s.Changed) == 0 {
		return text
	}
	var rows [][]string
	for _, c := range s.Changed {
		rows = append(rows, []string{md(c.Step), mdChange(c.Cell), md(ratioInterval(*c.Cell.Ratio)), rateText(c.Cell.QPS.Point)})
	}
	return text + "\n" + mdTable([]string{"step", "relative QPS", "95 %", "QPS"}, "lrlr", rows)
}

// summaryText counts: "2 slower, 3 faster, 37 within noise of ±1.3 %".
func summaryText(s Summary) string {
	text := fmt.Sprintf("%d slower, %d faster, %d %s", s.Slower, s.Faster, s.Same, s.noiseText())
	if s.Unknown > 0 {
		text += fmt.Sprintf(", %d without a figure", s.Unknown)
	}
	return text
}

// blindFloor is a noise floor from which on nobody would speak of noise: there are too few blocks to know it.
const blindFloor = 0.5

// noiseText says of the steps that did not move how small a change would have been seen.
func (s Summary) noiseText() string {
	switch {
	case s.Floor >= blindFloor:
		return "not told from noise: too few blocks"
	case s.Floor > 0:
		return "within noise of ±" + percentText(s.Floor)
	}
	return "within noise"
}

// mdChange marks what moved. A group of which nothing is known as a whole says nothing.
func mdChange(c Cell) string {
	if c.Ratio == nil && c.Est == nil && c.State == "" {
		return ""
	}
	if c.Ratio == nil {
		return "n/a"
	}
	switch c.Change() {
	case Slower:
		return "🔻 **" + ratioText(*c.Ratio) + "**"
	case Faster:
		return "🔺 " + ratioText(*c.Ratio)
	}
	return "~ " + ratioText(*c.Ratio)
}

type mdPart struct{ title, body string }

func mdFold(p mdPart) string {
	return "\n<details><summary>" + p.title + "</summary>\n\n" + p.body + "\n</details>\n"
}

// mdFolds are the parts that are folded, most wanted first.
func mdFolds(v *View) []mdPart {
	var parts []mdPart
	var passed [][]string
	for _, a := range v.Assertions {
		if a.Word == "PASS" {
			passed = append(passed, mdAssertion(a))
		}
	}
	if len(passed) > 0 {
		parts = append(parts, mdPart{count(len(passed), "assertion") + " passed", mdTable([]string{"", "assertion", "variant", "measured", "where"}, "llll", passed)})
	}
	if len(v.Warnings) > 0 {
		body := ""
		for _, w := range v.Warnings {
			body += "* " + md(w) + "\n"
		}
		parts = append(parts, mdPart{count(len(v.Warnings), "warning"), body})
	}
	for _, f := range v.Facets {
		title := ""
		if f.Heading != "" {
			title = md(f.Heading) + ": "
		}
		if s := insertSummary(f); s != nil {
			parts = append(parts, mdPart{title + "insert benchmark", mdInsert(s)})
		}
		parts = append(parts, mdPart{title + "relative QPS of all steps", mdRelative(f)}, mdPart{title + "absolute rates", mdAbsolute(f)})
	}
	return append(parts, mdPart{"how it was made", mdMade(v)})
}

func mdRelative(f Facet) string {
	head, align := []string{"step", md(f.BaseName()) + " QPS"}, "lr"
	for _, v := range f.Candidates() {
		head, align = append(head, md(v.Name), "95 %"), align+"rl"
	}
	var rows [][]string
	add := func(name, base string, cells []Cell) {
		row := []string{name, base}
		for _, v := range f.Candidates() {
			c := cells[v.Index]
			span := ""
			if c.Ratio != nil {
				span = md(ratioInterval(*c.Ratio))
			}
			row = append(row, mdChange(c), span)
		}
		rows = append(rows, row)
	}
	for _, g := range f.Groups {
		add("**"+md(g.Name)+"**", "", g.Cells)
		for _, r := range g.Rows {
			add(md(r.Name), rateText(r.Base().QPS.Point), r.Cells)
		}
	}
	for _, g := range f.Extra {
		add("**"+md(g.Name)+"**", "", g.Cells)
	}
	return mdTable(head, align, rows)
}

func mdAbsolute(f Facet) string {
	head, align := []string{"step"}, "l"
	for _, v := range f.Variants {
		head, align = append(head, md(v.Name)), align+"r"
	}
	var rows [][]string
	for _, r := range f.Rows() {
		row := []string{md(r.Name)}
		for _, c := range r.Cells {
			row = append(row, rateText(c.QPS.Point))
		}
		rows = append(rows, append(row, md(r.Step.Unit)))
	}
	return mdTable(append(head, "unit"), align+"l", rows)
}

// colorSigns stand for the colours of the published tables.
var colorSigns = map[string]string{"green": "🟩 ", "red": "🟥 ", "grey": "⬜ ", "yellow": "🟨 ", "blue": "🟦 "}

func mdInsert(s *InsertSummary) string {
	head, align := []string{"variant"}, "l"
	for _, name := range s.Steps {
		head, align = append(head, md(name)), align+"r"
	}
	var abs, rel [][]string
	for _, r := range s.Rows {
		a, b := []string{md(r.Variant.Name)}, []string{md(r.Variant.Name)}
		for _, c := range r.Cells {
			a = append(a, colorSigns[c.Color]+nonZero(c.Rate, rateText))
			b = append(b, colorSigns[c.RelColor]+nonZero(c.Relative, func(v float64) string { return fmt.Sprintf("%.2f", v) }))
		}
		abs, rel = append(abs, a), append(rel, b)
	}
	return mdTable(head, align, abs) + "\n🟩 top and 🟥 bottom quarter of the column, ⬜ missed the target insert rate: ignore\n\n" +
		mdTable(head, align, rel) + "\n🟨 below 95 %, 🟦 above 105 %\n"
}

func mdMade(v *View) string {
	body := "* " + md(hostText(v.Record.Host)) + "\n"
	for _, s := range v.Stages {
		body += "* " + md(s.Kind) + ": " + md(s.Text()) + "\n"
	}
	if n := v.Verdict.Noise.Text; n != "" {
		body += "* " + md(n) + "\n"
	}
	if n := v.Naive.Text(); n != "" {
		body += "* a gate without statistics, which compares bare ratios, " + md(n) + "\n"
	}
	return body + "* run " + md(v.Record.ID) + " of " + md(v.Record.Experiment.Path) + "\n"
}

// mdTable writes a pipe table; align has l or r per column.
func mdTable(head []string, align string, rows [][]string) string {
	var b strings.Builder
	write := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	write(head)
	rule := make([]string, len(head))
	for i := range head {
		rule[i] = "---"
		if i < len(align) && align[i] == 'r' {
			rule[i] = "--:"
		}
	}
	write(rule)
	for _, r := range rows {
		write(r)
	}
	return b.String()
}

var mdEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "#", `\#`, "@", "@\u200b", "~", `\~`)

// md escapes text for a table cell: no markup, no mentions of people.
func md(s string) string { return mdEscapes.Replace(clean(s)) }

// mdCode quotes text as code; a table cell needs its bars escaped even there.
func mdCode(s string) string {
	s = strings.ReplaceAll(clean(s), "|", `\|`)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}
