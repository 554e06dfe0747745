package report

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"
	"time"

	"pgpipeline/pipeline/gate"
	"pgpipeline/pipeline/internal/redact"
	"pgpipeline/templates"
)

// page is what the template of the HTML report shows. It holds words and pictures only: every figure is written before it comes here.
type page struct {
	Style                   template.CSS
	Name, Doc, ID, Tool     string
	Word, Outcome, Headline string
	Failures                []string     // the assertions that made the verdict
	Believe                 []htmlBelief // what it rests on, and what speaks against it
	When, Path, Text        string
	Commands                string
	HasInsert               bool
	Facets                  []htmlFacet
	Assertions              []htmlAssertion
	Accepted                []htmlAccepted
	Earlier                 []gate.SeriesVerdict
	Warnings                []string
	Machine                 []htmlFact
	Stages                  []htmlStage
	Nodes                   []htmlNode
	Logs                    []ServerLog
}

type htmlFact struct{ Kind, Name, Text string }

type htmlAccepted struct{ State, Step, Metric, Size, Reason, By, Until, Message string }

type htmlStage struct{ Kind, Text string }

type htmlNode struct{ ID, Status, Seconds, Reason, Key string }

type htmlAssertion struct {
	Word, Expr, Where, Location, Tags, Published, Reason, Excuse string
	Naive, NaiveWord                                             string
	NaiveDiffers                                                 bool
	Hint                                                         template.HTML
	Charts                                                       []template.HTML
	Values                                                       []string
}

var pageTemplate = sync.OnceValues(func() (*template.Template, error) {
	return template.New("page").Parse(templates.ReportPage())
})

// writeHTML writes one page that needs nothing else: no script, no network.
func writeHTML(v *View, in Input, w io.Writer) error {
	t, err := pageTemplate()
	if err != nil {
		return fmt.Errorf("html: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, buildPage(v, in)); err != nil {
		return fmt.Errorf("html: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

func buildPage(v *View, in Input) *page {
	rec := v.Record
	p := &page{Style: template.CSS(templates.ReportStyle()), Name: clean(v.Name), Doc: clean(rec.Experiment.Doc), ID: clean(rec.ID), Tool: clean(rec.Tool),
		Word: v.Word(), Outcome: strings.ToLower(v.Word()), Headline: clean(v.Headline), Failures: failures(v),
		When: stamp(rec.Started), Path: clean(rec.Experiment.Path), Text: cleanLines(rec.Experiment.Text), Commands: commands(v),
		Accepted: acceptedRows(v), Earlier: v.Verdict.Earlier, Warnings: v.Warnings, Machine: machineFacts(v), Logs: serverLogs(v, in.Files)}
	for _, f := range v.Facets {
		h := buildHTMLFacet(f, v)
		p.HasInsert = p.HasInsert || h.Insert != nil
		p.Facets = append(p.Facets, h)
	}
	p.Believe = believe(v, p.Facets)
	for _, a := range v.Assertions {
		p.Assertions = append(p.Assertions, buildHTMLAssertion(a))
	}
	for _, s := range v.Stages {
		p.Stages = append(p.Stages, htmlStage{Kind: s.Kind, Text: s.Text()})
		for _, n := range s.Nodes {
			p.Nodes = append(p.Nodes, htmlNode{ID: clean(n.ID), Status: n.Status, Seconds: nonZero(n.Seconds, durationText),
				Reason: clean(strings.TrimSpace(n.Reason + " " + n.Error)), Key: n.Key[:min(len(n.Key), 16)]})
		}
	}
	return p
}

func buildHTMLAssertion(a Assertion) htmlAssertion {
	h := htmlAssertion{Word: a.Word, Expr: clean(a.Expr), Where: clean(a.Where), Location: clean(a.Location()), Tags: a.Marks(),
		Published: clean(a.Published), Hint: codeHTML(a.Hint)}
	h.Reason, h.Excuse = a.Why(), a.Excuse()
	h.Naive, h.NaiveWord, h.NaiveDiffers = a.NaiveText(), strings.ToUpper(a.Naive), a.NaiveDiffers()
	for _, atom := range a.Atoms {
		text := AtomText(atom)
		if len(a.Atoms) > 1 {
			text = clean(atom.Call) + ": " + text
		}
		h.Values = append(h.Values, text)
		if chart := atomChart(atom, a.Word); chart != "" {
			h.Charts = append(h.Charts, chart)
		}
	}
	if len(h.Values) == 0 {
		h.Values = []string{clean(a.Message)}
	}
	return h
}

func acceptedRows(v *View) []htmlAccepted {
	var rows []htmlAccepted
	for _, a := range v.Verdict.Accepted {
		rows = append(rows, htmlAccepted{State: clean(a.State), Step: clean(a.Step), Metric: clean(a.Metric), Size: percentText(a.Size),
			Reason: clean(a.Reason), By: clean(a.By), Until: clean(a.Until), Message: clean(a.Message)})
	}
	return rows
}

// codeHTML escapes text and sets what stands between backticks as code.
func codeHTML(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(clean(text), "`") {
		if part = template.HTMLEscapeString(part); i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

// commands are what it takes to do it again, and to look at it again.
func commands(v *View) string {
	rec := v.Record
	run := "pipeline run " + clean(rec.Experiment.Path) + " --locked"
	for _, s := range rec.Experiment.Set {
		run += " --set " + shellQuote(redact.Text(s))
	}
	return strings.Join([]string{
		run,
		"pipeline check " + clean(rec.ID) + "      # judge the recorded samples again",
		"pipeline report " + clean(rec.ID) + " --format html -o report.html",
		"# sha256 of the experiment file: " + clean(rec.Experiment.SHA256),
	}, "\n")
}

func shellQuote(s string) string {
	if strings.ContainsAny(s, " \t\n'\"$`\\&|;<>(){}*?#~!") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

func machineFacts(v *View) []htmlFact {
	h := v.Record.Host
	facts := []htmlFact{{Name: "CPU", Text: strings.TrimSpace(clean(h.CPUModel) + ", " + cpusText(h.CPUs))}, {Name: "memory", Text: memoryText(h.MemoryBytes)},
		{Name: "system", Text: strings.Trim(clean(h.OS+", "+h.Kernel+", "+h.Arch), ", ")}, {Name: "machine", Text: clean(h.MachineID)},
		{Name: "noise", Text: strings.ReplaceAll(clean(v.Verdict.Noise.Text), "`", "")}}
	if s := v.Verdict.Noise.SigmaBoot; s > 0 {
		facts = append(facts, htmlFact{Name: "spread between boots", Text: percentText(s)})
	}
	out := facts[:0]
	for _, f := range facts {
		if strings.Trim(f.Text, ", ") != "" {
			out = append(out, f)
		}
	}
	return out
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

func nonZero(v float64, write func(float64) string) string {
	if v <= 0 {
		return ""
	}
	return write(v)
}
