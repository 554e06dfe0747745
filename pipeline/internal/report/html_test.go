package report

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
)

// TestHTMLOfALargeRun keeps the page of 42 steps, 6 variants and 10 blocks below 5 MB. With -update it also writes the page to
// $REPORT_HTML for who wants to look at it.
func TestHTMLOfALargeRun(t *testing.T) {
	in := large()
	began := time.Now()
	out := render(t, "html", in)
	t.Logf("%d bytes in %v", len(out), time.Since(began))
	if len(out) > 5<<20 {
		t.Errorf("the page has %d bytes", len(out))
	}
	if path := os.Getenv("REPORT_HTML"); path != "" {
		if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHTMLNeedsNothingElse finds whatever would make a browser fetch or run something.
func TestHTMLNeedsNothingElse(t *testing.T) {
	out := render(t, "html", example())
	for _, bad := range []string{"<script", "<link", "<img", "src=", "url(", "@import", "http://", "https://fonts"} {
		if i := strings.Index(out, bad); i >= 0 {
			t.Errorf("the page has %q: %q", bad, out[max(0, i-40):min(len(out), i+60)])
		}
	}
	if strings.Contains(out, "ZgotmplZ") {
		t.Error("html/template refused a value")
	}
}

// TestHTMLIsWellFormed reads the page with a parser that refuses elements that are not closed, or closed in the wrong order.
func TestHTMLIsWellFormed(t *testing.T) {
	for name, in := range map[string]Input{"example": example(), "insert": insertExample(), "large": large()} {
		d := xml.NewDecoder(strings.NewReader(render(t, "html", in)))
		d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
	}
}

func BenchmarkHTML(b *testing.B) {
	in := large()
	for b.Loop() {
		if err := Render("html", in, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

func TestHTMLIDsAreUnique(t *testing.T) {
	in := example()
	second := in.Record.Facets[0]
	second.Name = "clients=8"
	in.Record.Facets = append(in.Record.Facets, second)
	out := render(t, "html", in)
	seen := map[string]bool{}
	for _, part := range strings.Split(out, ` id="`)[1:] {
		id, _, _ := strings.Cut(part, `"`)
		if seen[id] || strings.ContainsAny(id, " \t") {
			t.Errorf("id %q", id)
		}
		seen[id] = true
	}
	for _, part := range strings.Split(out, `href="#`)[1:] {
		if id, _, _ := strings.Cut(part, `"`); !seen[id] {
			t.Errorf("link to %q, which is not there", id)
		}
	}
}

func TestPartition(t *testing.T) {
	step := func(name string, groups ...string) engine.StepInfo {
		return engine.StepInfo{Name: name, Groups: groups}
	}
	older := []engine.StepInfo{step("hot-points", "point-1", "points"), step("point-query", "point-1", "points"), step("points-x.pre", "point-1"), step("points-y.pre", "point-1"),
		step("random", "point-2", "points"), step("random.pre", "point-2"), step("odd")}
	newer := []engine.StepInfo{step("hot-points", "point-1", "points"), step("point-query", "point-1", "points"), step("random", "point-2", "points")}
	tests := []struct {
		steps []engine.StepInfo
		want  map[string]string
	}{
		{older, map[string]string{"hot-points": "point-1", "point-query": "point-1", "points-x.pre": "point-1", "random": "point-2", "odd": noGroup}},
		{newer, map[string]string{"hot-points": "points", "point-query": "points", "random": "points"}},
	}
	for _, tt := range tests {
		got := partition(tt.steps)
		for name, want := range tt.want {
			if got[name] != want {
				t.Errorf("%s is in %q, want %q", name, got[name], want)
			}
		}
	}
}

func TestScales(t *testing.T) {
	lin := scale{lo: 0, hi: 10, from: 100, to: 0}
	for v, want := range map[float64]float64{0: 100, 5: 50, 10: 0, 20: 0, -1: 100} {
		if got := lin.at(v); got != want {
			t.Errorf("linear at(%v) = %v, want %v", v, got, want)
		}
	}
	log := scale{lo: 0.001, hi: 1, from: 0, to: 300, log: true}
	if got := log.at(0.1); got < 199.9 || got > 200.1 {
		t.Errorf("logarithmic at(0.1) = %v, want 200", got)
	}
	if got := log.at(0); got != 0 {
		t.Errorf("logarithmic at(0) = %v, want 0", got)
	}
	if got := len((scale{lo: 0.8, hi: 1.5}).ticks(6)); got < 4 || got > 9 {
		t.Errorf("%d ticks from 0.8 to 1.5", got)
	}
	if got := (scale{lo: 3, hi: 3}).ticks(3); len(got) != 1 {
		t.Errorf("ticks of an empty scale: %v", got)
	}
}

func TestPolylineIsExact(t *testing.T) {
	s := newSVG(10, 10, "x")
	s.polyline([]point{{0, 0}, {1.04, 2}, {2.08, -3}, {3.12, 0}}, "curve")
	if got := string(s.done()); !strings.Contains(got, `d="M0 0l1 2 1.1-5 1 3 "`) {
		t.Errorf("path %s", got)
	}
}

func TestLoopNote(t *testing.T) {
	in := insertExample()
	for b := range in.Record.Blocks {
		for i := range in.Record.Blocks[b].Measurements {
			m := &in.Record.Blocks[b].Measurements[i]
			if op := m.Ops["insert"]; m.Step == "qr100" {
				op.Response = op.Service
				m.Ops["insert"] = op
			}
		}
	}
	f := Build(in.Record, in.Verdict).Facets[0]
	merged := merge(f)
	for _, r := range f.Rows() {
		want := "Closed loop: a stall"
		if r.Name == "qr100" {
			want = "Open loop of insert: response times count from the intended start. Closed loop of query: a stall"
		}
		if got := loopNote(f, r, merged); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", r.Name, got)
		}
		r.Step.OpenLoop = true
		if got := loopNote(f, r, merged); got != "Open loop: response times count from the intended start." {
			t.Errorf("%s in an open loop: %q", r.Name, got)
		}
	}
}

func TestDriftText(t *testing.T) {
	line := func(y ...float64) curve {
		var c curve
		for i, v := range y {
			c.points = append(c.points, point{float64(i), v})
		}
		return c
	}
	for _, tt := range []struct {
		lines []curve
		want  string
	}{
		{nil, ""},
		{[]curve{line(1, 1.02, 0.99), line(1, 1.01, 0.98)}, ""},
		{[]curve{line(0.8, 0.9, 1.2), line(0.8, 0.9, 1.2)}, "between the blocks the machine itself changed by 50 %"},
		{[]curve{line(1, 1.2), line(1.2, 1)}, ""}, // no drift of the machine: one went up, the other down
	} {
		if got := driftText(tt.lines); tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%v: %q, want %q", tt.lines, got, tt.want)
		}
	}
}

// TestCloseToTheLimitLooksClose: 0.807 above a limit of 0.80 is not drawn at the other end of the picture.
func TestCloseToTheLimitLooksClose(t *testing.T) {
	place := func(value float64) float64 {
		chart := string(atomChart(gate.Atom{Call: "x", Op: ">", Value: &value, Limit: 0.8}, "UNKNOWN"))
		_, rest, _ := strings.Cut(chart, `cx="`)
		text, _, _ := strings.Cut(rest, `"`)
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("%v: %v in %s", value, err, chart)
		}
		return x
	}
	if near, far := place(0.807), place(1.2); near > 125 || far < 160 {
		t.Errorf("0.807 is at %.0f and 1.2 at %.0f of 200", near, far)
	}
}
