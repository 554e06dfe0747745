package spec_test

import (
	"flag"
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/lang"
	"pgpipeline/pipeline/internal/spec"
)

var update = flag.Bool("update", false, "rewrite golden files")

// The parameter structs below have one field of every sort that Decode and Schema know.

type fetchParams struct {
	Source []string       `yaml:"source,one,required" doc:"addresses, tried in order"`
	SHA256 string         `yaml:"sha256" doc:"checksum"`
	Limit  engine.Bytes   `yaml:"limit" doc:"largest size"`
	Since  engine.Version `yaml:"since" doc:"first version"`
}

type buildParams struct {
	Recipe  recipe            `yaml:"recipe" doc:"how to build"`
	CFLAGS  string            `yaml:"cflags" doc:"compiler flags"`
	Jobs    int               `yaml:"jobs" doc:"parallel jobs" key:"-"`
	Assert  bool              `yaml:"assert" doc:"with assertions"`
	Options []option          `yaml:"options" doc:"configure options"`
	Env     map[string]string `yaml:"env" doc:"environment"`
}

type recipe string

func (recipe) Enum() []string { return []string{"autotools", "meson", "prebuilt"} }

type option struct {
	Flag  string         `yaml:"flag,scalar,required" doc:"the option"`
	Since engine.Version `yaml:"since" doc:"first version that knows it"`
}

type configParams struct {
	Settings map[string]setting `yaml:"settings" doc:"server settings"`
	InitDB   []string           `yaml:"initdb" doc:"initdb options"`
}

type setting struct {
	Value string         `yaml:"value,scalar,required" doc:"the value"`
	Since engine.Version `yaml:"since" doc:"first version that has it"`
}

type runParams struct {
	Steps    []step          `yaml:"steps,one" doc:"what is measured"`
	Clients  engine.Count    `yaml:"clients" doc:"connections"`
	Duration engine.Duration `yaml:"duration" doc:"per step"`
	Rate     engine.Rate     `yaml:"rate" doc:"open loop"`
	Factor   float64         `yaml:"factor" doc:"a number"`
	Ports    []uint16        `yaml:"ports" doc:"small numbers"`
	Budget   *budget         `yaml:"budget" doc:"limits"`
	Common   `yaml:",inline"`
}

// Common is inlined.
type Common struct {
	Seed uint64 `yaml:"seed" doc:"of all random choices"`
}

type step struct {
	Step   string `yaml:"step,scalar" doc:"name"`
	Pre    bool   `yaml:"pre" doc:"warm"`
	Nested *step  `yaml:"nested" doc:"a type that contains itself"`
}

type budget struct {
	Blocks int             `yaml:"blocks" doc:"at most"`
	Time   engine.Duration `yaml:"time" doc:"at most"`
}

type noParams struct{}

func kindInfos() []spec.KindInfo {
	return []spec.KindInfo{
		{Name: "fetch", Doc: "Fetch a source."},
		{Name: "build", Catalogue: "builds", Fragments: map[string]string{"def": "{cflags: -O2}"}},
		{Name: "config", Catalogue: "configs"},
		{Name: "run"}, {Name: "compare"},
	}
}

func params() map[string]any {
	return map[string]any{"fetch": &fetchParams{}, "build": &buildParams{}, "config": &configParams{}, "run": &runParams{},
		"compare": &noParams{}}
}

// files makes the option that reads from memory. A text that begins with "ERROR" stands for a file that cannot be read.
func files(m map[string]string) func(string) ([]byte, error) {
	disk := fstest.MapFS{}
	for name, text := range m {
		disk[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return func(path string) ([]byte, error) { return fs.ReadFile(disk, path) }
}

// decodeAll does what the planner does with every stage of an experiment: fragments, `${ }`, strict decoding.
func decodeAll(e *spec.Experiment, env map[string]any) error {
	all := params()
	var errs spec.Errors
	for _, s := range e.Stages {
		catalogue := ""
		for _, k := range kindInfos() {
			if k.Name == s.Kind {
				catalogue = k.Catalogue
			}
		}
		v, err := e.Overlay(catalogue, s.Params, func(expr string, _ spec.Pos) (string, error) { return lang.Eval(expr, env) })
		if err == nil {
			err = spec.Decode(v, all[s.Kind])
		}
		if err != nil {
			errs = append(errs, spec.Prefix(fmt.Sprintf("stage %q: ", s.ID), err).(spec.Errors)...)
		}
	}
	return errs.Tidy()
}

func mustLoad(t *testing.T, text string) *spec.Experiment {
	t.Helper()
	e, err := spec.Load("x.yaml", spec.Options{Kinds: kindInfos(), ReadFile: files(map[string]string{"x.yaml": text})})
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return e
}
