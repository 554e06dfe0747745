package report

import (
	"strings"
	"testing"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
)

// insertExample is a small run of the insert benchmark on three configs.
func insertExample() Input {
	s := newSynth(3, 8, 3)
	s.variants = []string{"base", "a16", "a18"}
	s.seconds = 60
	step := func(name, unit string, ops ...string) engine.StepInfo {
		return engine.StepInfo{Name: name, Class: "whole", Writes: true, Unit: unit, Operations: ops, Groups: []string{"insert benchmark"}, Clients: 1, Seconds: 60}
	}
	s.steps = []engine.StepInfo{step("l.i0", "inserts", "insert"), step("l.x", "rows"), step("l.i1", "inserts", "insert"),
		step("qr100", "queries", "insert", "query"), step("qr1000", "queries", "insert", "query")}
	rec := s.record()
	rec.Experiment.Name, rec.Experiment.Doc = "insert-benchmark", "Does vacuuming earlier help?"
	v := s.verdict(rec)
	for i := range v.Steps { // the target is 100 and 1000 rows a second; base misses the second one
		e := &v.Steps[i]
		if target, ok := map[string]float64{"qr100": 100, "qr1000": 1000}[e.Step]; ok {
			if e.Variant == "base" && e.Step == "qr1000" {
				target *= 0.9
			}
			e.Ops = map[string]map[string]float64{"insert": {"qps": target}, "query": {"qps": e.QPS.Point}}
		}
	}
	v.Assertions, v.Outcome, v.ExitCode = nil, gate.Pass, 0
	return Input{Record: rec, Verdict: v}
}

func TestInsertSummary(t *testing.T) {
	golden(t, "insert.txt", render(t, "text", insertExample()))
	golden(t, "insert.md", render(t, "markdown", insertExample()))
	golden(t, "insert.html", render(t, "html", insertExample()))
}

// TestInsertColors takes the rules of the published reports one by one.
func TestInsertColors(t *testing.T) {
	tests := []struct {
		name   string
		rates  []float64
		missed []bool
		want   string
	}{
		{"quarters", []float64{100, 110, 150, 190, 200}, nil, "red,red,,green,green"},
		{"no red from 80 % of the maximum", []float64{80, 90, 100}, nil, ",,green"},
		{"red below it", []float64{79, 90, 100}, nil, "red,,green"},
		{"missed ones are not in the range", []float64{50, 95, 100}, []bool{true, false, false}, "grey,,green"},
		{"red wins over grey", []float64{50, 60, 100}, []bool{true, false, false}, "red,red,green"},
		{"missed and fast is grey", []float64{300, 60, 100}, []bool{true, false, false}, "grey,red,green"},
		{"all missed", []float64{50, 60}, []bool{true, true}, "grey,grey"},
		{"one alone", []float64{100}, nil, ""},
		{"not measured", []float64{0, 100, 101}, nil, ",,green"},
	}
	for _, tt := range tests {
		column := make([]InsertCell, len(tt.rates))
		missed := make([]bool, len(tt.rates))
		copy(missed, tt.missed)
		for i, r := range tt.rates {
			column[i].Rate = r
		}
		colorAbsolute(column, missed)
		var got []string
		for _, c := range column {
			got = append(got, c.Color)
		}
		if text := strings.Join(got, ","); text != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, text, tt.want)
		}
	}
}

func TestInsertRelativeColors(t *testing.T) {
	column := []InsertCell{{Rate: 1000}, {Rate: 944}, {Rate: 946}, {Rate: 1054}, {Rate: 1056}}
	colorRelative(column, make([]*gate.Ratio, len(column)))
	var got []string
	for _, c := range column {
		got = append(got, c.RelColor)
	}
	if text := strings.Join(got, ","); text != ",yellow,,,blue" { // 94.4 rounds to 94, 94.6 to 95, 105.4 to 105, 105.6 to 106
		t.Errorf("colours %s", text)
	}
	pairs := []InsertCell{{Rate: 1000}, {Rate: 650}, {Rate: 650}}
	colorRelative(pairs, []*gate.Ratio{nil, {Point: 1.19}, {Point: 0.8, Changed: true}})
	if pairs[1].Relative != 1.19 || pairs[1].RelColor != "" || pairs[2].Relative != 0.8 || pairs[2].RelColor != "yellow" {
		t.Errorf("with estimates: %+v", pairs)
	}
}

func TestTargetRate(t *testing.T) {
	for name, want := range map[string]float64{"qr100": 800, "qp1000.L6": 8000, "q500": 4000, "second/qr100.L1": 800} {
		got, ok := targetRate(Row{Name: name, Step: engine.StepInfo{Clients: 8}})
		if !ok || got != want {
			t.Errorf("%s: target %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"l.i1", "point-query", "query100"} {
		if _, ok := targetRate(Row{Name: name}); ok {
			t.Errorf("%s has no target", name)
		}
	}
}
