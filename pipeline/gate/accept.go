package gate

import (
	"fmt"
	"math"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/lang"
)

// Accept is one known regression of accept.yaml: until a date, a failure of the step's metric is excused as long as it is no
// larger than was accepted.
type Accept struct {
	Step   string `yaml:"step" json:"step"`     // name of a step, with or without its range, or a glob; or name of a group
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
		a.results = append(a.results, AcceptResult{Step: e.Step, Metric: e.Metric, Size: e.Size, Reason: e.Reason, Until: e.lastDay(),
			By: e.By, State: "unused", Message: "nothing failed that it covers"})
	}
	return a
}

// lastDay is the last day on which the entry holds: what its file says.
func (a Accept) lastDay() string { return a.Until.Add(-time.Nanosecond).Format(time.DateOnly) }

// covers reports whether the entry is about a ratio of that step or group.
func (a Accept) covers(r request) bool {
	if len(r.steps) == 0 || !r.fn.ratio || ratioMetric(a.Metric) != r.metric {
		return false
	}
	return engine.MatchesStep(a.Step, r.label)
}

// find looks for the entry that covers a ratio; -1 when there is none. Entries that are wrong or expired cover nothing: they are
// listed, and it is noted that they would have.
func (a *acceptance) find(r request) (at int, lapsed []int) {
	for i, e := range a.list {
		switch {
		case !e.covers(r):
		case e.Check() != "":
			a.results[i].State, a.results[i].Message = "invalid", e.Check()
			lapsed = append(lapsed, i)
		case !a.now.Before(e.Until):
			a.results[i].State, a.results[i].Message = "expired", fmt.Sprintf("expired after %s", e.lastDay())
			lapsed = append(lapsed, i)
		default:
			return i, lapsed
		}
	}
	return -1, lapsed
}

// excuse judges a failed check again with what was accepted. It passes unless it is worse than that too; entries that were not
// enough are noted as exceeded.
func (s sitting) excuse(c check, e evidence, r *AssertionResult) {
	if s.accepts == nil || r.Outcome != Fail {
		return
	}
	res := s.resolver(c, e)
	used, lapsed := map[int]bool{}, map[int]bool{}
	res.accept = func(req request, ev lang.Evidence) lang.Evidence {
		at, old := s.accepts.find(req)
		for _, i := range old {
			lapsed[i] = true
		}
		if at < 0 {
			return ev
		}
		used[at] = true
		return accepted{ev, s.accepts.list[at].Size}
	}
	claim, _, err := c.program.Eval(res.answer)
	if err != nil {
		return
	}
	excused := len(used) > 0 && claim.Pos != lang.False
	s.accepts.note(c, r, used, excused)
	for i := range s.accepts.results {
		if lapsed[i] {
			r.Accepted = append(r.Accepted, s.accepts.results[i].Message+": "+s.accepts.list[i].text())
		}
	}
	if excused {
		r.Outcome, r.Tags = Pass, append(r.Tags, acceptedTag)
	}
}

// acceptedTag marks a failure that passes because it was accepted.
const acceptedTag = "accepted"

// note keeps what became of the entries that covered a failed check.
func (a *acceptance) note(c check, r *AssertionResult, used map[int]bool, excused bool) {
	for i := range a.results {
		out := &a.results[i]
		switch {
		case !used[i]:
		case !excused:
			out.State, out.Message = "exceeded", fmt.Sprintf("%s on %s is worse than the accepted %.3g %%", c.assert.Expr, c.candidate, 100*out.Size)
			r.Accepted = append(r.Accepted, "worse than what was accepted: "+a.list[i].text())
		default:
			if out.State != "exceeded" {
				out.State, out.Message = "applied", fmt.Sprintf("excuses %s on %s until %s", c.assert.Expr, c.candidate, out.Until)
			}
			r.Accepted = append(r.Accepted, a.list[i].text())
		}
	}
}

// text says what was accepted, by whom, until when and why.
func (a Accept) text() string {
	return fmt.Sprintf("%s on %s may be up to %.3g %% worse until %s, accepted by %s: %s", a.Metric, a.Step, 100*a.Size, a.lastDay(), a.By, a.Reason)
}
