package spec_test

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"pgpipeline/pipeline/internal/spec"
)

func compile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("experiment.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("experiment.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asEditor reads YAML as an editor does: numbers, booleans and nulls are what they look like.
func asEditor(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

const oneStage = "version: 1\nstages:\n  - "

// What the schema allows is what loading and decoding accept. References to names are beyond a schema, so no case has a wrong
// one.
func TestSchemaAgrees(t *testing.T) {
	text, err := spec.Schema(kindInfos(), params())
	if err != nil {
		t.Fatal(err)
	}
	schema := compile(t, text)
	env := map[string]any{"pg": "17", "n": "8"}
	for _, c := range []struct {
		text string
		good bool
	}{
		{oneStage + "compare: {}", true},
		{oneStage + "compare:", true},
		{oneStage + "compare: []", false},
		{oneStage + "compare: {x: 1}", false},
		{oneStage + "compair: {}", false},
		{oneStage + "{id: x}", false},
		{oneStage + "{compare: , run: }", false},
		{oneStage + "{compare: , id: x, needs: [], pin: }", true},
		{oneStage + "{compare: , id: X}", false},
		{"stages: [compare: ]", false},
		{"version: 1", false},
		{"version: 2\nstages: [compare: ]", false},
		{"version: 1\nstages: []", false},
		{"version: 1\nstages: [compare: ]\nmatrix: {pg: 17}", false},
		{"version: 1\nstages: [compare: ]\nmatrix: {pg: []}", false},
		{"version: 1\nstages: [compare: ]\nmatrix: {pg: [17, '17.1', true]}\nbaseline: {pg: 17}", true},
		{"version: 1\nstages: [compare: ]\nmatrix: {p-g: [17]}", false},
		{"version: 1\nstages: [compare: ]\nmatrix: {a: [1], exclude: [{a: 1}], include: {a: 2}}", true},
		{"version: 1\nstages: [compare: ]\nmatrix: {a: [1], exclude: 3}", false},
		{"version: 1\nstages: [compare: ]\nvars: {a: 1, b: x, c: true}", true},
		{"version: 1\nstages: [compare: ]\nvars: {a: [1]}", false},
		{"version: 1\nstages: [compare: ]\nvars: {a: }", false},
		{"version: 1\nstages: [compare: ]\nname: My name", false},
		{"version: 1\nstages: [compare: ]\nname: my-name.2", true},
		{"version: 1\nstages: [compare: ]\ngate: {on_inconclusive: pass}", true},
		{"version: 1\nstages: [compare: ]\ngate: {on_inconclusive: ignore}", false},
		{"version: 1\nstages: [compare: ]\nassert: a > 1", true},
		{"version: 1\nstages: [compare: ]\nassert: [a > 1, {expr: b, severity: warn, published: 1.5}]", true},
		{"version: 1\nstages: [compare: ]\nassert: [{severity: warn}]", false},
		{"version: 1\nstages: [compare: ]\nassert: [[a]]", false},
		{"version: 1\nstages: [compare: ]\ngroups: {a: x, b: [y, z]}", true},
		{"version: 1\nstages: [compare: ]\ngroups: {a: {b: c}}", false},
		{"version: 1\nstages: [compare: ]\nbuilds: {a: {cflags: -O2}, b: {extends: a, jobs: 3}, c: {extends: [a, b]}}", true},
		{"version: 1\nstages: [compare: ]\nbuilds: {a: x}", false},
		{"version: 1\nstages: [compare: ]\nbuild: {}", false},
		{oneStage + "fetch: {source: a}", true},
		{oneStage + "fetch: {source: [a, b]}", true},
		{oneStage + "fetch: {source: {a: b}}", false},
		{oneStage + "fetch: {sha256: a}", false},
		{oneStage + "fetch: {source: a, limit: 70GB}", true},
		{oneStage + "fetch: {source: a, limit: 1024}", true},
		{oneStage + "fetch: {source: a, limit: 70 gigs}", false},
		{oneStage + "fetch: {source: a, limit: '${n}GB'}", true},
		{oneStage + "fetch: {source: a, since: 16.10}", true},
		{oneStage + "fetch: {source: a, since: 18beta1}", true},
		{oneStage + "fetch: {source: a, since: new}", false},
		{oneStage + "build: {use: def, jobs: 3}", true},
		{oneStage + "build: {jobs: many}", false},
		{oneStage + "build: {jobs: '${n}'}", true},
		{oneStage + "build: {jobs: '8'}", true},
		{oneStage + "build: {jobs: 1.5}", false},
		{oneStage + "build: {jobs: [1]}", false},
		{oneStage + "build: {assert: true}", true},
		{oneStage + "build: {assert: 'true'}", true},
		{oneStage + "build: {assert: maybe}", false},
		{oneStage + "build: {assert: '${1 < 2}'}", true},
		{oneStage + "build: {recipe: meson}", true},
		{oneStage + "build: {recipe: cmake}", false},
		{oneStage + "build: {options: [--with-lz4, {flag: --with-icu, since: 16}]}", true},
		{oneStage + "build: {options: --with-lz4}", false},
		{oneStage + "build: {options: [{since: 16}]}", false},
		{oneStage + "build: {env: {A: 1, B: x}}", true},
		{oneStage + "build: {env: [A]}", false},
		{oneStage + "config: {settings: {fsync: off, work_mem: 4MB, jit: {value: on, since: 11}}}", true},
		{oneStage + "config: {settings: {jit: {value: on, sicne: 11}}}", false},
		{oneStage + "config: {settings: {jit: {since: 11}}}", false},
		{oneStage + "run: {steps: hot-points}", true},
		{oneStage + "run: {steps: [a, {step: b, pre: true, nested: {step: c}}]}", true},
		{oneStage + "run: {steps: [{step: b, nested: {stop: c}}]}", false},
		{oneStage + "run: {clients: 20M, duration: 1h30m, rate: 2000/s, factor: 1.5, ports: [80], seed: 3}", true},
		{oneStage + "run: {clients: few}", false},
		{oneStage + "run: {duration: 30}", false},
		{oneStage + "run: {duration: 0}", true},
		{oneStage + "run: {rate: 30}", false},
		{oneStage + "run: {factor: fast}", false},
		{oneStage + "run: {seed: -1}", false},
		{oneStage + "run: {budget: {blocks: 3, time: 1h}}", true},
		{oneStage + "run: {budget: {block: 3}}", false},
		{oneStage + "run: {budget: }", true},
	} {
		bySchema := schema.Validate(asEditor(t, c.text))
		e, byDecode := spec.Load("x.yaml", spec.Options{Kinds: kindInfos(), ReadFile: files(map[string]string{"x.yaml": c.text})})
		if byDecode == nil {
			byDecode = decodeAll(e, env)
		}
		if (bySchema == nil) != c.good {
			t.Errorf("%s\nschema: %v", c.text, bySchema)
		}
		if (byDecode == nil) != c.good {
			t.Errorf("%s\ndecoding: %v", c.text, byDecode)
		}
	}
}

func TestLibrarySchema(t *testing.T) {
	text, err := spec.LibrarySchema(kindInfos(), params())
	if err != nil {
		t.Fatal(err)
	}
	schema := compile(t, text)
	for text, good := range map[string]bool{
		"builds: {o2: {cflags: -O2}}\nvars: {a: 1}": true,
		"version: 1\nconfigs: {base: }":             true,
		"configs: {a: {settings: {x: null}}}":       true,
		"stages: []":                                false,
		"builds: {o2: {flags: -O2}}":                false,
	} {
		if err := schema.Validate(asEditor(t, text)); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSchemaIsTheSameEveryTime(t *testing.T) {
	first, err := spec.Schema(kindInfos(), params())
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if again, _ := spec.Schema(kindInfos(), params()); !bytes.Equal(first, again) {
			t.Fatal("two calls gave different bytes")
		}
	}
	if bytes.Contains(first, []byte(`\u003c`)) {
		t.Error("characters are escaped as if for HTML")
	}
	if _, err := spec.Schema(kindInfos(), nil); err == nil {
		t.Error("kinds without parameter structs gave a schema")
	}
}
