package spec_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgpipeline/pipeline/internal/lang"
	"pgpipeline/pipeline/internal/spec"
)

func tuningKinds() []spec.KindInfo {
	return append(kindInfos(), spec.KindInfo{Name: "load"})
}

// The experiment of the format's documentation, read from disk.
func TestLoadWhole(t *testing.T) {
	e, err := spec.Load("testdata/tuning/tuning-round4.yaml", spec.Options{Kinds: tuningKinds(), Set: []string{"rows=5k"}})
	if err != nil {
		t.Fatal(err)
	}
	var stages, vars []string
	for _, s := range e.Stages {
		stages = append(stages, s.ID)
	}
	for _, v := range e.Vars {
		vars = append(vars, fmt.Sprintf("%s=%s set=%v", v.Name, v.Value.Text, v.Set))
	}
	got := fmt.Sprint(e.Name, " ", e.Version, e.Includes, stages, vars, len(e.Matrix.Axes), e.Baseline, e.Groups)
	want := "tuning-round4 1 [testdata/tuning/lib/builds.yaml testdata/tuning/lib/configs.yaml] [fetch build config load run compare] " +
		"[pg=15.3 set=false rows=5k set=true] 1 map[config:a16] map[mine:[q*]]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if names := e.Names("builds"); fmt.Sprint(names) != "[def o2 o2_nofp]" {
		t.Errorf("builds are %v", names)
	}
	if s := e.Stages[5].Params; s == nil || s.Kind != spec.Map {
		t.Errorf("parameters of compare are %+v", s)
	}
	checkAsserts(t, e)
}

func checkAsserts(t *testing.T, e *spec.Experiment) {
	t.Helper()
	text := strings.Split(string(e.Text), "\n")
	for i, want := range []struct {
		expr, severity, where, first string
	}{
		{`relqps("l.i1") > 0.95`, "fail", "map[]", "relqps"},
		{`max_response("q1000", "insert") < seconds(2)`, "warn", "map[]", "max_response"},
		{`relqps("q100") > 0.9`, "fail", "map[config:a18]", "relqps"},
	} {
		a := e.Asserts[i]
		if a.Expr != want.expr || a.Severity != want.severity || fmt.Sprint(a.Where) != want.where {
			t.Errorf("assertion %d is %+v", i, a)
		}
		if line := text[a.Pos.Line-1]; !strings.HasPrefix(line[a.Pos.Col-1:], want.first) {
			t.Errorf("assertion %d is said to begin at %v: %q", i, a.Pos, line)
		}
	}
	if at := e.Asserts[2].At(17); at.Line != 35 || at.Col != 7 {
		t.Errorf("0.9 of the folded assertion is at %v", at)
	}
}

func TestOverlay(t *testing.T) {
	e, err := spec.Load("testdata/tuning/tuning-round4.yaml", spec.Options{Kinds: tuningKinds()})
	if err != nil {
		t.Fatal(err)
	}
	eval := func(expr string, _ spec.Pos) (string, error) { return lang.Eval(expr, map[string]any{"config": "a18"}) }
	v, err := e.Overlay("configs", e.Stages[2].Params, eval)
	if err != nil {
		t.Fatal(err)
	}
	want := `{settings: {shared_buffers: "2GB", wal_compression: {value: "lz4", since: "15"}, max_wal_size: "70GB"}}`
	if got := dump(v); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if at := v.Find("settings.shared_buffers").Pos; at.File != "testdata/tuning/lib/configs.yaml" || at.Line != 11 {
		t.Errorf("the value is said to stand at %v", at)
	}
	v, err = e.Overlay("builds", parse(t, "{use: [def, o2_nofp], jobs: 3}"), eval)
	if err != nil || dump(v) != `{cflags: "-O2 -fno-omit-frame-pointer", jobs: "3"}` {
		t.Errorf("two fragments gave %s, %v", dump(v), err)
	}
}

// An experiment's name comes from its file; what a name must not have is replaced.
func TestName(t *testing.T) {
	for path, want := range map[string]string{"a/b/pg17-hot.yaml": "pg17-hot", "My Test.yml": "my-test", "x": "x", "a.b.yaml": "a.b",
		"--.yaml": "experiment"} {
		text := "version: 1\nstages: [compare: ]\n"
		e, err := spec.Load(path, spec.Options{Kinds: kindInfos(), ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
		if err != nil || e.Name != want {
			t.Errorf("%s: name %q, error %v; want %q", path, e.Name, err, want)
		}
	}
}

// Each included file is read once, wherever its name comes up, and relative to the file that names it.
func TestIncludes(t *testing.T) {
	reads := map[string]int{}
	disk := files(map[string]string{
		"exp/x.yaml":      "version: 1\ninclude: [lib/a.yaml, lib/b.yaml, ./lib/../lib/a.yaml]\nstages:\n  - config: {use: c}\nvars: {two: \"${one}\"}\n",
		"exp/lib/a.yaml":  "version: 1\ninclude: ../../base.yaml\nconfigs: {c: {extends: base}}\n",
		"exp/lib/b.yaml":  "include: ../../base.yaml\n",
		"base.yaml":       "configs: {base: {settings: {a: 1}}}\nvars: {one: 1}\n",
		"exp/unused.yaml": "",
	})
	e, err := spec.Load("exp/x.yaml", spec.Options{Kinds: kindInfos(), ReadFile: func(p string) ([]byte, error) { reads[p]++; return disk(p) }})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(reads); got != "map[base.yaml:1 exp/lib/a.yaml:1 exp/lib/b.yaml:1 exp/x.yaml:1]" {
		t.Errorf("reads: %s", got)
	}
	if e.Vars[0].Name != "one" || e.Vars[1].Name != "two" {
		t.Errorf("variables of includes do not come first: %+v", e.Vars)
	}
}

func TestUnreadable(t *testing.T) {
	_, err := spec.Load(filepath.Join(t.TempDir(), "none.yaml"), spec.Options{})
	if !spec.IsNotExist(err) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there gives %v", err)
	}
	dir := t.TempDir()
	if _, err := spec.Load(dir, spec.Options{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory gives %v", err)
	}
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := spec.Load(big, spec.Options{}); err == nil || !strings.Contains(err.Error(), "more than the") {
		t.Errorf("2 MiB give %v", err)
	}
}

func TestMatrixAndStages(t *testing.T) {
	e := mustLoad(t, `
version: 1
matrix:
  pg: [16.10, "17"]
  c: [a, b]
  exclude: {pg: 16.10, c: b}
  include: [{pg: 18beta1, c: z}]
baseline: {pg: 18beta1}
stages:
  - fetch: {source: x}
    id: src
  - build:
    needs: src
    pin: {c: z}
  - run: {}
    id: first
  - run: {}
    needs: [build, src]
assert: relqps("a") > 1
groups: {one: "a*", two: [b, c]}
gate: {on_inconclusive: fail}
`)
	if got := fmt.Sprintln(e.Matrix.Exclude, e.Matrix.Include, e.Baseline, e.Stages[1].Needs, e.Stages[1].Pin, e.Stages[3].Needs, e.Groups,
		e.Gate.OnInconclusive, len(e.Asserts)); got != "[map[c:b pg:16.10]] [map[c:z pg:18beta1]] map[pg:18beta1] [src] map[c:z] [build src] "+
		"map[one:[a*] two:[b c]] fail 1\n" {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprintln(e.Stages[0].ID, e.Stages[1].ID, e.Stages[2].ID, e.Stages[3].ID); got != "src build first run\n" {
		t.Errorf("ids are %s", got)
	}
}

func TestAssertError(t *testing.T) {
	e := mustLoad(t, "version: 1\nstages: [compare: ]\nassert:\n  - >\n    relqps(\"a\") > 1\n    && rqlps(\"b\") > 1\n")
	err := e.AssertError(e.Asserts[0].Expr, strings.Index(e.Asserts[0].Expr, "rqlps"), "unknown function", "did you mean?")
	if want := "x.yaml:6:8: unknown function\n |     && rqlps(\"b\") > 1\n |        ^ did you mean?"; err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if err := e.AssertError("x", 0, "", ""); err != nil {
		t.Errorf("an assertion that is not there gave %v", err)
	}
}

// Files that are within the limits of YAML and would cost minutes if every mistake in them were looked at.
func TestLoadBombs(t *testing.T) {
	list := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "#", strconv.Itoa(i)))
		}
		return b.String()
	}
	head := "version: 1\nstages: [compare: ]\n"
	for name, c := range map[string]struct{ text, want string }{
		"stages":            {"version: 1\nstages:\n" + list(5000, " - run:\n"), "more than 1000 stages"},
		"stages, same kind": {"version: 1\nstages:\n" + list(999, " - run:\n"), "a second stage"},
		"assertions":        {head + "assert:\n" + list(5000, " - a\n"), "more than 1000 assertions"},
		"unknown keys":      {head + list(25_000, "unknown_key_of_some_length_#: 1\n"), "... and 90 more"},
		"unknown extends":   {head + "configs:\n" + list(15_000, "  c#: {extends: x#}\n"), "... and 90 more"},
		"axes":              {head + "matrix: {" + list(10_000, "a#: [x], ") + "}\n", "more than 32 axes"},
		"exclude":           {head + "matrix: {a: [" + list(3000, "x#, ") + "], exclude: [" + list(3000, "{a: y#}, ") + "]}\n", "... and 90 more"},
		"excludes":          {head + "matrix: {a: [x], exclude: [" + list(11_000, "{a: x}, ") + "]}\n", "more than 10000 items"},
		"variables":         {head + "vars: {" + list(10_000, "v-#: 1, ") + "}\n", "... and 90 more"},
		"templates":         {head + "vars: {" + list(20_000, "v#: \"${x#}\", ") + "}\n", "more than 10000 texts"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := spec.Load("x.yaml", spec.Options{Kinds: kindInfos(), ReadFile: files(map[string]string{"x.yaml": c.text})})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %.600v, want %q", err, c.want)
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	for _, c := range errorCases {
		f.Add([]byte(c.file()))
	}
	whole, err := os.ReadFile("testdata/tuning/tuning-round4.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, text []byte) {
		read := func(path string) ([]byte, error) {
			if path == "x.yaml" {
				return text, nil
			}
			return nil, fs.ErrNotExist
		}
		e, err := spec.Load("x.yaml", spec.Options{Kinds: tuningKinds(), ReadFile: read})
		if err != nil {
			if err.Error() == "" || strings.Contains(err.Error(), "\x1b") {
				t.Fatalf("bad message %q", err)
			}
			return
		}
		if len(e.Stages) == 0 || e.Name == "" {
			t.Fatalf("loaded without stages or name: %+v", e)
		}
		_ = decodeAll(e, map[string]any{"pg": "17", "rows": "1"})
	})
}

// A file with a matrix of 500 nodes and the fragments that go with it.
func BenchmarkLoad(b *testing.B) {
	var configs, versions, names strings.Builder
	for i := range 60 {
		fmt.Fprintf(&configs, "  c%d:\n    extends: [base]\n    settings:\n      shared_buffers: %dGB\n      max_wal_size: {value: 70GB, since: 13}\n      work_mem: 4MB\n", i, i)
	}
	for i := range 50 {
		fmt.Fprintf(&versions, "\"17.%d\", ", i)
		fmt.Fprintf(&names, "c%d, ", i)
	}
	disk := files(map[string]string{
		"x.yaml": "version: 1\ninclude: lib.yaml\nmatrix: {pg: [" + versions.String() + "], config: [" + names.String() + "]}\nbaseline: {config: c0}\n" +
			"stages:\n  - fetch: {source: \"https://example.org/${pg}.tar.bz2\"}\n  - build: {use: def}\n  - config: {use: \"${config}\"}\n  - run: {steps: [a, b, c]}\n",
		"lib.yaml": "configs:\n  base: {settings: {a: 1, b: 2, c: 3}}\n" + configs.String(),
	})
	for b.Loop() {
		if _, err := spec.Load("x.yaml", spec.Options{Kinds: kindInfos(), ReadFile: disk}); err != nil {
			b.Fatal(err)
		}
	}
}

// What the planner does for each of 500 nodes: fragment, `${ }`, decoding.
func BenchmarkOverlay500(b *testing.B) {
	e, err := spec.Load("testdata/tuning/tuning-round4.yaml", spec.Options{Kinds: tuningKinds()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for range 500 {
			v, err := e.Overlay("configs", e.Stages[2].Params, func(string, spec.Pos) (string, error) { return "a18", nil })
			if err == nil {
				err = spec.Decode(v, &configParams{})
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
