package gate

import (
	"fmt"
	"slices"
	"time"
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

// applyAccepts excuses failed assertions whose every failed comparison is covered by an entry that holds and is not
// exceeded: the interval of the step must reach into what was accepted. It says of every entry what it did.
func applyAccepts(list []Accept, results []AssertionResult, now time.Time) []AcceptResult {
	var out []AcceptResult
	for _, a := range list {
		out = append(out, AcceptResult{Step: a.Step, Metric: a.Metric, Size: a.Size, Reason: a.Reason, Until: a.Until.Format(time.DateOnly),
			By: a.By, State: "unused", Message: "nothing failed that it covers"})
	}
	for i := range results {
		r := &results[i]
		if r.Outcome != Fail || r.Implicit {
			continue
		}
		covered := true
		for _, atom := range r.Atoms {
			if atom.State == "false" {
				covered = covers(list, out, *r, atom, now) && covered
			}
		}
		if covered && len(r.Atoms) > 0 {
			r.Outcome = Pass
			r.Tags = append(r.Tags, "accepted")
			r.Message = "ACCEPTED " + r.Message
		}
	}
	return out
}

// covers looks for an entry that excuses one comparison, and notes what became of the entries it looked at.
func covers(list []Accept, out []AcceptResult, r AssertionResult, atom Atom, now time.Time) bool {
	i := slices.IndexFunc(list, func(a Accept) bool {
		return a.Step == atom.Step && ratioMetric(a.Metric) == metricOf(atom) && ratioMetric(a.Metric) != ""
	})
	if i < 0 {
		return false
	}
	a := list[i]
	switch {
	case a.Check() != "":
		out[i].State, out[i].Message = "invalid", a.Check()
	case !now.Before(a.Until):
		out[i].State, out[i].Message = "expired", fmt.Sprintf("expired on %s", a.Until.Format(time.DateOnly))
	case exceeds(atom, a.Size):
		out[i].State, out[i].Message = "exceeded", fmt.Sprintf("%s on %s is beyond the accepted %.3g %%", atom.Call, r.Candidate, 100*a.Size)
	default:
		if out[i].State == "unused" {
			out[i].State, out[i].Message = "applied", fmt.Sprintf("excuses %s on %s", atom.Text, r.Candidate)
		}
		return true
	}
	return false
}

func metricOf(a Atom) string {
	name := a.Call
	for i, c := range name {
		if c == '(' {
			name = name[:i]
			break
		}
	}
	switch name {
	case "slower", "faster", "same":
		return "qps"
	}
	return ratioMetric(name)
}

// exceeds says whether a ratio is surely further from 1 than the size: the near end of its interval is.
func exceeds(a Atom, size float64) bool {
	if a.Value == nil {
		return true
	}
	if *a.Value < 1 {
		return a.Hi != nil && *a.Hi < 1-size
	}
	return a.Lo != nil && *a.Lo > 1+size
}
