package report

import "fmt"

// htmlInsert is the insert benchmark's summary as tables of coloured words.
type htmlInsert struct {
	Steps              []string
	Absolute, Relative []htmlInsertRow
	Rates              *htmlInsertRates
}

type htmlInsertRates struct {
	Steps []string
	Rows  []htmlInsertRow
}

type htmlInsertRow struct {
	Variant string
	Cells   []htmlInsertCell
}

type htmlInsertCell struct{ Text, Color string }

func buildHTMLInsert(s *InsertSummary) *htmlInsert {
	if s == nil {
		return nil
	}
	h := &htmlInsert{}
	for _, name := range s.Steps {
		h.Steps = append(h.Steps, clean(name))
	}
	for _, r := range s.Rows {
		abs, rel := htmlInsertRow{Variant: clean(r.Variant.Name)}, htmlInsertRow{Variant: clean(r.Variant.Name)}
		for _, c := range r.Cells {
			abs.Cells = append(abs.Cells, htmlInsertCell{nonZero(c.Rate, rateText), c.Color})
			rel.Cells = append(rel.Cells, htmlInsertCell{nonZero(c.Relative, func(v float64) string { return fmt.Sprintf("%.2f", v) }), c.RelColor})
		}
		h.Absolute, h.Relative = append(h.Absolute, abs), append(h.Relative, rel)
	}
	if len(s.Queries) > 0 {
		h.Rates = buildHTMLRates(s)
	}
	return h
}

func buildHTMLRates(s *InsertSummary) *htmlInsertRates {
	rates := &htmlInsertRates{}
	target := htmlInsertRow{Variant: "target"}
	for _, q := range s.Queries {
		rates.Steps = append(rates.Steps, clean(q.Name))
		target.Cells = append(target.Cells, htmlInsertCell{Text: rateText(q.Target)})
	}
	for _, r := range s.Rows {
		row := htmlInsertRow{Variant: clean(r.Variant.Name)}
		for _, c := range r.Inserts {
			color := ""
			if c.Missed {
				color = "red"
			}
			row.Cells = append(row.Cells, htmlInsertCell{rateText(c.Rate), color})
		}
		rates.Rows = append(rates.Rows, row)
	}
	rates.Rows = append(rates.Rows, target)
	return rates
}
