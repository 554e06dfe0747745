package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"pgpipeline/pipeline/gate"
)

// The elements and attributes are those of Jenkins' schema, with file and line of a test case and the message of a skipped one, which
// GitLab and GitHub actions show. Figures stand in system-out and properties; time is measuring time, never a throughput.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr"`
	Hostname   string          `xml:"hostname,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string       `xml:"name,attr"`
	Classname string       `xml:"classname,attr"`
	File      string       `xml:"file,attr,omitempty"`
	Line      int          `xml:"line,attr,omitempty"`
	Time      string       `xml:"time,attr"`
	Skipped   *junitResult `xml:"skipped"`
	Error     *junitResult `xml:"error"`
	Failure   *junitResult `xml:"failure"`
	SystemOut string       `xml:"system-out,omitempty"`
}

type junitResult struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes a test case per assertion, and one per stage that failed. A failed assertion is a failure; an invalid
// measurement and a failed stage are errors; what cannot change the exit code, and what is undecided, is skipped.
func writeJUnit(v *View, _ Input, w io.Writer) error {
	suite := junitSuite{Name: xmlText(v.Name), Timestamp: v.Record.Started.UTC().Format("2006-01-02T15:04:05"), Hostname: xmlText(v.Record.Host.MachineID),
		Time: junitTime(v.Record.Ended.Sub(v.Record.Started).Seconds())}
	for _, p := range [][2]string{{"run", v.Record.ID}, {"outcome", v.Verdict.Outcome}, {"headline", v.Headline}, {"host", hostText(v.Record.Host)}, {"noise", v.Verdict.Noise.Text}} {
		suite.Properties = append(suite.Properties, junitProperty{p[0], xmlText(p[1])})
	}
	for _, a := range v.Verdict.Accepted {
		suite.Properties = append(suite.Properties, junitProperty{"accepted", xmlText(acceptText(a))})
	}
	for _, a := range v.Assertions {
		suite.Cases = append(suite.Cases, v.junitAssertion(a))
	}
	suite.Cases = append(suite.Cases, v.junitStages()...)
	suite.count()
	all := junitSuites{Name: "pipeline", Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Time: suite.Time, Suites: []junitSuite{suite}}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("junit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (v *View) junitAssertion(a Assertion) junitCase {
	seconds := 0.0
	for _, atom := range a.Atoms {
		seconds += atom.Minutes * 60
	}
	c := junitCase{Name: xmlText(a.Expr), Classname: xmlText(junitClass(v.Name, a.Where)), File: xmlText(a.File), Line: a.Line, Time: junitTime(seconds)}
	values := a.Values()
	if a.Published != "" {
		values += "; published " + a.Published
	}
	text := strings.TrimSpace(strings.Join([]string{values, a.Excuse(), a.Why(), a.Hint, a.Location()}, "\n"))
	result := &junitResult{Message: xmlText(a.Word + ": " + values), Type: xmlText(a.Outcome), Text: xmlLines(text)}
	fatal := a.Word == "UNKNOWN" && v.Record.Experiment.OnInconclusive == "fail"
	switch {
	case a.Word == "PASS":
		c.SystemOut = xmlLines(text)
	case a.Muted() || a.Outcome == gate.Inconclusive && !fatal:
		c.Skipped = &junitResult{Message: result.Message} // some readers take no text here
		c.SystemOut = result.Text
	case a.Outcome == gate.Invalid:
		c.Error = result
	default:
		c.Failure = result
	}
	return c
}

// acceptText is an entry of the accept file and what became of it.
func acceptText(a gate.AcceptResult) string {
	return fmt.Sprintf("%s: %s on %s, up to %s, until %s, by %s: %s (%s)", a.State, a.Metric, a.Step, percentText(a.Size), a.Until, a.By, a.Reason, a.Message)
}

func junitClass(name, where string) string {
	if where == "" {
		return name
	}
	return name + " " + where
}

// junitStages gives a case for each node that failed, and one for a measurement that is invalid as a whole or asserted nothing: a
// report without any test case counts as a broken one in most systems.
func (v *View) junitStages() []junitCase {
	var cases []junitCase
	for _, n := range v.Record.Nodes {
		if n.Status == "failed" {
			text := xmlText(n.Error)
			cases = append(cases, junitCase{Name: xmlText(n.ID), Classname: xmlText(v.Name + " stages"), Time: junitTime(n.Seconds),
				Error: &junitResult{Message: text, Type: "stage", Text: text}})
		}
	}
	if len(cases) > 0 || len(v.Assertions) > 0 {
		return cases
	}
	c := junitCase{Name: "measurement", Classname: xmlText(v.Name), Time: "0.000"}
	if v.Verdict.Outcome == gate.Invalid {
		c.Error = &junitResult{Message: xmlText(v.Headline), Type: gate.Invalid}
	}
	return []junitCase{c}
}

func (s *junitSuite) count() {
	s.Tests = len(s.Cases)
	for _, c := range s.Cases {
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
}

func junitTime(seconds float64) string {
	return fmt.Sprintf("%.3f", max(0, (time.Duration(seconds*float64(time.Second))/time.Millisecond*time.Millisecond).Seconds()))
}

// xmlText makes text fit for XML 1.0; encoding/xml escapes what remains.
func xmlText(s string) string { return clean(s) }

func xmlLines(s string) string {
	lines := strings.Split(s, "\n")
	out := lines[:0]
	for _, l := range lines {
		if l = clean(l); l != "" {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}
