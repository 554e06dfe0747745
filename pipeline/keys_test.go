package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/spec"
	"pgpipeline/stages"
)

// keysFile has every stage, on a source tree that only planning looks at.
const keysFile = `version: 1
name: keys
matrix: {conf: [a, b]}
baseline: {conf: a}
configs:
  a: {settings: {work_mem: 4MB}}
  b: {extends: a}
stages:
  - fetch: {source: ./tree}
  - build: {recipe: autotools}
  - config: {use: "${conf}", settings: {jit: "off"}}
  - load: {rows: 1k}
  - run: {steps: [point-query], duration: 10s}
  - compare: {}
`

// measuredKinds is what changes when only the measurement does.
const afterBuild, afterInit, measuredOnly = "build config load run", "config load run", "run"

// edits names every keyed parameter of every stage once: one edit, and the kinds that have to run again.
var edits = []struct{ param, old, new, again string }{
	{"build.recipe", "recipe: autotools", "recipe: meson", afterBuild},
	{"build.cflags", "recipe: autotools", "recipe: autotools, cflags: -O3", afterBuild},
	{"build.ldflags", "recipe: autotools", "recipe: autotools, ldflags: -O1", afterBuild},
	{"build.configure", "recipe: autotools", "recipe: autotools, configure: {enable-debug: true}", afterBuild},
	{"build.contrib", "recipe: autotools", "recipe: autotools, contrib: [pageinspect]", afterBuild},
	{"build.patches", "recipe: autotools", "recipe: autotools, patches: [p.patch]", afterBuild},
	{"build.make", "recipe: autotools", "recipe: autotools, make: [COPT=-g]", afterBuild},
	{"build.env", "recipe: autotools", "recipe: autotools, env: {LC_TIME: C}", afterBuild},
	{"build.env: a secret", "recipe: autotools", "recipe: autotools, env: {TOKEN: {secret: HOME}}", afterBuild},
	{"config.settings", "work_mem: 4MB", "work_mem: 5MB", "config run"},
	{"config.initdb", "{work_mem: 4MB}", "{work_mem: 4MB}, initdb: [--data-checksums]", afterInit},
	{"config.unsupported", "{work_mem: 4MB}", "{work_mem: 4MB}, unsupported: drop", "config run"},
	{"load.workload", "rows: 1k", "workload: insert, rows: 1k", "load run"},
	{"load.tables", "rows: 1k", "tables: 2, rows: 1k", "load run"},
	{"load.rows", "rows: 1k", "rows: 2k", "load run"},
	{"load.seed", "rows: 1k", "rows: 1k, seed: 9", "load run"},
	{"load.clients", "rows: 1k", "workload: insert, rows: 1k, clients: 2", "load run"},
	{"load.through", "rows: 1k", "workload: insert, rows: 1k, through: l.i0", "load run"},
	{"load.schema", "rows: 1k", "workload: insert, rows: 1k, schema: \"2023\"", "load run"},
	{"load.shared", "rows: 1k", "workload: insert, rows: 1k, shared: true", "load run"},
	{"load.partitions", "rows: 1k", "workload: insert, rows: 1k, partitions: 2", "load run"},
	{"load.more_rows", "rows: 1k", "workload: insert, rows: 1k, more_rows: 10, through: l.i1", "load run"},
	{"load.delete_per_insert", "rows: 1k", "workload: insert, rows: 1k, delete_per_insert: true, more_rows: 10, through: l.i1", "load run"},
	{"load.primary_key", "rows: 1k", "rows: 1k, primary_key: false", "load run"},
	{"run.steps", "[point-query]", "[hot-points]", measuredOnly},
	{"run.clients", "duration: 10s", "duration: 10s, clients: 2", measuredOnly},
	{"run.duration", "duration: 10s", "duration: 11s", measuredOnly},
	{"run.write_duration", "duration: 10s", "duration: 10s, write_duration: 5s", measuredOnly},
	{"run.slice", "duration: 10s", "duration: 10s, slice: 2s", measuredOnly},
	{"run.warmup", "duration: 10s", "duration: 10s, warmup: 3s", measuredOnly},
	{"run.warmup_cap", "duration: 10s", "duration: 10s, warmup_cap: 20s", measuredOnly},
	{"run.placement", "duration: 10s", "duration: 10s, placement: same-core", measuredOnly},
	{"run.cached", "duration: 10s", "duration: 10s, cached: postgres", measuredOnly},
	{"run.steps: a script", "[point-query]", "[{script: own.sql}]", measuredOnly},
	{"run.perf", "duration: 10s", "duration: 10s, perf: true", measuredOnly},
	{"run.sentinel", "duration: 10s", "duration: 10s, sentinel: true", measuredOnly},
	{"run.delete_per_insert", "duration: 10s", "duration: 10s, delete_per_insert: true", measuredOnly},
	{"run.settle", "duration: 10s", "duration: 10s, settle: 5s", measuredOnly},
	{"run.seed", "duration: 10s", "duration: 10s, seed: 3", measuredOnly},

	// Nothing runs again for any of these.
	{"fetch.sha256", "source: ./tree", "source: [./tree, ./tree]", ""},
	{"build.jobs", "recipe: autotools", "recipe: autotools, jobs: 7", ""},
	{"load.jobs", "rows: 1k", "rows: 1k, jobs: 3", ""},
	{"run.budget", "duration: 10s", "duration: 10s, budget: {blocks: 40}", ""},
	{"compare.steps", "compare: {}", "compare: {steps: [point-query]}", ""},
	{"a comment", "stages:", "# a comment\n\nstages:", ""},
	{"the order of keys", "use: \"${conf}\", settings: {jit: \"off\"}", "settings: {jit: \"off\"}, use: \"${conf}\"", ""},
	{"the same value in other words", "rows: 1k", "rows: 1000", ""},
	{"a fragment's name in other words", "b: {extends: a}", "b: {extends: [a]}", ""},
	{"an assertion", "matrix:", "assert: ['relqps(\"point-query\") > 0.5']\nmatrix:", ""},
	{"the doc", "name: keys", "name: keys\ndoc: what it is for", ""},
}

func TestEveryKeyedFieldRunsTheRightStagesAgain(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tree", "configure"), "PACKAGE_VERSION='18.6'\n")
	write(t, filepath.Join(dir, "own.sql"), "SELECT 1;\n")
	write(t, filepath.Join(dir, "p.patch"), "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
	t.Setenv("PIPELINE_CACHE", filepath.Join(dir, "cache"))
	before := keysOfText(t, dir, keysFile)
	for _, e := range edits {
		t.Run(e.param, func(t *testing.T) {
			if strings.Count(keysFile, e.old) != 1 {
				t.Fatalf("%q is not in the file exactly once", e.old)
			}
			after := keysOfText(t, dir, strings.Replace(keysFile, e.old, e.new, 1))
			var again []string
			for _, kind := range []string{"fetch", "build", "config", "load", "run"} {
				if !slices.Equal(before[kind], after[kind]) {
					again = append(again, kind)
				}
			}
			if got := strings.Join(again, " "); got != e.again {
				t.Errorf("runs again: %q, want %q", got, e.again)
			}
		})
	}
	t.Run("script content", func(t *testing.T) {
		text := strings.Replace(keysFile, "[point-query]", "[{script: own.sql}]", 1)
		was := keysOfText(t, dir, text)
		write(t, filepath.Join(dir, "own.sql"), "SELECT 2;\n")
		now := keysOfText(t, dir, text)
		if slices.Equal(was["run"], now["run"]) || !slices.Equal(was["load"], now["load"]) {
			t.Error("a changed script must run the measurement again, and nothing else")
		}
	})
	t.Run("fetch content", func(t *testing.T) {
		write(t, filepath.Join(dir, "tree", "README"), "another tree\n")
		after := keysOfText(t, dir, keysFile)
		for _, kind := range []string{"fetch", "build", "config", "load", "run"} {
			if slices.Equal(before[kind], after[kind]) {
				t.Errorf("the source changed and %s does not run again", kind)
			}
		}
	})
}

// Every parameter is in the table, so that a new one cannot be forgotten.
func TestEditsAreComplete(t *testing.T) {
	known := map[string]bool{}
	for _, e := range edits {
		known[e.param] = true
	}
	known["fetch.source"] = true // its content has a test of its own
	for _, k := range stages.All {
		for _, f := range spec.Fields(k.New()) {
			if !strings.ContainsAny(f.Name, ".[") && !known[k.Name+"."+f.Name] {
				t.Errorf("no edit of %s.%s", k.Name, f.Name)
			}
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// keysOfText plans an experiment and returns the keys by kind, in the order of the plan.
func keysOfText(t *testing.T, dir, text string) map[string][]string {
	t.Helper()
	path := filepath.Join(dir, "keys.yaml")
	write(t, path, text)
	a := &app{stderr: &bytes.Buffer{}}
	_, plan, err := a.planned(context.Background(), path, nil, engine.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string][]string{}
	for _, n := range plan.Nodes {
		keys[n.Kind.Name] = append(keys[n.Kind.Name], n.Key)
	}
	for _, f := range plan.Facets {
		keys["run"] = append(keys["run"], fmt.Sprint(f.Facet.EvidenceKey))
	}
	return keys
}

// The reference page is the one that the structs make.
func TestStagesPageIsCurrent(t *testing.T) {
	var want bytes.Buffer
	if err := stagesMarkdown(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../docs/stages.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/stages.md is out of date: make docs")
	}
}

// The schema that editors use is the one that the structs make.
func TestSchemaIsCurrent(t *testing.T) {
	want, err := experimentSchema()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../experiments/experiment.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("experiments/experiment.schema.json is out of date: make docs")
	}
}
