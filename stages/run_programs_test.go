package stages

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/external"
)

// runWith is a run stage with one step of the experiment's own, in a folder with a few files.
func runWith(t *testing.T, own RunProgram) *RunStage {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"read.sql":  "\\set id random(1, :rows)\nSELECT :id;\n",
		"write.sql": "UPDATE t SET x = :delta;\n",
		"bad.sql":   "SELECT 1;\n\\gset\n",
		"own.lua":   "function event() end\n",
		"lib.lua":   "return {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := Run.New().(*RunStage)
	r.Steps = []RunStep{{Own: own}}
	r.SetBase(dir)
	return r
}

func TestOwnSteps(t *testing.T) {
	for _, c := range []struct {
		own  RunProgram
		want engine.StepInfo
	}{
		{RunProgram{Script: []string{"read.sql"}, Class: "steady"}, engine.StepInfo{Name: "read", Class: "steady", Unit: "queries"}},
		{RunProgram{Script: []string{"read.sql@3", "write.sql"}, Name: "mix", Set: map[string]string{"delta": "1"}},
			engine.StepInfo{Name: "mix", Class: "whole", Writes: true, Unit: "queries", Operations: []string{"read.sql", "write.sql"}}},
		{RunProgram{Driver: "sysbench", Script: []string{"own.lua"}}, engine.StepInfo{Name: "own", Class: "whole", Writes: true, Unit: "queries"}},
		{RunProgram{Driver: "sysbench", Script: []string{"oltp_read_only.lua"}, Class: "steady"}, engine.StepInfo{Name: "oltp_read_only", Class: "steady", Unit: "queries"}},
		{RunProgram{Driver: "pgbench", Args: []string{"-S"}}, engine.StepInfo{Name: "pgbench", Class: "whole", Writes: true, Unit: "transactions"}},
	} {
		r := runWith(t, c.own)
		if err := r.Check(engine.HostFacts{CPUs: 2}); err != nil {
			t.Errorf("%+v: %v", c.own, err)
			continue
		}
		steps, err := r.Measures()
		if err != nil || len(steps) != 1 {
			t.Fatalf("%+v: %v, %v", c.own, steps, err)
		}
		s := steps[0]
		if s.Name != c.want.Name || s.Class != c.want.Class || s.Writes != c.want.Writes || s.Unit != c.want.Unit || strings.Join(s.Operations, " ") != strings.Join(c.want.Operations, " ") {
			t.Errorf("%+v: step %+v", c.own, s)
		}
	}
}

func TestOwnStepErrors(t *testing.T) {
	for _, c := range []struct {
		own  RunProgram
		want string
	}{
		{RunProgram{Script: []string{"bad.sql"}}, `script bad.sql:2: meta command \gset is not supported`},
		{RunProgram{Script: []string{"nosuch.sql"}}, `script "nosuch.sql": there is no such file`},
		{RunProgram{Script: []string{"write.sql"}}, "script write.sql:1: variable :delta is set nowhere"},
		{RunProgram{Script: []string{"read.sql@0"}}, `the weight behind @ is not a whole number from 1`},
		{RunProgram{Script: []string{"read.sql", "./read.sql"}}, "two files have the name read.sql"},
		{RunProgram{Script: []string{"read.sql"}, Class: "fast"}, `"fast" is neither whole nor steady`},
		{RunProgram{Script: []string{"read.sql"}, Name: "a/b"}, `"a/b" is not a name for a step`},
		{RunProgram{Script: []string{"read.sql"}, Args: []string{"-S"}}, "args and prepare are for steps with a driver"},
		{RunProgram{Script: []string{"write.sql"}, Set: map[string]string{"delta": "1"}, Class: "steady"},
			`step "write": class steady is for steps that only read, and this one writes (write.sql:1: UPDATE); leave class out`},
		{RunProgram{Driver: "pgbench", Script: []string{"write.sql"}, Set: map[string]string{"delta": "1"}, Class: "steady"}, "this one writes (write.sql:1: UPDATE)"},
		{RunProgram{Driver: "sysbench", Script: []string{"oltp_read_write"}, Class: "steady"}, "this one writes (oltp_read_write)"},
		{RunProgram{Name: "x"}, `step "x" has no script`},
		{RunProgram{Driver: "hammerdb", Name: "x"}, `unknown driver "hammerdb"`},
		{RunProgram{Driver: "sysbench", Script: []string{"sub/own.lua"}}, `script "own.lua": there is no such file`},
		{RunProgram{Driver: "pgbench", Args: []string{"-c", "8"}}, `args: -c is set by the step's "clients"`},
	} {
		err := runWith(t, c.own).Check(engine.HostFacts{CPUs: 2})
		var field *engine.FieldError
		if !errors.As(err, &field) || field.Field != "steps" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.own, err, c.want)
		}
	}
	r := runWith(t, RunProgram{Script: []string{"read.sql"}})
	r.Steps[0].Step = "scan"
	if err := r.Check(engine.HostFacts{CPUs: 2}); err == nil || !strings.Contains(err.Error(), "takes no step, list, range") {
		t.Errorf("a step and a script: %v", err)
	}
}

// A load generator that is not installed is told before anything runs, with what would help.
func TestMissingTool(t *testing.T) {
	err := error(&external.Missing{Name: "sysbench", Remedy: "apt-get install sysbench"})
	if got := remedyOf(errors.Join(errors.New("x"), err)); got != "apt-get install sysbench" {
		t.Errorf("remedy %q", got)
	}
}

func TestOwnFingerprint(t *testing.T) {
	r := runWith(t, RunProgram{Driver: "sysbench", Script: []string{"own.lua"}, Args: []string{"--rand-type=pareto"}})
	lines, err := r.Fingerprint(t.Context(), engine.HostFacts{})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{"script own.lua: ", "script lib.lua: ", "version of sysbench: sysbench "} {
		if !strings.Contains(text, want) {
			t.Errorf("the fingerprint lacks %q:\n%s", want, text)
		}
	}
	if got := r.Programs(); len(got) != 2 || got[1] != "sysbench own.lua --rand-type=pareto" {
		t.Errorf("programs: %q", got)
	}
	if lines, err := Run.New().(*RunStage).Fingerprint(t.Context(), engine.HostFacts{}); err != nil || len(lines) > 0 {
		t.Errorf("without steps of its own: %q, %v", lines, err)
	}
}

var _ engine.Runner = (*RunStage)(nil)
