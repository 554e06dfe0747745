package report

import (
	"strings"
	"testing"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
)

func TestNaive(t *testing.T) {
	a := func(word, outcome, naive, severity string) Assertion {
		return Assertion{Word: word, AssertionResult: gate.AssertionResult{Outcome: outcome, Naive: naive, Severity: severity}}
	}
	for _, tt := range []struct {
		list []Assertion
		want string
	}{
		{nil, ""},
		{[]Assertion{a("PASS", gate.Pass, "", "fail")}, ""},
		{[]Assertion{a("PASS", gate.Pass, gate.Pass, "fail")}, "would pass too, on all of 1 assertion"},
		{[]Assertion{a("FAIL", gate.Fail, gate.Fail, "fail"), a("UNKNOWN", gate.Inconclusive, gate.Pass, "fail")}, "would fail; it differs on 1 of 2 assertions"},
		{[]Assertion{a("PASS", gate.Pass, gate.Fail, "fail"), a("PASS", gate.Pass, gate.Pass, "fail")}, "would fail; it differs on 1 of 2 assertions"},
		{[]Assertion{a("PASS", gate.Pass, gate.Pass, "fail"), a("WARN", gate.Fail, gate.Pass, "warn")}, "would pass too, on all of 1 assertion"},
		{[]Assertion{a("ACCEPTED", gate.Pass, gate.Fail, "fail")}, "would fail too, on all of 1 assertion"},
	} {
		if got := naive(tt.list).Text(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.list, got, tt.want)
		}
	}
}

// TestNaiveIsBesideOurs: the page has it in its head and beside every assertion, ours first.
func TestNaiveIsBesideOurs(t *testing.T) {
	page := render(t, "html", example())
	head, rest, _ := strings.Cut(page, "</header>")
	if !strings.Contains(head, "would fail; it differs on 1 of 3 assertions") {
		t.Error("the head does not compare the verdicts")
	}
	row := rest[strings.Index(rest, "badge b-UNKNOWN"):]
	row = row[:strings.Index(row, "</tr>")]
	if !strings.Contains(row, `<span class="badge b-PASS">pass at 0.945</span>`) {
		t.Errorf("an undecided assertion does not show what the bare ratio would have said: %s", row)
	}
}

func TestPlain(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	a := func(value float64, outcome string) Assertion {
		return Assertion{Where: "17.0", AssertionResult: gate.AssertionResult{Expr: `relqps("scan") > 0.95`, Candidate: "17.0", Base: "15.8", Outcome: outcome, Reason: "budget",
			Atoms: []gate.Atom{{Call: `relqps("scan")`, Step: "scan", Op: ">", Value: v(value), Lo: v(value - 0.01), Hi: v(value + 0.01), Limit: 0.95}}}}
	}
	several := a(0.9, gate.Fail)
	several.Atoms = append(several.Atoms, several.Atoms[0])
	other := a(0.9, gate.Fail)
	other.Expr, other.Atoms[0].Call = `relp99("scan") < 2`, `relp99("scan")`
	for _, tt := range []struct {
		a    Assertion
		want string
	}{
		{a(0.9, gate.Fail), "scan is 10 % slower on 17.0 than on 15.8 (0.90 [0.89, 0.91], limit > 0.95)"},
		{a(0.945, gate.Inconclusive), "scan on 17.0 is at about 0.945 of its rate on 15.8, and may be anywhere in [0.935, 0.955]; the limit is > 0.95: not decided within the budget"},
		{a(1.25, gate.Pass), "scan is 25 % faster on 17.0 than on 15.8 (1.25 [1.24, 1.26], limit > 0.95)"},
		{a(1, gate.Pass), "scan is as fast on 17.0 as on 15.8 (1.00 [0.99, 1.01], limit > 0.95)"},
		{several, `17.0: relqps("scan") > 0.95 is relqps("scan") = 0.90 [0.89, 0.91], limit > 0.95; relqps("scan") = 0.90 [0.89, 0.91], limit > 0.95`},
		{other, `17.0: relp99("scan") < 2 is 0.90 [0.89, 0.91], limit > 0.95`},
	} {
		if got := tt.a.Plain(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestStallsAreMarked: a second without progress has a mark of its own, however many seconds a point of the line stands for.
func TestStallsAreMarked(t *testing.T) {
	in := insertExample()
	for b := range in.Record.Blocks {
		for i := range in.Record.Blocks[b].Measurements {
			m := &in.Record.Blocks[b].Measurements[i]
			series := append(m.Series, m.Series...)
			for len(series) < 1000 {
				series = append(series, m.Series...)
			}
			m.Series = series
		}
	}
	page := render(t, "html", in)
	if strings.Contains(page, `class="stall"`) {
		t.Error("a fifth of the rate is no stall")
	}
	m := &in.Record.Blocks[0].Measurements[0]
	m.Series = append(m.Series[:0:0], m.Series...)
	for _, op := range m.Series[500].Ops.Names() {
		m.Series[500].Ops = engine.NewReadings(map[string]float64{op: 0})
	}
	if n := strings.Count(render(t, "html", in), `class="stall"`); n != 1 {
		t.Errorf("%d marks for one second", n)
	}
}
