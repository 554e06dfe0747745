package spec_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/spec"
)

func TestDecode(t *testing.T) {
	got := runParams{Factor: 7, Common: Common{Seed: 1}}
	err := spec.Decode(parse(t, `
steps: [hot-points, {step: scan, pre: true, nested: {step: x}}]
clients: 20k
duration: 1h30m
rate: 2000/s
ports: ["80", 443]
budget: {blocks: 010, time: 2d}
seed: 18446744073709551615
`), &got)
	if err != nil {
		t.Fatal(err)
	}
	want := runParams{Steps: []step{{Step: "hot-points"}, {Step: "scan", Pre: true, Nested: &step{Step: "x"}}}, Clients: 20_000,
		Duration: engine.Duration(90 * time.Minute), Rate: 2000, Factor: 7, Ports: []uint16{80, 443},
		Budget: &budget{Blocks: 10, Time: engine.Duration(48 * time.Hour)}, Common: Common{Seed: 1<<64 - 1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDecodeShortForms(t *testing.T) {
	var config configParams
	if err := spec.Decode(parse(t, "settings: {fsync: off, jit: {value: on, since: 11}}\ninitdb: []\n"), &config); err != nil {
		t.Fatal(err)
	}
	if want := map[string]setting{"fsync": {Value: "off"}, "jit": {"on", "11"}}; !reflect.DeepEqual(config.Settings, want) {
		t.Errorf("settings are %+v", config.Settings)
	}
	var fetch fetchParams
	if err := spec.Decode(parse(t, "source: a\nlimit: 1GB\n"), &fetch); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(fetch.Source, []string{"a"}) || fetch.Limit != 1<<30 {
		t.Errorf("got %+v", fetch)
	}
}

// What is absent, or empty where a collection stands, leaves the default; an empty budget is not the same as none.
func TestDecodeKeepsDefaults(t *testing.T) {
	p := runParams{Clients: 8, Steps: []step{{Step: "a"}}, Budget: &budget{Blocks: 3}}
	if err := spec.Decode(parse(t, "steps:\nseed: 2\nbudget: {time: 1m}\n"), &p); err != nil {
		t.Fatal(err)
	}
	if p.Clients != 8 || len(p.Steps) != 1 || p.Budget.Blocks != 3 || p.Budget.Time.Std() != time.Minute {
		t.Errorf("got %+v %+v", p, p.Budget)
	}
	if err := spec.Decode(parse(t, "budget: null\nsteps: []\n"), &p); err != nil {
		t.Fatal(err)
	}
	if p.Budget != nil || len(p.Steps) != 0 {
		t.Errorf("null and [] left %+v", p)
	}
	if err := spec.Decode(nil, &p); err != nil {
		t.Error(err)
	}
}

type everything struct {
	Any    any                       `yaml:"any"`
	Raw    *spec.Value               `yaml:"raw"`
	Lists  map[string][]string       `yaml:"lists,one"`
	ByVer  map[engine.Version]string `yaml:"by_version"`
	Hidden string                    // no tag: not a key
	Skip   string                    `yaml:"-"`
	Rest   map[string]int            `yaml:",inline"`
}

func TestDecodeEverything(t *testing.T) {
	var e everything
	err := spec.Decode(parse(t, "any: {a: [1, x], b: }\nraw: [1]\nlists: {a: x, b: [y, z]}\nby_version: {16.10: a}\nextra: 3\n"), &e)
	if err != nil {
		t.Fatal(err)
	}
	want := everything{Any: map[string]any{"a": []any{"1", "x"}, "b": ""}, Raw: e.Raw, Lists: map[string][]string{"a": {"x"}, "b": {"y", "z"}},
		ByVer: map[engine.Version]string{"16.10": "a"}, Rest: map[string]int{"extra": 3}}
	if !reflect.DeepEqual(e, want) || e.Raw.Kind != spec.List {
		t.Errorf("got %+v", e)
	}
	if err := spec.Decode(parse(t, "by_version: {new: a}\nHidden: 1\nSkip: x\n"), &e); err == nil ||
		!strings.Contains(err.Error(), `"new" is not a version`) || !strings.Contains(err.Error(), `"Skip" must be a whole number`) {
		t.Errorf("error %v", err)
	}
}

func TestFields(t *testing.T) {
	p := runParams{Clients: 8, Duration: engine.Duration(20 * time.Second), Steps: []step{{Step: "a"}}}
	got := map[string]spec.FieldHelp{}
	var names []string
	for _, f := range spec.Fields(&p) {
		got[f.Name] = f
		names = append(names, f.Name)
	}
	if want := "steps steps[].step steps[].pre steps[].nested clients duration rate factor ports budget budget.blocks budget.time seed"; strings.Join(names, " ") != want {
		t.Errorf("names are %v", names)
	}
	for _, want := range []spec.FieldHelp{
		{Name: "clients", Type: "count such as 500 or 20M", Default: "8", Doc: "connections"},
		{Name: "duration", Type: "duration such as 30s, 20m or 1h30m", Default: "20s", Doc: "per step"},
		{Name: "steps", Type: "list of text, or a mapping", Default: "[]", Doc: "what is measured"},
		{Name: "ports", Type: "list of whole number from 0 up", Doc: "small numbers"},
	} {
		if want.Name == "steps" {
			want.Default = got["steps"].Default
		}
		if got[want.Name] != want {
			t.Errorf("got %+v, want %+v", got[want.Name], want)
		}
	}
	build := spec.Fields(&buildParams{})
	if build[0].Type != "autotools | meson | prebuilt" {
		t.Errorf("an enumerated type is described as %q", build[0].Type)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"steps: [a]", "clients: 20M", "budget: {time: 1h}", "ports: [1, 2]", "factor: 1e3", "a: &a {b: *a}", "<<: {a: 1}",
		"steps: {step: a, nested: {step: b}}", "? [a]\n: b", "'", "seed: -1", "rate: 5/s"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := spec.Parse("x.yaml", text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a text")
			}
			return
		}
		for _, p := range params() {
			if err := spec.Decode(v, p); err != nil {
				_ = err.Error()
			}
		}
		v.At(len(text))
		for _, k := range v.Keys {
			for i := range len(k.Value.Text) + 1 {
				if at := k.Value.At(i); at.Line < k.Value.Line || at.Line > strings.Count(string(text), "\n")+1 {
					t.Fatalf("offset %d of %q is at %v", i, k.Value.Text, at)
				}
			}
		}
	})
}
