package report

import (
	"fmt"
	"html/template"

	"pgpipeline/pipeline/gate"
)

// htmlBelief is a line about how far the verdict can be believed.
type htmlBelief struct {
	Term string
	Text template.HTML
}

const headFailures = 3

// failures names the assertions behind the verdict, worst first.
func failures(v *View) []string {
	words := map[string]string{gate.Fail: "FAIL", gate.Inconclusive: "UNKNOWN", gate.Invalid: "INVALID"}
	var list []string
	rest := 0
	for _, a := range v.Assertions {
		switch {
		case a.Word == "ACCEPTED" && v.Verdict.Outcome == gate.Pass:
			list = append(list, "accepted: "+a.Plain()+"; "+a.Excuse())
		case a.Severity == "warn" || a.Word != words[v.Verdict.Outcome]:
		case len(list) == headFailures:
			rest++
		default:
			list = append(list, a.Plain())
		}
	}
	if rest > 0 {
		list = append(list, fmt.Sprintf("and %d more", rest))
	}
	return list
}

// believe says in a few lines what the verdict rests on, and what speaks against it.
func believe(v *View, facets []htmlFacet) []htmlBelief {
	var list []htmlBelief
	add := func(term, text string) {
		if text != "" {
			list = append(list, htmlBelief{term, codeHTML(text)})
		}
	}
	for i, f := range v.Facets {
		term := "measured"
		if f.Heading != "" {
			term = clean(f.Heading)
		}
		add(term, evidenceText(f)+"; each block boots every server anew and measures the variants in turn")
		add("resolution", resolution(f))
		add("drift", facets[i].DriftText)
	}
	add("machine", v.Verdict.Noise.Text)
	if n := v.Verdict.Atoms; n > 1 {
		add("false alarms", fmt.Sprintf("at most 1 run in 100 fails by chance alone, over all of its %d comparisons", n))
	}
	add("without statistics", naiveLine(v.Naive))
	if v.Record.Status != "done" && v.Record.Status != "" {
		add("ended", statusText(v.Record.Status)+" "+v.Record.Error)
	}
	if n := len(v.Warnings); n > 0 {
		list = append(list, htmlBelief{"warnings", template.HTML(fmt.Sprintf(`<a href="#warnings">%s</a>`, count(n, "warning")))})
	}
	return list
}

func naiveLine(n Naive) string {
	if n.Outcome == "" {
		return ""
	}
	return "a gate that compares bare ratios with the limits " + n.Text()
}

// resolution is the smallest change that would have been seen, in the middle of all steps and candidates.
func resolution(f Facet) string {
	var floors []float64
	for _, s := range f.Summary {
		if s.Floor > 0 {
			floors = append(floors, s.Floor)
		}
	}
	switch floor := median(floors); {
	case floor >= blindFloor:
		return "there are too few blocks to tell any change from noise"
	case floor > 0:
		return "on half of the steps a change below ±" + percentText(floor) + " would not be seen"
	}
	return ""
}

// statusText says how far the run came.
func statusText(status string) string {
	switch status {
	case "running":
		return "The run has not ended."
	case "interrupted":
		return "The run was interrupted."
	}
	return "The run " + status + "."
}
