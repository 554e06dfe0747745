package report

import (
	"fmt"
	"strings"

	"pgpipeline/pipeline/gate"
	"pgpipeline/pipeline/internal/redact"
)

// Word is the outcome in capitals. A run that passes because nothing was asserted is no success.
func (v *View) Word() string {
	if v.Verdict.Outcome == gate.Pass && len(v.Record.Facets) == 0 {
		return "DONE"
	}
	if v.Verdict.Outcome == gate.Pass && len(v.Assertions) == 0 {
		return "MEASURED"
	}
	return strings.ToUpper(v.Verdict.Outcome)
}

// tally counts assertions by word: those that decide the exit code, and apart from them those of severity warn.
type tally struct {
	total    int
	counting map[string]int
	warnings map[string]int
}

func tallyOf(list []Assertion) tally {
	t := tally{counting: map[string]int{}, warnings: map[string]int{}}
	for _, a := range list {
		if a.Severity == "warn" {
			t.warnings[a.Word]++
			continue
		}
		t.total++
		t.counting[a.Word]++
	}
	return t
}

// headline is the verdict in one sentence.
func headline(v *View) string {
	t := tallyOf(v.Assertions)
	switch v.Verdict.Outcome {
	case gate.Pass:
		switch {
		case len(v.Record.Facets) == 0:
			return "the stages were made; none of them measures"
		case t.total == 0:
			return "nothing was asserted" + t.rest("")
		}
		return fmt.Sprintf("%d of %s%s", t.counting["PASS"], holds(t.total), t.rest("PASS"))
	case gate.Fail:
		failed := t.counting["FAIL"]
		return fmt.Sprintf("%d of %s not hold%s", failed, does(t.total, failed), t.rest("FAIL"))
	case gate.Inconclusive:
		return fmt.Sprintf("%d of %s could not be decided%s", t.counting["UNKNOWN"], count(t.total, "assertion"), t.rest("UNKNOWN"))
	}
	if v.Verdict.Reason != "" {
		return "the measurement is not valid: " + redact.Text(v.Verdict.Reason)
	}
	return "the measurement is not valid"
}

func holds(total int) string {
	if total == 1 {
		return "1 assertion holds"
	}
	return fmt.Sprintf("%d assertions hold", total)
}

func does(total, failed int) string {
	verb := "do"
	if failed == 1 {
		verb = "does"
	}
	return count(total, "assertion") + " " + verb
}

// rest adds what the outcome's own count, of said, leaves out.
func (t tally) rest(said string) string {
	var parts []string
	add := func(n int, text string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, text))
		}
	}
	if said != "UNKNOWN" {
		add(t.counting["UNKNOWN"], "undecided")
	}
	add(t.counting["ACCEPTED"], "accepted")
	add(t.warnings["WARN"], "warned")
	if n := t.warnings["UNKNOWN"] + t.warnings["INVALID"]; n > 0 {
		parts = append(parts, count(n, "warning")+" undecided")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
