package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/spec"
	"pgpipeline/pipeline/internal/store"
	"pgpipeline/pipeline/internal/ui"
	"pgpipeline/stages"
)

// app is what every verb shares: the streams and the flags that all verbs have.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	color          string
	view           atomic.Pointer[ui.Sink] // that shows a run right now
}

// notice tells the user something at any time: through the view of the run while there is one, which would paint over it.
func (a *app) notice(text string) {
	if view := a.view.Load(); view != nil {
		(*view).Event(engine.Event{Time: time.Now(), Type: engine.Warning, Message: text})
		return
	}
	fmt.Fprintln(a.stderr, "\npipeline: "+text)
}

// verbs are the commands in the order of the help text. A new verb is one file and one line here.
var verbs = []func(*app) *cobra.Command{
	runCommand, planCommand, explainCommand, lintCommand, graphCommand, lockCommand,
	runsCommand, showCommand, logsCommand, checkCommand, compareCommand, reportCommand,
	noiseCommand, importCommand, cacheCommand, initCommand, stagesCommand, schemaCommand, doctorCommand, versionCommand,
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "pipeline",
		Short: "Run and judge PostgreSQL benchmark experiments",
		Long: `pipeline runs a benchmark experiment for PostgreSQL that one YAML file describes: fetch, build, config, load, run,
compare. What has been made before comes from a cache; the result is judged with assertions such as
relqps("hot-points") > 0.95.

Start with: pipeline init; pipeline plan FILE; pipeline run FILE

` + exitCodes,
		SilenceUsage: true, SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&a.color, "color", "auto", "colours: auto, always or never")
	for _, verb := range verbs {
		c := verb(a)
		c.Long = strings.TrimRight(c.Long, "\n") + "\n\n" + exitCodes
		root.AddCommand(c)
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	return root
}

// colored reports whether output to w may have colours.
func (a *app) colored(w io.Writer) bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && isTerminal(w)
}

// An experiment with everything that is needed to plan it.
type project struct {
	exp   *spec.Experiment
	store *store.Store
	runs  *store.Runs
	locks map[string]engine.Pin
}

// open reads an experiment and opens the cache and the runs directory.
func (a *app) open(path string, set []string) (*project, error) {
	exp, err := a.parse(path, set)
	if err != nil {
		return nil, err
	}
	p := &project{exp: exp}
	if p.locks, err = spec.ReadLock[engine.Pin](spec.LockPath(path)); err != nil {
		return nil, err
	}
	p.runs = store.OpenRuns(runsDir(filepath.Dir(path)), store.Options{})
	p.store, err = store.Open("", store.Options{})
	return p, err
}

func (a *app) parse(path string, set []string) (*spec.Experiment, error) {
	return spec.Load(path, spec.Options{Kinds: kindInfos(), Set: set})
}

// plan plans with everything from the lock file unless opt says otherwise.
func (p *project) plan(ctx context.Context, opt engine.PlanOptions) (*engine.Plan, error) {
	opt.Kinds, opt.Host, opt.Store, opt.Locks = stages.All, engine.ThisHost(), p.store, p.locks
	opt.Base = filepath.Dir(p.exp.Path)
	return engine.NewPlan(ctx, p.exp, opt)
}

func kindInfos() []spec.KindInfo {
	out := make([]spec.KindInfo, len(stages.All))
	for i, k := range stages.All {
		out[i] = spec.KindInfo{Name: k.Name, Doc: k.Doc, Catalogue: k.Catalogue, Fragments: k.Fragments}
	}
	return out
}

// runsDir is .pipeline at the root of the git repository that holds dir, or in dir itself.
func runsDir(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	for d := abs; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, ".git")); err == nil {
			return filepath.Join(d, ".pipeline")
		}
		if d == filepath.Dir(d) {
			return filepath.Join(abs, ".pipeline")
		}
	}
}

// openRuns opens the runs directory that belongs to the working directory.
func openRuns() *store.Runs { return store.OpenRuns(runsDir("."), store.Options{}) }

// toolVersion is the module version, or the commit that the binary was built from.
func toolVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	if version == "" || version == "(devel)" {
		version = "devel"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			version += "+" + s.Value[:12]
		}
	}
	return version
}

func usage(format string, args ...any) error {
	return &codeError{code: exitUsage, err: fmt.Errorf(format, args...)}
}
