package gate

import (
	"fmt"
	"math"
	"time"

	"pgpipeline/pipeline/internal/lang"
)

// Accept is one known regression of accept.yaml: until a date, a failure of the step's metric is excused as long as it is no
// larger than was accepted.
type Accept struct {
	Step   string `yaml:"step" json:"step"`     // full name, as the record has it
	Metric string `yaml:"metric" json:"metric"` // "relqps", "relp99", ...
	// Size of the accepted change as a fraction of the base: 0.08 accepts relqps down to 0.92 and relp99 up to 1.08.
	Size   float64   `yaml:"size" json:"size"`
	Reason string    `yaml:"reason" json:"reason"`
	Until  time.Time `yaml:"until" json:"until"` // the first moment at which it no longer holds
	By     string    `yaml:"by" json:"by"`
}

// Check says what is wrong with an entry; empty when nothing is.
func (a Accept) Check() string {
	switch {
	case a.Step == "" || a.Metric == "" || a.Reason == "" || a.By == "":
		return "step, metric, reason and by are all needed"
	case a.Size <= 0 || a.Size >= 10:
		return "size is a fraction of the base above 0, such as 0.08"
	case a.Until.IsZero():
		return "until is needed: what is accepted for ever is a new baseline"
	case ratioMetric(a.Metric) == "":
		return fmt.Sprintf("metric %q is not a ratio; use relqps, relp99, ...", a.Metric)
	}
	return ""
}

// accepted is evidence about a ratio that may be worse than an assertion says, as far as was accepted: limits nearer to 1 than
// the accepted size move out to it.
type accepted struct {
	lang.Evidence
	size float64
}

// Decide implements lang.Evidence.
func (a accepted) Decide(limit float64, above, below lang.Care) lang.Truth {
	if limit <= 1 {
		limit = math.Min(limit, 1-a.size)
	} else {
		limit = math.Max(limit, 1+a.size)
	}
	return a.Evidence.Decide(limit, above, below)
}

// acceptance is the accept file during one judging.
type acceptance struct {
	list    []Accept
	results []AcceptResult
	now     time.Time
}

func newAcceptance(list []Accept, now time.Time) *acceptance {
	a := &acceptance{list: list, now: now}
	for _, e := range list {
		a.results = append(a.results, AcceptResult{Step: e.Step, Metric: e.Metric, Size: e.Size, Reason: e.Reason, Until: e.Until.Format(time.DateOnly),
			By: e.By, State: "unused", Message: "nothing failed that it covers"})
	}
	return a
}

// find looks for the entry that covers a ratio of a step; -1 when there is none. Entries that are wrong or expired cover
// nothing, and it is noted that they would have.
func (a *acceptance) find(r request) int {
	for i, e := range a.list {
		if len(r.steps) == 0 || !r.fn.ratio || e.Step != r.label && e.Step != withoutRange(r.label) || ratioMetric(e.Metric) != r.metric {
			continue
		}
		switch {
		case e.Check() != "":
			a.results[i].State, a.results[i].Message = "invalid", e.Check()
		case !a.now.Before(e.Until):
			a.results[i].State, a.results[i].Message = "expired", fmt.Sprintf("expired on %s", e.Until.Format(time.DateOnly))
		default:
			return i
		}
	}
	return -1
}

// excuse judges a failed check again with what was accepted. It passes unless it is worse than that too; entries that were not
// enough are noted as exceeded.
func (s sitting) excuse(c check, e evidence, r *AssertionResult) {
	if s.accepts == nil || r.Outcome != Fail {
		return
	}
	res := s.resolver(c, e)
	var used []int
	res.accept = func(req request, ev lang.Evidence) lang.Evidence {
		i := s.accepts.find(req)
		if i < 0 {
			return ev
		}
		used = append(used, i)
		return accepted{ev, s.accepts.list[i].Size}
	}
	claim, _, err := c.program.Eval(res.answer)
	if err != nil || len(used) == 0 {
		return
	}
	excused := claim.Pos != lang.False
	for _, i := range used {
		out := &s.accepts.results[i]
		switch {
		case !excused:
			out.State, out.Message = "exceeded", fmt.Sprintf("%s on %s is worse than the accepted %.3g %%", c.assert.Expr, c.candidate, 100*out.Size)
		case out.State != "exceeded":
			out.State, out.Message = "applied", fmt.Sprintf("excuses %s on %s until %s", c.assert.Expr, c.candidate, out.Until)
		}
	}
	if excused {
		r.Outcome, r.Tags = Pass, append(r.Tags, "accepted")
	}
}
