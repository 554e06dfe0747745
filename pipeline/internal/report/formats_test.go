package report

import (
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/joshdk/go-junit"
	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
)

// large is the size that the formats are built for. Its parts are shared: tests replace them and change none.
var large = sync.OnceValue(func() Input {
	s := newSynth(6, 42, 10)
	rec := s.record()
	return Input{Record: rec, Verdict: s.verdict(rec)}
})

// TestBenchIsReadByBenchstat takes the path that benchstat takes: parse, group by name without /variant, compare the variants' samples.
func TestBenchIsReadByBenchstat(t *testing.T) {
	in := example()
	r := benchfmt.NewReader(strings.NewReader(render(t, "bench", in)), "report")
	samples := map[string]map[string][]float64{}
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Fatalf("%v", rec)
		case *benchfmt.Result:
			step, variant := "", ""
			_, parts := rec.Name.Parts()
			for _, p := range parts {
				if s, ok := strings.CutPrefix(string(p), "/step="); ok {
					step = s
				}
				if v, ok := strings.CutPrefix(string(p), "/variant="); ok {
					variant = v
				}
			}
			v, ok := rec.Value("ops/s")
			if !ok || step == "" || variant == "" {
				t.Fatalf("%s: step %q, variant %q, ops/s %v", rec.Name, step, variant, ok)
			}
			if samples[step] == nil {
				samples[step] = map[string][]float64{}
			}
			samples[step][variant] = append(samples[step][variant], v)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if m, ok := r.Units()[benchfmt.UnitMetadataKey{Unit: "ops/s", Key: "better"}]; !ok || m.Value != "higher" {
		t.Errorf("benchstat is not told that more ops/s is better: %v", m)
	}
	if len(samples) != 8 || len(samples["hot-points"]["17.0"]) != 3 {
		t.Fatalf("%d steps, samples %v", len(samples), samples["hot-points"])
	}
	base := benchmath.NewSample(samples["hot-points"]["15.8"], &benchmath.DefaultThresholds)
	cand := benchmath.NewSample(samples["hot-points"]["17.0"], &benchmath.DefaultThresholds)
	ratio := benchmath.AssumeNothing.Summary(cand, 0.95).Center / benchmath.AssumeNothing.Summary(base, 0.95).Center
	if ratio < 2.3 || ratio > 2.6 {
		t.Errorf("benchstat reads a ratio of %.3f, the record holds 2.43", ratio)
	}
}

func TestBenchNames(t *testing.T) {
	f := Facet{Info: engine.Facet{Name: "clients=8", Stage: "second run"}}
	got := benchName(f, 2, Row{Name: "second run/random-points.pre_range=10", Step: engine.StepInfo{Clients: 8}}, Variant{Name: "17.0/a 18"})
	want := "BenchmarkPipeline/step=second+run+random-points.pre_range=10/stage=second+run/facet=clients=8/variant=17.0+a+18-8"
	if got != want {
		t.Errorf("name %q, want %q", got, want)
	}
}

func TestJUnitIsReadByOthers(t *testing.T) {
	in := example()
	in.Record.Nodes = append(in.Record.Nodes, engine.NodeRecord{ID: "build[pg=19]", Kind: "build", Status: "failed", Error: "make: <error> ]]> \x00 2"})
	in.Verdict.Assertions = append(in.Verdict.Assertions, gate.AssertionResult{Expr: "errors == 0", Outcome: gate.Invalid, Implicit: true, Candidate: "16.4", Severity: "fail"})
	suites, err := junit.Ingest([]byte(render(t, "junit", in)))
	if err != nil {
		t.Fatal(err)
	}
	if len(suites) != 1 {
		t.Fatalf("%d suites", len(suites))
	}
	want := map[string]junit.Status{
		`relqps("hot-points") > 1.7`:          junit.StatusPassed,
		`relqps("update-one") > 0.95`:         junit.StatusFailed,
		`relqps("scan") > 0.93`:               junit.StatusSkipped,
		`p99("point-query") < seconds(0.001)`: junit.StatusSkipped,
		`errors == 0`:                         junit.StatusError,
		`build[pg=19]`:                        junit.StatusError,
	}
	for _, c := range suites[0].Tests {
		if c.Status != want[c.Name] {
			t.Errorf("%s is %s, want %s", c.Name, c.Status, want[c.Name])
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	if tot := suites[0].Totals; tot.Tests != 6 || tot.Failed != 1 || tot.Error != 2 || tot.Skipped != 2 {
		t.Errorf("totals %+v", tot)
	}
}

func TestJUnitWithoutAssertions(t *testing.T) {
	for outcome, want := range map[string]junit.Status{gate.Pass: junit.StatusPassed, gate.Invalid: junit.StatusError} {
		in := example()
		in.Verdict.Assertions, in.Verdict.Outcome = nil, outcome
		suites, err := junit.Ingest([]byte(render(t, "junit", in)))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(suites[0].Tests); n != 1 || suites[0].Tests[0].Status != want {
			t.Errorf("%s: %d tests, %+v", outcome, n, suites[0].Tests)
		}
	}
}

func TestCSVIsReadByOthers(t *testing.T) {
	in := example()
	in.Record.Facets[0].Variants[1].Name = "=HYPERLINK(\"x\")"
	rows, err := csv.NewReader(strings.NewReader(render(t, "csv", in))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	value := 0.0
	for _, r := range rows[1:] {
		if strings.HasPrefix(r[6], "=") {
			t.Fatalf("a spreadsheet runs %q", r[6])
		}
		if r[4] == "hot-points" && r[6] == "17.0" && r[9] == "relqps" {
			if value, err = strconv.ParseFloat(r[11], 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	if value < 2.3 || value > 2.6 {
		t.Errorf("relqps of hot-points on 17.0 is %v", value)
	}
}

var workflowCommand = regexp.MustCompile(`^::(error|warning|notice)(?: ((?:[a-z]+=[^,:\n]*)(?:,[a-z]+=[^,:\n]*)*))?::(.*)$`)

// TestGitHubAnnotations reads the lines as GitHub's runner does, whose rules it follows: what it finds is text, at the assertion's line.
func TestGitHubAnnotations(t *testing.T) {
	in := example()
	fail := in.Verdict.Assertions[1]
	fail.Expr = "relqps(\"a,b:c\") > 0.95 && 10 % 3 == 1\n::error::injected"
	var kinds []string
	for i := range 14 {
		f := fail
		f.Line = i + 1
		in.Verdict.Assertions = append(in.Verdict.Assertions, f)
	}
	unescape := strings.NewReplacer("%2C", ",", "%3A", ":", "%0A", "\n", "%0D", "\r", "%25", "%")
	for i, line := range strings.Split(strings.TrimSuffix(render(t, "github", in), "\n"), "\n") {
		m := workflowCommand.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("line %d is no workflow command: %q", i+1, line)
		}
		kinds = append(kinds, m[1])
		if m[1] == "error" && !strings.HasPrefix(m[2], "file=experiments/pg-versions.yaml,line=") {
			t.Errorf("line %d is not at an assertion: %q", i+1, line)
		}
		if title := unescape.Replace(m[2]); i > 1 && i < 9 && !strings.HasSuffix(title, `relqps("a,b:c") > 0.95 && 10 % 3 == 1 ::error::injected`) {
			t.Errorf("line %d: the expression became %q", i+1, title)
		}
	}
	if got, want := strings.Join(kinds, " "), "notice error error error error error error error error notice"; got != want {
		t.Errorf("annotations %s, want %s", got, want)
	}
	if out := render(t, "github", in); !strings.Contains(out, "::notice::9 more: see the report") {
		t.Errorf("what was left out is not said:\n%s", out)
	}
}

func TestMarkdownStaysBelowTheLimit(t *testing.T) {
	in := large()
	check := func(what string) {
		out := render(t, "markdown", in)
		if len(out) > markdownLimit {
			t.Errorf("%s: %d bytes", what, len(out))
		}
		if !strings.HasPrefix(out, "## ❌ FAIL") {
			t.Errorf("%s: the verdict does not come first", what)
		}
		if strings.Count(out, "<details>") != strings.Count(out, "</details>") {
			t.Errorf("%s: a folded part is cut", what)
		}
	}
	check("42 steps, 6 variants")
	in.Verdict.Assertions = slices.Clone(in.Verdict.Assertions)
	for i := range 500 {
		a := in.Verdict.Assertions[1]
		a.Expr = fmt.Sprintf("%s && relqps(%q) > 0.9", a.Expr, strings.Repeat("x", i))
		in.Verdict.Assertions = append(in.Verdict.Assertions, a)
	}
	check("500 assertions")
}

// TestOutsideTextStaysText renders hostile names in every format.
func TestOutsideTextStaysText(t *testing.T) {
	evil := "<script>alert(1)</script>\x1b[31m|`@someone"
	in := example()
	in.Record.Experiment.Doc, in.Record.Experiment.Name = evil, evil
	in.Record.Facets[0].Variants[2].Name = evil
	in.Verdict.Assertions[1].Expr, in.Verdict.Assertions[1].Reason = evil, evil
	in.Record.Warnings = []string{evil}
	in.Record.Nodes[0].Error, in.Record.Nodes[0].Status = evil, "failed"
	names, _ := Formats()
	for _, name := range names {
		out := render(t, name, in)
		if strings.Contains(out, "\x1b") {
			t.Errorf("%s: an escape sequence went through", name)
		}
		markup := name == "html" || name == "junit" || name == "markdown"
		if stripped := regexp.MustCompile("`[^`]*`").ReplaceAllString(out, ""); markup && strings.Contains(stripped, "<script>alert") {
			t.Errorf("%s: markup went through", name)
		}
	}
}

func TestSecretsNeverAppear(t *testing.T) {
	in := example()
	in.Record.Error = "dial: password=hunter2"
	in.Record.Nodes[0].Facts = map[string]string{"token": "hunter2", "address": "https://joe:hunter2@example.org/"}
	in.Record.Nodes[0].Status, in.Record.Nodes[0].Error = "failed", "https://joe:hunter2@example.org/: 403"
	in.Record.Experiment.Text = "vars:\n  db_password: hunter2\n" + in.Record.Experiment.Text
	in.Record.Experiment.Set = []string{"db_password=hunter2"}
	in.Verdict.Warnings = []string{"Authorization: Bearer hunter2hunter2"}
	names, _ := Formats()
	for _, name := range names {
		out := render(t, name, in)
		for _, secret := range []string{"hunter2", "pa55word", "s3cret"} {
			if i := strings.Index(out, secret); i >= 0 {
				t.Errorf("%s shows %q: %q", name, secret, out[max(0, i-60):i+len(secret)])
			}
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	var b strings.Builder
	err := Render("pdf", example(), &b)
	if err == nil || !strings.Contains(err.Error(), `unknown format "pdf", known are text, markdown`) {
		t.Errorf("error %v", err)
	}
}

// TestEmptyRecords renders what a run leaves that ended early.
func TestEmptyRecords(t *testing.T) {
	s := newSynth(2, 8, 1)
	full := s.record()
	noBlocks := *full
	noBlocks.Blocks = nil
	for what, rec := range map[string]*engine.Record{
		"nothing":          {ID: "r"},
		"no blocks":        &noBlocks,
		"facet of nothing": {ID: "r", Facets: []engine.Facet{{Name: "x", Steps: full.Facets[0].Steps}}},
	} {
		names, _ := Formats()
		for _, name := range names {
			out := render(t, name, Input{Record: rec, Verdict: gate.Verdict{Outcome: gate.Invalid, ExitCode: 4, Reason: "nothing was measured"}, Width: 80})
			if name != "csv" && name != "bench" && name != "json" && !strings.Contains(out, "nothing was measured") {
				t.Errorf("%s of %s does not say why:\n%s", name, what, out)
			}
			if strings.Contains(out, "NaN") || strings.Contains(out, "Inf") {
				t.Errorf("%s of %s has figures that are none:\n%s", name, what, out)
			}
		}
	}
}
