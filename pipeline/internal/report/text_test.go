package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"pgpipeline/pipeline/gate"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("golden file: %v (write it with -update)", err)
	}
	if got != string(want) {
		t.Errorf("%s differs (write it with -update):\n%s", name, firstDifference(got, string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return "line " + strconv.Itoa(i+1) + "\n got: " + a + "\nwant: " + b
		}
	}
	return ""
}

func render(t *testing.T, format string, in Input) string {
	t.Helper()
	var b bytes.Buffer
	if err := Render(format, in, &b); err != nil {
		t.Fatalf("render %s: %v", format, err)
	}
	return b.String()
}

// example is a small run with one of everything.
func example() Input {
	s := newSynth(3, 8, 4)
	rec := s.record()
	return Input{Record: rec, Verdict: s.verdict(rec)}
}

func TestText(t *testing.T) {
	in := example()
	golden(t, "report.txt", render(t, "text", in))
	in.Width = 60
	narrow := render(t, "text", in)
	golden(t, "report-60.txt", narrow)
	in.Width = 72
	golden(t, "report-72.txt", render(t, "text", in))
	in.Width, in.Color = 0, true
	colored := render(t, "text", in)
	in.Color = false
	if got, want := ansi.Strip(colored), render(t, "text", in); got != want {
		t.Errorf("colours change the text: %s", firstDifference(got, want))
	}
	if colored == ansi.Strip(colored) {
		t.Error("no colours")
	}
}

func TestGolden(t *testing.T) {
	in := example()
	for name, file := range map[string]string{"markdown": "report.md", "json": "report.json", "csv": "report.csv",
		"junit": "report.junit.xml", "bench": "report.bench", "html": "report.html", "github": "report.github"} {
		golden(t, file, render(t, name, in))
	}
}

func TestHints(t *testing.T) {
	atom := func(minutes, needed float64, boots int) []gate.Atom {
		return []gate.Atom{{Minutes: minutes, MinutesNeeded: needed, Boots: boots}}
	}
	tests := []struct {
		result gate.AssertionResult
		want   string
	}{
		{gate.AssertionResult{Outcome: gate.Pass, Reason: "budget"}, ""},
		{gate.AssertionResult{Reason: "budget", MinutesNeeded: 3, Atoms: atom(3, 3, 6)}, "about 6 more blocks (30m00s) would decide it: `pipeline run x.yaml --add-blocks 6`"},
		{gate.AssertionResult{Reason: "budget", MinutesNeeded: 0.1, Atoms: atom(3, 0.1, 6)}, "about 1 more block (5m00s) would decide it: `pipeline run x.yaml --add-blocks 1`"},
		{gate.AssertionResult{Reason: "budget", MinutesNeeded: 11}, "about 3 more blocks (15m00s) would decide it: `pipeline run x.yaml --add-blocks 3`"},
		{gate.AssertionResult{Reason: "budget"}, "nobody can say how many more blocks would decide it: a limit farther from what was measured would, or a quieter machine"},
		{gate.AssertionResult{Reason: "too-few"}, "run it again: `pipeline run x.yaml` goes on where this one ended"},
		{gate.AssertionResult{Reason: "few-tail"}, "a longer `duration`, or a lower percentile"},
		{gate.AssertionResult{Reason: "the server died"}, ""},
	}
	for _, tt := range tests {
		if got := hint(tt.result, rerun{file: "x.yaml", blockMinutes: 5}); got != tt.want {
			t.Errorf("%s, %v minutes: %q, want %q", tt.result.Reason, tt.result.MinutesNeeded, got, tt.want)
		}
	}
}

func TestWarningsAreToldOnce(t *testing.T) {
	in := example()
	for i := range in.Record.Blocks {
		for k := range in.Record.Blocks[i].Measurements {
			in.Record.Blocks[i].Measurements[k].Unsteady = true
		}
	}
	in.Record.Warnings = []string{"twice", "twice"}
	got := buildWarnings(in.Record, in.Verdict)
	want := []string{"twice (2 times)",
		"not steady after the warm-up: point-query on 15.8, point-query on 16.4, point-query on 17.0, hot-points on 15.8 and 20 more",
		"block 4: the block does not count: interrupted"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("warnings\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWindow(t *testing.T) {
	line := "assert: ['relqps(\"point-query\") > 0.2', 'relqps(\"update-index\") > 1.5']"
	for _, tt := range []struct{ at, width, cells int }{{9, 0, len(line)}, {9, 200, len(line)}, {9, 30, 30}, {41, 30, 30}, {len(line) - 1, 30, 30}, {0, 21, 21}} {
		got, place := window(line, tt.at, tt.width)
		signs := []rune(got)
		if len(signs) != tt.cells || place < 0 || place >= len(signs) {
			t.Errorf("at %d, width %d: %d cells and place %d: %q", tt.at, tt.width, len(signs), place, got)
			continue
		}
		if signs[place] != rune(line[tt.at]) {
			t.Errorf("at %d, width %d: the sign at %d of %q is another", tt.at, tt.width, place, got)
		}
	}
}

// TestTextFitsTheTerminal: no table is wider than the terminal, however many variants there are, and no unit is lost.
func TestTextFitsTheTerminal(t *testing.T) {
	s := newSynth(6, 42, 3)
	for i := range s.steps {
		if s.steps[i].Name == "scan" {
			s.steps[i].Unit = "rows"
		}
	}
	rec := s.record()
	in := Input{Record: rec, Verdict: s.verdict(rec)}
	in.Record.Warnings, in.Record.Experiment.Doc = nil, ""
	for _, in.Width = range []int{60, 80, 100, 200} {
		out := render(t, "text", in)
		tables, _, _ := strings.Cut(out, "\nassertions\n")
		for _, line := range strings.Split(tables, "\n") {
			if w := ansi.StringWidth(line); w > in.Width {
				t.Errorf("width %d: a line of %d: %q", in.Width, w, line)
			}
		}
		if !strings.Contains(tables, "queries; scan: rows") && !strings.Contains(tables, "unit") {
			t.Errorf("width %d: no units", in.Width)
		}
	}
}
