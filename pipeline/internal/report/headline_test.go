package report

import (
	"testing"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
)

func TestHeadline(t *testing.T) {
	a := func(word, severity string) Assertion {
		return Assertion{Word: word, AssertionResult: gate.AssertionResult{Severity: severity}}
	}
	pass, open, fail := a("PASS", "fail"), a("UNKNOWN", "fail"), a("FAIL", "fail")
	for _, tt := range []struct {
		outcome string
		list    []Assertion
		want    string
	}{
		{gate.Pass, nil, "nothing was asserted"},
		{gate.Pass, []Assertion{a("UNKNOWN", "warn")}, "nothing was asserted (1 warning undecided)"},
		{gate.Pass, []Assertion{pass}, "1 of 1 assertion holds"},
		{gate.Pass, []Assertion{pass, pass, a("UNKNOWN", "warn"), a("UNKNOWN", "warn"), a("WARN", "warn"), a("PASS", "warn")}, "2 of 2 assertions hold (1 warned, 2 warnings undecided)"},
		{gate.Pass, []Assertion{pass, a("ACCEPTED", "fail")}, "1 of 2 assertions hold (1 accepted)"},
		{gate.Fail, []Assertion{pass, fail, open}, "1 of 3 assertions does not hold (1 undecided)"},
		{gate.Fail, []Assertion{fail, fail}, "2 of 2 assertions do not hold"},
		{gate.Inconclusive, []Assertion{pass, open, a("UNKNOWN", "warn")}, "1 of 2 assertions could not be decided (1 warning undecided)"},
		{gate.Invalid, nil, "the measurement is not valid: a crash"},
	} {
		v := &View{Record: &engine.Record{Facets: []engine.Facet{{}}}, Verdict: gate.Verdict{Outcome: tt.outcome, Reason: "a crash"}, Assertions: tt.list}
		if got := headline(v); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.outcome, got, tt.want)
		}
	}
}
