package ui

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// tree renders a state. It is a pure function, so that frames can be kept as golden files.
type tree struct {
	look  look
	width int
	// height limits the lines; 0: no limit.
	height int
}

var (
	styleBold = lipgloss.NewStyle().Bold(true)
	styleDim  = lipgloss.NewStyle().Faint(true)
	styleGood = lipgloss.NewStyle().Foreground(lipgloss.Green)
	styleBad  = lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true)
	styleWarn = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	styleNow  = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
)

// widest is the width beyond which a tree gains nothing: the eye loses the line between its ends.
const widest = 132

// frame returns the lines to show at now, none of them wider than the tree and none of them with a line break.
func (t tree) frame(s *state, now time.Time) []string {
	t.width = min(t.width, widest)
	if !s.ended.IsZero() {
		now = s.ended
	}
	lines := []string{t.title(s, now)}
	for _, g := range groups(s) {
		lines = append(lines, t.group(g, now)...)
	}
	if s.warnings > 0 {
		text := fmt.Sprintf("%s %s, last: %s", t.sign("warn"), plural(s.warnings, "warning"), s.lastWarn)
		lines = append(lines, t.paint(styleWarn, t.cut(text, t.width)))
	}
	return t.fit(lines)
}

// fit keeps the frame within the height. The title and the end, where things happen, are kept.
func (t tree) fit(lines []string) []string {
	if t.height <= 0 || len(lines) <= t.height {
		return lines
	}
	if t.height < 3 {
		return lines[len(lines)-t.height:]
	}
	keep := t.height - 2
	more := t.paint(styleDim, t.cut(fmt.Sprintf("  %s %d more lines", t.dots(), len(lines)-1-keep), t.width))
	return append([]string{lines[0], more}, lines[len(lines)-keep:]...)
}

func (t tree) title(s *state, now time.Time) string {
	right := ""
	if !s.began.IsZero() {
		right = clock(now.Sub(s.began))
	}
	if text := s.left(now).text("about ", "at most "); !s.ended.IsZero() {
		right = strings.TrimSpace(s.status + " after " + right)
	} else if text != "" {
		right += ", " + text
	}
	left := t.paint(styleBold, s.titled())
	if s.title != "" && s.name != "" && t.width >= wideTitle {
		left = t.paint(styleBold, s.title) + " " + t.paint(styleDim, s.name)
	}
	return t.line(left, t.paint(styleDim, right))
}

// wideTitle is the width from which on the run's id stands beside the experiment's name.
const wideTitle = 60

// titled is the name of the experiment; of the run while nothing else is known.
func (s *state) titled() string {
	switch {
	case s.title != "":
		return s.title
	case s.name != "":
		return s.name
	}
	return "pipeline"
}

// group is the nodes of one kind.
type group struct {
	kind  string
	nodes []*node
}

func groups(s *state) []group {
	var list []group
	index := map[string]int{}
	for _, n := range s.order {
		i, ok := index[n.kind]
		if !ok {
			i = len(list)
			index[n.kind] = i
			list = append(list, group{kind: n.kind})
		}
		list[i].nodes = append(list[i].nodes, n)
	}
	return list
}

// group shows a kind in one line, and below it a line for each node that runs, waits or failed.
func (t tree) group(g group, now time.Time) []string {
	count := map[string]int{}
	var took time.Duration
	open := 0
	for _, n := range g.nodes {
		count[n.status]++
		if n.status == "done" {
			took += n.elapsed(now)
		}
		if !n.over() {
			open++
		}
	}
	what := "waits"
	if open < len(g.nodes) || count["running"]+count["waiting"] > 0 {
		what = tally(count, len(g.nodes))
	}
	right := ""
	if took > 0 {
		right = clock(took)
	}
	sign, style := t.groupSign(count, open, now)
	head := fmt.Sprintf("%s %-7s", sign, g.kind)
	if n := g.nodes[0]; len(g.nodes) == 1 && n.id == g.kind && !n.over() {
		return t.alone(n, t.paint(style, head)+" ", now)
	}
	lines := []string{t.line(t.paint(style, head)+" "+t.paint(styleDim, what), t.paint(styleDim, right))}
	for _, n := range g.nodes {
		lines = append(lines, t.node(n, now)...)
	}
	return lines
}

func (t tree) groupSign(count map[string]int, open int, now time.Time) (string, lipgloss.Style) {
	switch {
	case count["failed"] > 0:
		return t.sign("bad"), styleBad
	case count["running"] > 0:
		return t.spinner(now), styleNow
	case count["interrupted"]+count["skipped"] > 0:
		return t.sign("off"), styleWarn
	case open == 0:
		return t.sign("good"), styleGood
	case count["waiting"] > 0:
		return t.spinner(now), styleWarn
	}
	return t.sign("later"), styleDim
}

// tally says what became of the nodes: "2 from the cache, 1 done, 1 of 4 to do".
func tally(count map[string]int, total int) string {
	var parts []string
	add := func(n int, text string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, text))
		}
	}
	add(count["cached"], "from the cache")
	add(count["unneeded"], "not needed")
	add(count["done"], "done")
	add(count["failed"], "failed")
	add(count["skipped"], "skipped")
	add(count["interrupted"], "interrupted")
	if open := count[""] + count["running"] + count["waiting"]; open > 0 && total > 1 {
		parts = append(parts, fmt.Sprintf("%d of %d to do", open, total))
	}
	return strings.Join(parts, ", ")
}

// alone shows the only node of a kind on the kind's own line.
func (t tree) alone(n *node, head string, now time.Time) []string {
	switch n.status {
	case "":
		return []string{t.cut(head+t.paint(styleDim, "waits"), t.width)}
	case "waiting":
		return []string{t.cut(head+t.waiting(n), t.width)}
	}
	return t.running(n, head, now)
}

func (t tree) waiting(n *node) string {
	block := ""
	if n.block > 0 {
		block = t.blockOf(n) + "  "
	}
	return block + t.paint(styleWarn, "waits for "+n.reason)
}

func (t tree) node(n *node, now time.Time) []string {
	switch n.status {
	case "running":
		return t.running(n, "    "+n.label()+"  ", now)
	case "waiting":
		return []string{t.cut("    "+n.label()+"  "+t.waiting(n), t.width)}
	case "failed":
		return []string{t.cut("    "+t.paint(styleBad, n.label()+": "+n.reason), t.width)}
	}
	return nil
}

// running is a node with its bar: what it does, how far it is, for how long, and how much is left. A measuring node has the
// current rate of every variant below, and where the verdicts stand.
func (t tree) running(n *node, head string, now time.Time) []string {
	lines := []string{t.line(head+t.doing(n), t.meter(n, now))}
	if r := t.rates(n); r != "" {
		lines = append(lines, t.cut("      "+r, t.width))
	}
	if n.judge != "" {
		lines = append(lines, t.paint(styleDim, t.cut("      "+n.judge, t.width)))
	}
	return lines
}

// doing says what the node does now: its block and step, its progress, or the last line of its log.
func (t tree) doing(n *node) string {
	block := ""
	if n.block > 0 {
		block = t.blockOf(n) + "  "
	}
	if n.step != "" {
		if strings.HasPrefix(n.what, warmUp) {
			block += t.paint(styleDim, warmUp)
		}
		return block + t.paint(styleDim, n.stepOf()) + t.paint(styleNow, n.step)
	}
	detail := strings.TrimSpace(n.what + " " + amount(n.progress))
	if detail == "" && len(n.log) > 0 {
		detail = n.log[len(n.log)-1]
	}
	return block + t.paint(styleDim, detail)
}

func (t tree) blockOf(n *node) string {
	if n.blocks <= 0 {
		return fmt.Sprintf("block %d", n.block)
	}
	return fmt.Sprintf("block %d/%s%d", n.block, t.atMost(), n.blocks)
}

func (n *node) stepOf() string {
	if len(n.steps) < 2 {
		return ""
	}
	return fmt.Sprintf("%d/%d ", len(n.stepsDone), len(n.steps))
}

// rates lists the variants' current rates, and beside each its ratio to the base's.
func (t tree) rates(n *node) string {
	var parts []string
	base := n.rates[n.base]
	for _, v := range n.variants {
		r, ok := n.rates[v]
		if !ok {
			continue
		}
		text := t.paint(styleBold, v) + " " + rate(r) + "/s"
		if v != n.base && base > 0 {
			text += t.paint(styleDim, fmt.Sprintf(" (%.2f)", r/base))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "   ")
}

// meter is the right side of a running node: bar, percent, time, forecast; the narrower the terminal, the less of it.
func (t tree) meter(n *node, now time.Time) string {
	var parts []string
	if f, ok := n.fraction(now); ok {
		if w := t.barWidth(); w > 0 {
			parts = append(parts, t.bar(f, w))
		}
		parts = append(parts, fmt.Sprintf("%3.0f%%", f*100))
	}
	parts = append(parts, fmt.Sprintf("%6s", clock(n.elapsed(now))))
	if text := n.left(now).text(t.approx(), t.atMost()); text != "" && t.width >= 56 {
		parts = append(parts, t.paint(styleDim, text))
	}
	return strings.Join(parts, " ")
}

func (t tree) barWidth() int {
	switch {
	case t.width >= 120:
		return 24
	case t.width >= 100:
		return 12
	case t.width >= 72:
		return 8
	case t.width >= 48:
		return 6
	}
	return 0
}

// bar draws f of width cells, with eighths of a cell where the font has them.
func (t tree) bar(f float64, width int) string {
	if !t.look.Unicode {
		full := int(f * float64(width))
		return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
	}
	eighths := int(f * float64(width) * 8)
	full, part := eighths/8, eighths%8
	done := strings.Repeat("█", full)
	if part > 0 {
		done += string([]rune("▏▎▍▌▋▊▉")[part-1])
		full++
	}
	return t.paint(styleNow, done) + t.paint(styleDim, strings.Repeat("░", width-full))
}

// line puts left at the left and right at the right edge; left gives way when there is no room for both.
func (t tree) line(left, right string) string {
	if right == "" {
		return t.cut(left, t.width)
	}
	rw := ansi.StringWidth(right)
	room := t.width - rw - 1
	if room < 12 { // too narrow for both: what matters is on the left
		return t.cut(left, t.width)
	}
	left = t.cut(left, room)
	return left + strings.Repeat(" ", room-ansi.StringWidth(left)+1) + right
}

func (t tree) cut(s string, width int) string {
	return ansi.Truncate(s, max(width, 1), t.dots())
}

func (t tree) paint(style lipgloss.Style, s string) string {
	if !t.look.Color || s == "" {
		return s
	}
	return style.Render(s)
}

func (t tree) sign(what string) string {
	signs := map[string][2]string{"good": {"✓", "+"}, "bad": {"✗", "x"}, "warn": {"!", "!"}, "later": {"·", "."}, "off": {"∅", "-"}}[what]
	if t.look.Unicode {
		return signs[0]
	}
	return signs[1]
}

func (t tree) dots() string {
	if t.look.Unicode {
		return "…"
	}
	return ".."
}

func (t tree) approx() string {
	if t.look.Unicode {
		return "≈"
	}
	return "~"
}

func (t tree) atMost() string {
	if t.look.Unicode {
		return "≤"
	}
	return "<="
}

// spinner turns four times a second, so that a tree without progress is seen to live.
func (t tree) spinner(now time.Time) string {
	turns := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	if !t.look.Unicode {
		turns = []rune(`|/-\`)
	}
	return string(turns[now.UnixMilli()/250%int64(len(turns))])
}
