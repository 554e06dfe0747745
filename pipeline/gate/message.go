package gate

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"pgpipeline/pipeline/internal/lang"
)

// message is the line that explains a result: verdict, expression, candidate, each comparison with its interval and what
// stands behind it, and the place in the file.
func message(r AssertionResult) string {
	var b strings.Builder
	outcome := strings.ToUpper(r.Outcome)
	if slices.Contains(r.Tags, acceptedTag) {
		outcome = "ACCEPTED"
	}
	fmt.Fprintf(&b, "%s: %s", outcome, r.Expr)
	if r.Candidate != r.Base && r.Base != "" {
		fmt.Fprintf(&b, " for %s against %s", r.Candidate, r.Base)
	}
	if r.Facet != "" {
		fmt.Fprintf(&b, " (%s)", r.Facet)
	}
	if r.Implicit || r.Outcome == Invalid {
		fmt.Fprintf(&b, ": %s", r.Reason)
		return b.String()
	}
	for i, a := range r.Atoms {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		b.WriteString(sep + a.explain(len(r.Atoms) > 1))
	}
	if r.Outcome == Inconclusive {
		fmt.Fprintf(&b, "; %s", reasonText(r))
	}
	if r.Line > 0 {
		fmt.Fprintf(&b, " [%s:%d]", filepath.Base(r.File), r.Line)
	}
	return b.String()
}

// explain is one comparison: value, interval, limit, and the size of the evidence.
func (a Atom) explain(several bool) string {
	var b strings.Builder
	if several {
		fmt.Fprintf(&b, "%s is %s, ", a.Text, a.State)
	}
	switch {
	case a.Value == nil:
		return b.String() + "no value: " + reasonWords(a.Reason)
	case !a.Guarded && a.Reason == "":
		return b.String() + a.format(*a.Value)
	}
	fmt.Fprintf(&b, "%s [%s, %s]", a.format(*a.Value), a.bound(a.Lo), a.bound(a.Hi))
	if a.Op != "" {
		fmt.Fprintf(&b, ", limit %s", a.format(a.Limit))
	}
	fmt.Fprintf(&b, ", %s in %s, %.2g min", plural(a.Pairs, "pair"), plural(a.Boots, "boot"), a.Minutes)
	return b.String()
}

func (a Atom) format(v float64) string {
	switch {
	case a.Unit == "s":
		return lang.FormatSeconds(v)
	case v == math.Trunc(v) && math.Abs(v) < 1e9:
		return fmt.Sprintf("%.0f", v)
	case a.Unit == "" && v < 100:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

func (a Atom) bound(v *float64) string {
	if v == nil {
		return "?"
	}
	return a.format(*v)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func reasonText(r AssertionResult) string {
	text := reasonWords(r.Reason)
	if r.MinutesNeeded > 0 {
		text += fmt.Sprintf("; about %.2g more minutes of measuring would tell", r.MinutesNeeded)
	}
	return text
}

// reasonWords says a reason in words.
func reasonWords(reason string) string {
	words := map[string]string{
		"budget":      "the budget ended before the evidence told",
		"futile":      "too close to the limit: four times the blocks that were left would not have told",
		"too-few":     "too few blocks for a first look",
		"missing":     "nothing was measured",
		"few-tail":    "fewer than 100 samples beyond the percentile in a block",
		"biased-loss": "too many pairs were lost, or more on one side than on the other",
		"unsteady":    "the warm-up did not settle in more than a fifth of the blocks",
	}
	if w, ok := words[reason]; ok {
		return w
	}
	return reason
}
