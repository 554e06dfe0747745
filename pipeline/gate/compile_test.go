package gate

import (
	"flag"
	"os"
	"strings"
	"testing"

	"pgpipeline/pipeline/engine"
)

var update = flag.Bool("update", false, "write golden files")

// The texts of mistakes are specified output.
func TestErrorTexts(t *testing.T) {
	l := newLab()
	var out strings.Builder
	for _, c := range []struct {
		expr  string
		where map[string]string
	}{
		{`relqps("hto-points") > 0.95`, nil},
		{`relqps("frobnicate") > 0.95`, nil},
		{`relqps("point-q") > 0.95`, nil},
		{`relqps("hot-points") > relqps("q1000")`, nil},
		{`p99("hot-points") < 5`, nil},
		{`geomean("read") > 0.95`, nil},
		{`geomean("nothing-*") > 0.95`, nil},
		{`relqps("hot-points", "a17") > 0.95`, nil},
		{`relqps("hot-points", "a16") > 0.95`, nil},
		{`relqps("hot-points", "a18", "a16", "a18") > 0.95`, nil},
		{`p99("q1000") < ms(5)`, nil},
		{`max_response("q1000", "inserts") < seconds(2)`, nil},
		{`stall("q1000", {blow: 0.1}) < seconds(2)`, nil},
		{`stall("q1000", {below: 2}) < seconds(2)`, nil},
		{`same("hot-points")`, nil},
		{`relqps("hot-points", 0.1) > 1`, nil},
		{`relqps(0.1) > 1`, nil},
		{`relqps() > 1`, nil},
		{`rate("q1000") > 1`, nil},
		{`relqsp("hot-points") > 0.95`, nil},
		{"relqps(\"hot-points\") > 0.9 &&\n  relqps(\"scna\") > 0.9", nil},
		{`relqps("hot-points") > 0.95`, map[string]string{"confg": "a18"}},
		{`relqps("hot-points") > 0.95`, map[string]string{"config": "a19"}},
		{`relqps("hot-points") > 0.95`, map[string]string{"config": "a16"}},
	} {
		a := engine.Assertion{Expr: c.expr, Severity: "fail", File: "io.yaml", Line: 31, Column: 5, Where: c.where}
		_, err := Compile([]engine.Assertion{a}, []engine.Facet{l.facet}, map[string][]string{"mine": {"*point*"}})
		if err == nil {
			t.Errorf("%s %v: compiles", c.expr, c.where)
			continue
		}
		out.WriteString(err.Error() + "\n\n")
	}
	golden(t, "testdata/errors.golden", out.String())
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the diff. Got:\n%s", path, got)
	}
}

// An assertion holds for every candidate of every facet that it fits; each counts.
func TestBinding(t *testing.T) {
	facet := func(clients string, steps ...engine.StepInfo) engine.Facet {
		f := newLab().facet
		f.Name, f.Cell = "clients="+clients, map[string]string{"clients": clients}
		f.Variants = append(f.Variants, engine.VariantInfo{Name: "a20", Cell: map[string]string{"config": "a20"}})
		f.Steps = append(f.Steps, steps...)
		return f
	}
	facets := []engine.Facet{facet("1"), facet("8", engine.StepInfo{Name: "scan_range=100", Class: "steady"})}
	other := newLab().facet
	other.Stage, other.Steps = "second", []engine.StepInfo{{Name: "second/q100", Class: "whole"}}
	facets = append(facets, other)
	for _, c := range []struct {
		expr  string
		where map[string]string
		want  string
		m     int
	}{
		{`relqps("hot-points") > 0.95`, nil, "clients=1:a18 clients=1:a20 clients=8:a18 clients=8:a20", 4},
		{`relqps("hot-points") > 0.95`, map[string]string{"clients": "8"}, "clients=8:a18 clients=8:a20", 2},
		{`relqps("hot-points") > 0.95`, map[string]string{"config": "a20"}, "clients=1:a20 clients=8:a20", 2},
		{`relqps("hot-points", "a20") > 0.95`, nil, "clients=1:a20 clients=8:a20", 2},
		{`relqps("scan") > 0.95 && relqps("scan") < 1.1`, nil, "clients=8:a18 clients=8:a20", 4},
		{`relqps("q100") > 0.95`, nil, ":a18", 1},
		{`relqps("second/q100") > 0.95`, nil, ":a18", 1},
		{`qps("scan", "a16") > 1`, nil, "clients=8:a16", 0},
		{`qps("scan") > 1 && qps("scan", "a16") > 1`, nil, "clients=8:a18 clients=8:a20", 0},
		{`geomean("reads") > 0.95`, nil, "clients=1:a18 clients=1:a20 clients=8:a18 clients=8:a20", 4},
	} {
		a := engine.Assertion{Expr: c.expr, Severity: "fail", Where: c.where}
		g, err := Compile([]engine.Assertion{a}, facets, nil)
		if err != nil {
			t.Errorf("%s: %v", c.expr, err)
			continue
		}
		var got []string
		for _, ch := range g.checks {
			got = append(got, ch.scope.facet.Name+":"+ch.candidate)
		}
		if s := strings.Join(got, " "); s != c.want || g.count(func(check) bool { return true }) != c.m {
			t.Errorf("%s %v: binds to %q with m = %d, want %q with %d", c.expr, c.where, s, g.atoms, c.want, c.m)
		}
	}
}

func TestStepNames(t *testing.T) {
	s := scope{facet: newLab().facet, groups: map[string][]string{"mine": {"*point*"}, "pre": {"*.pre*"}}}
	for name, want := range map[string]string{
		"hot-points": hot, "hot": hot, "hot-points_range=100": hot, "point-query": point, "point-query.pre": "point-query.pre_range=100", "q1000": "q1000", "q1": "", "hot-point": "",
		"run/q1000": "q1000", "point-q": "", "": "",
	} {
		got, err := s.step(name)
		if got.Name != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q (%v), want %q", name, got.Name, err, want)
		}
	}
	for name, want := range map[string]int{"mine": 3, "pre": 1, "reads": 2, "point*": 2, "*": 4, "q1000": 1, "hot-points": 1} {
		if got, err := s.members(name); err != nil || len(got) != want {
			t.Errorf("group %q has %d members (%v), want %d", name, len(got), err, want)
		}
	}
}

// Without a compared axis there is one variant: its own figures can be asserted, ratios cannot.
func TestSingleVariant(t *testing.T) {
	l := newLab()
	l.facet.Variants = l.facet.Variants[:1]
	for range 3 {
		l.block()
	}
	if v := l.judge(t, `qps("hot-points") > 100`); v.Outcome != Pass || v.Assertions[0].Candidate != "a16" {
		t.Errorf("%s: %s", v.Outcome, v.Reason)
	}
	rec := l.record(`relqps("hot-points") > 0.9`)
	if _, err := Compile(rec.Experiment.Asserts, rec.Facets, nil); err == nil || !strings.Contains(err.Error(), "single variant") {
		t.Errorf("a ratio without a candidate: %v", err)
	}
}
