package report

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"pgpipeline/pipeline/gate"
)

// annotationLimit is how many annotations GitHub shows of one kind and step; it drops the rest without a word. More than these nobody
// reads, whatever their kinds.
const annotationLimit = 10

// writeGitHub writes workflow commands: a notice with the verdict, then errors and warnings at the lines of the assertions, worst first.
// The job summary is the Markdown report: pipeline report RUN --format markdown >> "$GITHUB_STEP_SUMMARY".
func writeGitHub(v *View, _ Input, w io.Writer) error {
	list := append([]Assertion{}, v.Assertions...)
	sort.SliceStable(list, func(i, j int) bool { return list[i].Rank() < list[j].Rank() })
	byType := map[string][]string{}
	for _, a := range list {
		if kind := v.annotationType(a); kind != "" {
			byType[kind] = append(byType[kind], annotation(kind, a))
		}
	}
	for _, n := range v.Record.Nodes {
		if n.Status == "failed" {
			byType["error"] = append(byType["error"], command("error", []string{"title=" + property(n.ID)}, n.Error))
		}
	}
	verdictType := "notice"
	if v.Verdict.ExitCode != 0 && len(byType["error"]) == 0 {
		verdictType = "error"
	}
	lines := []string{command(verdictType, []string{"title=" + property(v.Name+": "+v.Word())}, v.Headline)}
	for _, kind := range []string{"error", "warning", "notice"} {
		lines = append(lines, byType[kind]...)
	}
	for _, line := range limited(lines) {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// annotationType is "" for what holds.
func (v *View) annotationType(a Assertion) string {
	switch {
	case a.Word == "ACCEPTED":
		return "notice"
	case a.Outcome == gate.Pass:
		return ""
	case a.Severity == "warn":
		return "warning"
	case a.Outcome == gate.Inconclusive:
		switch v.Record.Experiment.OnInconclusive {
		case "fail":
			return "error"
		case "pass":
			return "notice"
		}
		return "warning"
	}
	return "error"
}

func annotation(kind string, a Assertion) string {
	var props []string
	if a.File != "" && a.Line > 0 {
		props = append(props, "file="+property(a.File), fmt.Sprintf("line=%d", a.Line))
		if a.Column > 0 {
			props = append(props, fmt.Sprintf("col=%d", a.Column))
		}
	}
	props = append(props, "title="+property(strings.TrimSpace(a.Word+" "+a.Where+" "+a.Expr)))
	text := a.Values()
	if a.Published != "" {
		text += "; published " + a.Published
	}
	for _, extra := range []string{a.Excuse(), a.Why(), a.Hint} {
		if extra != "" {
			text += "\n" + extra
		}
	}
	return command(kind, props, text)
}

// limited keeps what is shown; the last place says how many more there are, as a notice: what is worse stands before it.
func limited(lines []string) []string {
	if len(lines) <= annotationLimit {
		return lines
	}
	more := len(lines) - annotationLimit + 1
	return append(append([]string{}, lines[:annotationLimit-1]...), command("notice", nil, fmt.Sprintf("%d more: see the report", more)))
}

func command(kind string, props []string, message string) string {
	head := "::" + kind
	if len(props) > 0 {
		head += " " + strings.Join(props, ",")
	}
	lines := strings.Split(message, "\n")
	for i, l := range lines {
		lines[i] = clean(l)
	}
	return head + "::" + messageEscapes.Replace(strings.Join(lines, "\n"))
}

var (
	messageEscapes  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func property(s string) string { return propertyEscapes.Replace(clean(s)) }
