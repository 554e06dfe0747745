package report

import (
	"fmt"

	"charm.land/lipgloss/v2"
)

// insert prints the insert benchmark's summary. Where there are no colours a sign after the figure says the same.
func (t *textReport) insert(s *InsertSummary) {
	t.section("insert benchmark: inserts (l.x: indexed rows, q: queries) per second")
	abs, rel := insertHead(s.Steps), insertHead(s.Steps)
	for _, r := range s.Rows {
		a, b := []cell{{text: "  " + clean(r.Variant.Name)}}, []cell{{text: "  " + clean(r.Variant.Name)}}
		for _, c := range r.Cells {
			a = append(a, insertCell(rateText(c.Rate), c.Color, c.Rate > 0))
			b = append(b, insertCell(fmt.Sprintf("%.2f", c.Relative), c.RelColor, c.Relative > 0))
		}
		abs.add(a...)
		rel.add(b...)
	}
	t.out.WriteString(abs.render(t.color))
	t.section("insert benchmark: relative to " + clean(s.Rows[0].Variant.Name))
	t.out.WriteString(rel.render(t.color))
	t.line("%s", t.paint(styleDim, "+ top and - bottom quarter of the column, x target insert rate missed: ignore; < below 95 %, > above 105 % and beyond noise"))
	if len(s.Queries) > 0 {
		t.insertRates(s)
	}
}

func (t *textReport) insertRates(s *InsertSummary) {
	t.section("insert benchmark: inserts per second beside the queries")
	var steps []string
	target := []cell{{text: "  target"}}
	for _, q := range s.Queries {
		steps = append(steps, q.Name)
		target = append(target, cell{text: rateText(q.Target) + "  ", right: true})
	}
	g := insertHead(steps)
	for _, r := range s.Rows {
		line := []cell{{text: "  " + clean(r.Variant.Name)}}
		for _, c := range r.Inserts {
			color := ""
			if c.Missed {
				color = "grey"
			}
			line = append(line, insertCell(rateText(c.Rate), color, true))
		}
		g.add(line...)
	}
	g.add(target...)
	t.out.WriteString(g.render(t.color))
}

func insertHead(steps []string) *grid {
	g := &grid{gap: "  "}
	head := []cell{{text: "variant", style: styleDim}}
	for _, s := range steps {
		head = append(head, cell{text: clean(s) + "  ", style: styleDim, right: true})
	}
	g.add(head...)
	return g
}

func insertCell(text, color string, known bool) cell {
	if !known {
		return cell{text: "-  ", style: styleDim, right: true}
	}
	sign := map[string]string{"green": "+", "red": "-", "grey": "x", "yellow": "<", "blue": ">"}[color]
	if sign == "" {
		sign = " "
	}
	style := map[string]lipgloss.Style{"green": styleGood, "red": styleBad, "grey": styleDim, "yellow": styleWarn, "blue": styleGood}[color]
	return cell{text: text + " " + sign, style: style, right: true}
}
