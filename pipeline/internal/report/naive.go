package report

import (
	"fmt"

	"pgpipeline/pipeline/gate"
)

// Naive is what a gate without statistics, which compares the bare ratio of the totals with the limit, says of the same samples. It
// stands beside our verdict so that a reader sees what the intervals are for.
type Naive struct {
	Outcome string // pass, fail; "" when there is nothing to say
	Judged  int    // assertions that it decides
	Differs int    // of them, where it says something else
}

// naive sums up as the gate does: warnings do not count, and what was accepted did fail.
func naive(assertions []Assertion) Naive {
	var n Naive
	for _, a := range assertions {
		if a.Naive == "" || a.Severity == "warn" {
			continue
		}
		n.Judged++
		if n.Outcome == "" || a.Naive == gate.Fail {
			n.Outcome = a.Naive
		}
		if a.NaiveDiffers() {
			n.Differs++
		}
	}
	return n
}

// NaiveDiffers reports whether the gate without statistics says something else than ours.
func (a Assertion) NaiveDiffers() bool {
	judged := a.Outcome
	if a.Word == "ACCEPTED" {
		judged = gate.Fail
	}
	return a.Naive != "" && a.Naive != judged
}

// NaiveText is its verdict of one assertion with the figure that it saw, "" when it has none.
func (a Assertion) NaiveText() string {
	if a.Naive == "" {
		return ""
	}
	if len(a.Atoms) != 1 {
		return a.Naive
	}
	return a.Naive + " at " + unitText(a.NaiveValue, a.Atoms[0].Unit)
}

// Text says how it compares with our verdict, "" when it has none.
func (n Naive) Text() string {
	switch {
	case n.Outcome == "":
		return ""
	case n.Differs == 0:
		return fmt.Sprintf("would %s too, on all of %s", n.Outcome, count(n.Judged, "assertion"))
	}
	return fmt.Sprintf("would %s; it differs on %d of %s", n.Outcome, n.Differs, count(n.Judged, "assertion"))
}
