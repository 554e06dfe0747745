package stages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgpipeline/pipeline/engine"
)

// TestProgramsAreListed: whatever starts a program says so before it runs.
func TestProgramsAreListed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "own.sql"), []byte("SELECT 1;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	build := func(change func(*BuildStage)) engine.Runner {
		b := Build.New().(*BuildStage)
		change(b)
		return b
	}
	run := Run.New().(*RunStage)
	run.SetBase(dir)
	run.Perf = true
	run.Steps = []RunStep{{Own: RunProgram{Script: []string{"own.sql"}}}}
	tests := map[string]struct {
		stage engine.Runner
		want  string
	}{
		"git":     {&FetchStage{Source: []string{"git::https://host/a.git?ref=x"}}, "git"},
		"mirrors": {&FetchStage{Source: []string{"https://host/a.tar.xz", "npm::a@1"}}, "npm; bzip2, xz or zstd, where it is packed so"},
		"apt": {&FetchStage{Source: []string{"apt::postgresql-15"}},
			"apt-get, apt-cache, apt-config and apt-helper; bzip2, xz or zstd, where it is packed so"},
		"system": {&FetchStage{Source: []string{"system::"}}, "pg_config and postgres --version of the installed server"},
		"autotools": {build(func(b *BuildStage) {
			b.Env, b.Patches = map[string]BuildVariable{"CC": {Value: "clang"}}, []string{"x.patch"}
		}), "configure of the source, make, clang, perl, bison and flex; patch; " +
			"what was built, with --version: postgres, initdb, pg_ctl, psql, pgbench, pg_config"},
		"meson": {build(func(b *BuildStage) { b.Recipe = "meson" }), "meson and ninja with the source's meson.build, gcc, perl, bison and flex; " +
			"what was built, with --version: postgres, initdb, pg_ctl, psql, pgbench, pg_config"},
		"prebuilt": {build(func(b *BuildStage) { b.Recipe = "prebuilt" }),
			"what was fetched, with --version: postgres, initdb, pg_ctl, psql, pgbench, pg_config"},
		"load": {Load.New().(engine.Runner), "initdb and postgres of the build"},
		"run":  {run, "postgres of the build; SQL of own.sql; perf record and perf script"},
	}
	for name, test := range tests {
		if got := strings.Join(test.stage.Programs(), "; "); got != test.want {
			t.Errorf("%s: %s\nwant %s", name, got, test.want)
		}
	}
}
