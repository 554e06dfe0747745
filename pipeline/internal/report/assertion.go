package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
	"pgpipeline/pipeline/internal/redact"
)

// Assertion is one verdict, ready to be shown.
type Assertion struct {
	gate.AssertionResult
	// Word is what the reader sees: PASS, FAIL, WARN (a failed warning), UNKNOWN (inconclusive), INVALID, ACCEPTED.
	Word string
	// Where names facet and candidate: "17.0", "clients=8 17.0".
	Where string
	// Source is the line of the experiment file, "" for implicit assertions.
	Source string
	// Hint says what would decide or mend it, "" when it holds.
	Hint string
}

// Rank orders assertions by how much they matter: smaller is worse.
func (a Assertion) Rank() int {
	for i, w := range []string{"FAIL", "INVALID", "UNKNOWN", "WARN", "ACCEPTED"} {
		if a.Word == w {
			return i
		}
	}
	return 9
}

// Location is file:line of the assertion, "" for implicit ones.
func (a Assertion) Location() string {
	if a.File == "" || a.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", a.File, a.Line)
}

// Muted reports whether the assertion cannot change the exit code.
func (a Assertion) Muted() bool { return a.Severity == "warn" || a.Word == "ACCEPTED" }

func buildAssertions(rec *engine.Record, verdict gate.Verdict) []Assertion {
	lines := strings.Split(rec.Experiment.Text, "\n")
	minutes := map[[2]string]float64{}
	for _, f := range rec.Facets {
		minutes[[2]string{f.Name, f.Stage}] = blockMinutes(rec.Blocks, f)
	}
	list := make([]Assertion, 0, len(verdict.Assertions))
	for _, r := range verdict.Assertions {
		a := Assertion{AssertionResult: r, Word: word(r), Where: where(r, len(rec.Facets))}
		if r.File == rec.Experiment.Path && r.Line > 0 && r.Line <= len(lines) {
			a.Source = redact.Text(strings.TrimRight(lines[r.Line-1], "\r"))
		}
		a.Hint = hint(r, rerun{file: rec.Experiment.Path, blockMinutes: minutes[[2]string{r.Facet, r.Stage}]})
		list = append(list, a)
	}
	return list
}

func blockMinutes(blocks []engine.BlockRecord, f engine.Facet) float64 {
	var own []engine.BlockRecord
	for _, b := range blocks {
		if b.Facet == f.Name && b.Stage == f.Stage && b.Series == f.Series {
			own = append(own, b)
		}
	}
	return Facet{Blocks: own}.BlockMinutes()
}

func word(r gate.AssertionResult) string {
	switch r.Outcome {
	case gate.Pass:
		if slices.Contains(r.Tags, "accepted") { // it failed, and passes because that was accepted
			return "ACCEPTED"
		}
		return "PASS"
	case gate.Fail:
		if r.Severity == "warn" {
			return "WARN"
		}
		return "FAIL"
	case gate.Inconclusive:
		return "UNKNOWN"
	}
	return "INVALID"
}

func where(r gate.AssertionResult, facets int) string {
	var parts []string
	if facets > 1 {
		if r.Stage != "" && r.Stage != "run" {
			parts = append(parts, r.Stage)
		}
		if r.Facet != "" {
			parts = append(parts, r.Facet)
		}
	}
	if r.Candidate != "" {
		parts = append(parts, r.Candidate)
	}
	return strings.Join(parts, " ")
}

// Marks are what the verdict holds with reserve: its tags, and that it cannot fail the run.
func (a Assertion) Marks() string {
	marks := slices.DeleteFunc(slices.Clone(a.Tags), func(tag string) bool { return tag == "accepted" }) // the word says so
	if a.Severity == "warn" {
		marks = append(marks, "warning only")
	}
	return clean(strings.Join(marks, ", "))
}

// Excuse says what the accept file has about a failure, "" when nothing.
func (a Assertion) Excuse() string { return clean(strings.Join(a.Accepted, "; ")) }

// reasons are the words for the keys that a verdict gives.
var reasons = map[string]string{
	"budget":      "not decided within the budget",
	"futile":      "too close to the limit: four times the blocks that were left would not have decided it",
	"too-few":     "too few blocks for any verdict",
	"missing":     "nothing was measured",
	"few-tail":    "too few operations beyond the percentile",
	"biased-loss": "samples were lost on one side more than on the other",
	"unsteady":    "the rate had not settled",
	"closed-loop": "latency of a closed loop",
}

// Why says in words why an assertion is not decided or not valid, "" when it holds.
func (a Assertion) Why() string {
	if a.Outcome == gate.Pass {
		return ""
	}
	key, rest, _ := strings.Cut(a.Reason, ":")
	if text, ok := reasons[key]; ok {
		return clean(text + strings.TrimRight(": "+strings.TrimSpace(rest), ": "))
	}
	return clean(a.Reason)
}

// hint says what would decide an inconclusive assertion, from its reason.
func hint(r gate.AssertionResult, again rerun) string {
	if r.Outcome == gate.Pass {
		return ""
	}
	switch key, _, _ := strings.Cut(r.Reason, ":"); key {
	case "budget", "futile":
		return again.blocks(r)
	case "too-few":
		if r.MinutesNeeded <= 0 {
			return "run it again: `pipeline run " + again.file + "` goes on where this one ended"
		}
		return again.blocks(r)
	case "missing":
		return "the step yielded nothing: see the warnings, or `pipeline logs RUN NODE`"
	case "few-tail":
		return "a longer `duration`, or a lower percentile"
	case "biased-loss":
		return "see the warnings"
	case "unsteady":
		return "a quieter machine, or a longer `duration`"
	case "closed-loop":
		return "latency of a closed loop hides stalls: give the step a `rate`"
	}
	return ""
}

// rerun is what it takes to measure more.
type rerun struct {
	file         string
	blockMinutes float64 // what a block of the whole facet takes; 0: unknown
}

// blocks says how many more blocks would decide an assertion, and how long they take.
func (r rerun) blocks(a gate.AssertionResult) string {
	n := blocksNeeded(a.Atoms)
	if n == 0 && r.blockMinutes > 0 {
		n = int(math.Ceil(a.MinutesNeeded / r.blockMinutes))
	}
	if n <= 0 {
		return "nobody can say how many more blocks would decide it: a limit farther from what was measured would, or a quieter machine"
	}
	text := "about " + count(n, "more block")
	if r.blockMinutes > 0 {
		text += " (" + durationText(float64(n)*r.blockMinutes*60) + ")"
	}
	return fmt.Sprintf("%s would decide it: `pipeline run %s --add-blocks %d`", text, r.file, n)
}

// blocksNeeded is the forecast in blocks: the minutes that are needed by the minutes that a block gave.
func blocksNeeded(atoms []gate.Atom) int {
	n := 0
	for _, a := range atoms {
		if a.MinutesNeeded > 0 && a.Minutes > 0 && a.Boots > 0 {
			n = max(n, int(math.Round(a.MinutesNeeded*float64(a.Boots)/a.Minutes)), 1)
		}
	}
	return n
}

// Values says what was measured against which limit: "0.90 [0.88, 0.92], limit > 0.95; 60 pairs, 10 boots, 12m".
func (a Assertion) Values() string {
	parts := make([]string, 0, len(a.Atoms))
	for _, atom := range a.Atoms {
		text := AtomText(atom)
		if len(a.Atoms) > 1 {
			text = atom.Call + " = " + text
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return redact.Text(a.Message)
	}
	return strings.Join(parts, "; ")
}

// atomNumber writes a value of a comparison; what is compared for equality is a count.
func atomNumber(a gate.Atom, v float64) string {
	if (a.Op == "==" || a.Op == "!=") && a.Unit == "" && v == math.Trunc(v) {
		return humanize.Comma(int64(v))
	}
	return unitText(v, a.Unit)
}

// AtomText says value, interval, limit and evidence of one comparison.
func AtomText(a gate.Atom) string {
	text := "unknown"
	if a.Value != nil {
		text = atomNumber(a, *a.Value)
	}
	if iv := intervalText(a.Lo, a.Hi, a.Unit); iv != "" {
		text += " " + iv
	}
	text += ", limit " + a.Op + " " + atomNumber(a, a.Limit)
	var evidence []string
	if a.Pairs > 0 {
		evidence = append(evidence, count(a.Pairs, "pair"))
	}
	if a.Boots > 0 {
		evidence = append(evidence, count(a.Boots, "boot"))
	}
	if a.Minutes > 0 {
		evidence = append(evidence, durationText(a.Minutes*60))
	}
	if len(evidence) > 0 {
		text += "; " + strings.Join(evidence, ", ")
	}
	return text
}
