package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
	"pgpipeline/pipeline/internal/report"
	"pgpipeline/pipeline/internal/spec"
	"pgpipeline/pipeline/internal/store"
	"pgpipeline/pipeline/internal/ui"
)

type runFlags struct {
	set, only, skip, fresh []string
	resume                 string
	budget                 time.Duration
	addBlocks, jobs        int
	keepGoing, locked      bool
	json                   bool
	progress               string
}

func runCommand(a *app) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: "run FILE", Short: "Plan and execute an experiment, then judge it",
		Args: func(c *cobra.Command, args []string) error { return cobra.ExactArgs(1)(c, f.takeRun(args)) },
		Long: `Runs what is not cached, measures block after block until every assertion is decided or the budget is spent, and judges.
Every run measures at least one block; blocks that earlier runs measured of the same thing are part of the evidence.`,
		RunE: func(c *cobra.Command, args []string) error { return a.run(c.Context(), f.takeRun(args)[0], f) },
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "set a variable: name=value (repeatable)")
	flags.StringSliceVar(&f.only, "only", nil, "measure only the steps that match these globs")
	flags.StringSliceVar(&f.skip, "skip", nil, "do not measure the steps that match these globs")
	flags.StringSliceVar(&f.fresh, "fresh", nil, "make these kinds anew (build, load, ...); run opens a new series of measurements")
	flags.StringVar(&f.resume, "resume", "", "go on with an earlier run: its id, or latest")
	flags.Lookup("resume").NoOptDefVal = "latest"
	flags.DurationVar(&f.budget, "budget", 0, "time to measure each facet, in place of the experiment's budget")
	flags.IntVar(&f.addBlocks, "add-blocks", 0, "measure exactly so many more blocks")
	flags.IntVar(&f.jobs, "jobs", 2, "stages at once")
	flags.BoolVar(&f.keepGoing, "keep-going", false, "go on with what does not depend on a failed stage")
	flags.BoolVar(&f.locked, "locked", false, "refuse sources that are not in the lock file")
	flags.BoolVar(&f.json, "json", false, "print the record and the verdict as JSON on stdout")
	flags.StringVar(&f.progress, "progress", "auto", "progress on stderr: auto, tty, plain or json")
	return c
}

// takeRun lets `--resume RUN` be written with a blank: a flag whose value can be left out only knows `--resume=RUN`.
func (f *runFlags) takeRun(args []string) []string {
	if f.resume == "latest" && len(args) == 2 {
		f.resume = args[1]
	}
	if f.resume != "" && len(args) == 2 && f.resume == args[1] {
		return args[:1]
	}
	return args
}

func (a *app) run(ctx context.Context, path string, f runFlags) error {
	p, err := a.open(path, f.set)
	if err != nil {
		return err
	}
	fresh := setOf(f.fresh)
	plan, err := p.plan(ctx, engine.PlanOptions{Locked: f.locked, Fresh: fresh})
	if err != nil {
		return err
	}
	judge, err := p.gate(plan)
	if err != nil {
		return err
	}
	if err := errors.Join(plan.CheckGlobs("--only", f.only), plan.CheckGlobs("--skip", f.skip)); err != nil {
		return usage("%w", err)
	}
	if plan.NewPins && !f.locked {
		if err := spec.WriteLock(spec.LockPath(path), plan.Locks()); err != nil {
			return err
		}
	}
	opt := engine.RunOptions{Store: p.store, Runs: p.runs, Machine: store.OpenMachine(""), Judge: judge, Tool: toolVersion(), Set: f.set, Jobs: f.jobs,
		KeepGoing: f.keepGoing, Fresh: fresh, AddBlocks: f.addBlocks, Budget: f.budget, Only: f.only, Skip: f.skip}
	if f.resume != "" {
		if opt.Resume, err = engine.LoadRecord(p.runs, f.resume); err != nil {
			return err
		}
	}
	rec, err := a.follow(ctx, plan, opt, f.progress)
	if rec == nil {
		return err
	}
	return a.conclude(rec, judge, err, f.json)
}

// follow runs the plan with a view of its progress on stderr.
func (a *app) follow(ctx context.Context, plan *engine.Plan, opt engine.RunOptions, mode string) (*engine.Record, error) {
	if !slices.Contains(ui.Modes, mode) {
		return nil, usage("--progress %q: use one of %s", mode, strings.Join(ui.Modes, ", "))
	}
	view := ui.New(mode, shown(plan), a.stderr)
	a.view.Store(&view)
	defer func() { a.view.Store(nil); view.Close() }()
	opt.Sink = view.Event
	return plan.Run(ctx, opt)
}

// shown is what the view of a run cannot know from its events.
func shown(plan *engine.Plan) ui.Experiment {
	e := ui.Experiment{Name: plan.Experiment.Name, Bases: map[string]string{}}
	for _, f := range plan.Facets {
		for _, v := range f.Facet.Variants {
			if v.Base {
				e.Bases[f.ID()] = v.Name
			}
		}
	}
	return e
}

// conclude prints the report of a run and returns the error that gives the exit code. The report is printed also when a stage
// failed: what was measured until then is worth reading.
func (a *app) conclude(rec *engine.Record, judge *gate.Gate, runErr error, asJSON bool) error {
	verdict := judge.Judge(rec)
	format := "text"
	if asJSON {
		format = "json"
	}
	in := report.Input{Record: rec, Verdict: verdict, Color: a.colored(a.stdout), Width: terminalWidth(a.stdout), Files: runFiles(rec)}
	if err := report.Render(format, in, a.stdout); err != nil {
		return errors.Join(runErr, err)
	}
	if runErr != nil {
		return runErr
	}
	return verdictError(verdict)
}

func verdictError(v gate.Verdict) error {
	if v.ExitCode == exitOK {
		return nil
	}
	return &codeError{code: v.ExitCode}
}

// gate compiles the assertions of the experiment against what the plan will measure.
func (p *project) gate(plan *engine.Plan) (*gate.Gate, error) {
	g, err := judgeOf(plan.Info(nil), plan.FacetList(), plan.Host)
	return g, inFile(p.exp, err)
}

func setOf(names []string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

func seconds(s float64) string {
	return fmt.Sprint(time.Duration(s * float64(time.Second)).Round(time.Second))
}
