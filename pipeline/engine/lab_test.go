package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/spec"
	"pgpipeline/pipeline/internal/store"
)

// The fake kinds do nothing but count, so that the cache's promises can be tested by counting.
type lab struct {
	t     testing.TB
	kinds []engine.Kind
	store *store.Store
	runs  *store.Runs
	dir   string
	ran   map[string]*atomic.Int32
	fail  map[string]error
	block func(env *engine.Env) error
}

type source struct {
	lab  *lab
	From string `yaml:"from" doc:"what to make"`
	Jobs int    `yaml:"jobs" key:"-" doc:"does not matter"`
}

func (s *source) Run(ctx context.Context, env *engine.Env) error {
	return s.lab.work("source", env, s.From)
}

type tuning struct {
	lab   *lab
	Heavy map[string]string `yaml:"settings" doc:"settings"`
	Init  []string          `yaml:"init" doc:"what data depends on"`
}

func (s *tuning) Run(ctx context.Context, env *engine.Env) error {
	return s.lab.work("tuning", env, "")
}

type data struct {
	lab  *lab
	Rows engine.Count `yaml:"rows" doc:"rows"`
}

func (s *data) Run(ctx context.Context, env *engine.Env) error { return s.lab.work("data", env, "") }

type bench struct {
	lab   *lab
	Names []string `yaml:"steps,one" doc:"steps"`
	Max   int      `yaml:"max" key:"-" doc:"blocks"`
}

func (s *bench) Measures() ([]engine.StepInfo, error) {
	var out []engine.StepInfo
	for _, n := range s.Names {
		out = append(out, engine.StepInfo{Name: n, Writes: strings.HasPrefix(n, "write"), Class: "steady"})
	}
	return out, nil
}
func (s *bench) Limits() engine.Budget { return engine.Budget{MinBlocks: 2, MaxBlocks: s.Max} }
func (s *bench) Run(ctx context.Context, env *engine.Env) error {
	if s.lab.block != nil {
		return s.lab.block(env)
	}
	for _, v := range env.Variants {
		for _, step := range env.Block.Steps {
			env.Record(engine.Measurement{Step: step, Variant: v.Name, Samples: []engine.Sample{{Ops: 1, Seconds: 1}}})
		}
	}
	return nil
}

func (l *lab) work(kind string, env *engine.Env, text string) error {
	l.ran[kind].Add(1)
	if err := l.fail[kind]; err != nil {
		return err
	}
	env.Fact("text", text)
	return os.WriteFile(filepath.Join(env.Dir, "made"), []byte(text), 0o644)
}

func newLab(t *testing.T) *lab { return newLabFor(t) }

func newLabFor(t testing.TB) *lab {
	t.Setenv("PIPELINE_LOCK_DIR", t.TempDir())
	l := &lab{t: t, dir: t.TempDir(), ran: map[string]*atomic.Int32{}, fail: map[string]error{}}
	for _, k := range []string{"source", "tuning", "data"} {
		l.ran[k] = &atomic.Int32{}
	}
	l.kinds = []engine.Kind{
		{Name: "source", Scope: engine.Pure, New: func() engine.Stage { return &source{lab: l} }},
		{Name: "tuning", Scope: engine.Pure, Catalogue: "tunings", Takes: []engine.Take{{Kind: "source"}}, New: func() engine.Stage { return &tuning{lab: l} }},
		{Name: "data", Scope: engine.Host, Heavy: true, Takes: []engine.Take{{Kind: "source"}, {Kind: "tuning", Field: "init"}},
			New: func() engine.Stage { return &data{lab: l} }},
		{Name: "bench", Scope: engine.Measured, Takes: []engine.Take{{Kind: "source"}, {Kind: "tuning"}, {Kind: "data"}},
			New: func() engine.Stage { return &bench{lab: l, Max: 4} }},
	}
	var err error
	if l.store, err = store.Open(filepath.Join(l.dir, "cache"), store.Options{}); err != nil {
		t.Fatal(err)
	}
	l.runs = store.OpenRuns(filepath.Join(l.dir, ".pipeline"), store.Options{})
	return l
}

const labFile = `version: 1
name: lab
matrix:
  v: ["1", "2"]
  conf: [a, b]
baseline: {conf: a}
tunings:
  a: {settings: {x: "1"}}
  b: {extends: a, settings: {y: "2"}}
stages:
  - source: {from: "s${v}"}
  - tuning: {use: "${conf}"}
  - data: {rows: 10k}
  - bench: {steps: [read, write1, last]}
`

func (l *lab) plan(text string, opt engine.PlanOptions) (*engine.Plan, error) {
	l.t.Helper()
	path := filepath.Join(l.dir, "lab.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
	infos := make([]spec.KindInfo, len(l.kinds))
	for i, k := range l.kinds {
		infos[i] = spec.KindInfo{Name: k.Name, Catalogue: k.Catalogue}
	}
	exp, err := spec.Load(path, spec.Options{Kinds: infos})
	if err != nil {
		return nil, err
	}
	opt.Kinds, opt.Store, opt.Host = l.kinds, l.store, engine.HostFacts{CPUs: 2, MachineID: "m"}
	return engine.NewPlan(context.Background(), exp, opt)
}

// judge wants so many blocks for each step that it names.
type judge map[string]int

func (j judge) Wanted(f engine.Facet, blocks []engine.BlockRecord) (map[string]bool, string) {
	out := map[string]bool{}
	for step, n := range j {
		out[step] = len(blocks) < n
	}
	return out, fmt.Sprint(len(blocks), " blocks")
}

func (l *lab) run(text string, opt engine.RunOptions) (*engine.Record, error) {
	l.t.Helper()
	plan, err := l.plan(text, engine.PlanOptions{Fresh: opt.Fresh})
	if err != nil {
		l.t.Fatal(err)
	}
	opt.Store, opt.Runs, opt.Machine = l.store, l.runs, store.OpenMachine("")
	if opt.Judge == nil {
		opt.Judge = judge{}
	}
	return plan.Run(context.Background(), opt)
}

func (l *lab) counts() string {
	return fmt.Sprintf("source %d, tuning %d, data %d", l.ran["source"].Load(), l.ran["tuning"].Load(), l.ran["data"].Load())
}
