package report

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// grid is a table of text in columns as wide as their widest cell.
type grid struct {
	gap  string
	rows [][]cell
}

type cell struct {
	text  string
	style lipgloss.Style
	right bool
	max   int // widest text in cells; 0: no limit
}

func (g *grid) add(cells ...cell) {
	for i, c := range cells {
		if c.max > 0 {
			cells[i].text = ansi.Truncate(c.text, c.max, "…")
		}
	}
	g.rows = append(g.rows, cells)
}

func (g *grid) widths() []int {
	var w []int
	for _, row := range g.rows {
		for i, c := range row {
			if i == len(w) {
				w = append(w, 0)
			}
			w[i] = max(w[i], ansi.StringWidth(c.text))
		}
	}
	return w
}

// width is the width of the whole table in cells.
func (g *grid) width() int {
	total := 0
	for i, w := range g.widths() {
		if i > 0 {
			total += len(g.gap)
		}
		total += w
	}
	return total
}

// render returns the table, each line ended by a line feed and without trailing blanks.
func (g *grid) render(color bool) string {
	widths := g.widths()
	var b strings.Builder
	for _, row := range g.rows {
		var line strings.Builder
		for i, c := range row {
			if i > 0 {
				line.WriteString(g.gap)
			}
			pad := strings.Repeat(" ", widths[i]-ansi.StringWidth(c.text))
			if c.right {
				line.WriteString(pad + paint(color, c.style, c.text))
			} else {
				line.WriteString(paint(color, c.style, c.text) + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
