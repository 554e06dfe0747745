package stages

import (
	"strings"

	"pgpipeline/builder"
	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/source"
	"pgpipeline/stages/workload"
)

// Every stage that starts a program says which, so that `lint` can list what an experiment from elsewhere would run.
var (
	_ engine.Runner = (*FetchStage)(nil)
	_ engine.Runner = (*BuildStage)(nil)
	_ engine.Runner = (*LoadStage)(nil)
	_ engine.Runner = (*RunStage)(nil)
)

// Programs are those that bring the source.
func (f *FetchStage) Programs() []string { return source.Programs(f.Source, f.base) }

// Programs are the source's own scripts, the tools that build it, and what was built.
func (b *BuildStage) Programs() []string {
	made := "what was built, with --version: postgres, initdb, pg_ctl, psql, pgbench, pg_config"
	if !builder.Compiles(string(b.Recipe)) {
		return []string{strings.Replace(made, "built", "fetched", 1)}
	}
	tools := "configure of the source, make"
	if string(b.Recipe) == builder.Meson {
		tools = "meson and ninja with the source's meson.build"
	}
	cc := b.plainEnv()["CC"]
	if cc == "" {
		cc = "gcc"
	}
	list := []string{tools + ", " + cc + ", perl, bison and flex"}
	if len(b.Make) > 0 {
		list = append(list, "make with "+strings.Join(b.Make, " "))
	}
	if len(b.Patches) > 0 {
		list = append(list, "patch")
	}
	return append(list, made)
}

// Programs are those of the build.
func (l *LoadStage) Programs() []string { return []string{"initdb and postgres of the build"} }

// Programs are the servers, the load generators that the experiment calls, and perf. SQL files are listed too: the server
// runs them as its superuser, who may start programs.
func (r *RunStage) Programs() []string {
	list := []string{"postgres of the build"}
	if _, err := r.resolve(workload.Params{Tables: 1, Rows: 1}); err == nil {
		list = append(list, r.programs.runs...)
	}
	if r.Perf {
		list = append(list, "perf record and perf script")
	}
	return list
}
