package main

import (
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
	"pgpipeline/pipeline/internal/report"
	"pgpipeline/pipeline/internal/store"
)

func checkCommand(a *app) *cobra.Command {
	var exprs []string
	var asJSON bool
	c := &cobra.Command{
		Use: "check RUN", Short: "Judge recorded samples again; measures nothing", Args: cobra.ExactArgs(1),
		Long: "Judges with the assertions that the experiment's file has today, or with those given.",
		RunE: func(c *cobra.Command, args []string) error {
			rec, _, err := a.record(args[0])
			if err != nil {
				return err
			}
			judge, err := a.today(rec, exprs)
			if err != nil {
				return err
			}
			return a.conclude(rec, judge, nil, asJSON)
		},
	}
	c.Flags().StringArrayVar(&exprs, "assert", nil, "an assertion to judge instead of the file's (repeatable)")
	c.Flags().BoolVar(&asJSON, "json", false, "print the record and the verdict as JSON")
	return c
}

// record loads a run of the working directory's repository.
func (a *app) record(id string) (*engine.Record, *store.Runs, error) {
	runs := openRuns()
	rec, err := engine.LoadRecord(runs, id)
	return rec, runs, err
}

// today compiles the assertions that a record is to be judged with: those given, else those of the experiment's file as it is
// now. A file that is gone leaves the assertions of the record.
func (a *app) today(rec *engine.Record, exprs []string) (*gate.Gate, error) {
	info := &rec.Experiment
	switch {
	case len(exprs) > 0:
		info.Asserts = nil
		for _, e := range exprs {
			info.Asserts = append(info.Asserts, engine.Assertion{Expr: e, Severity: "fail", File: "--assert", Line: 1, Column: 1})
		}
	case exists(info.Path):
		exp, err := a.parse(info.Path, info.Set)
		if err != nil {
			return nil, err
		}
		plan := engine.Plan{Experiment: exp}
		now := plan.Info(info.Set)
		info.Asserts, info.Groups, info.OnInconclusive, info.Text = now.Asserts, now.Groups, now.OnInconclusive, now.Text
	}
	return judgeOf(*info, rec.Facets, rec.Host)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func reportCommand(a *app) *cobra.Command {
	var format, output string
	var formats bool
	c := &cobra.Command{
		Use: "report RUN", Short: "Print the result of a run in one of several formats",
		Args: func(c *cobra.Command, args []string) error {
			if formats {
				return cobra.NoArgs(c, args)
			}
			return cobra.ExactArgs(1)(c, args)
		},
		Long: "Judges as `check` does and prints. The exit code is 0 whatever the verdict.\nFormats: " + formatList(),
		RunE: func(c *cobra.Command, args []string) error {
			if formats {
				return printReference(a.stdout)
			}
			rec, _, err := a.record(args[0])
			if err != nil {
				return err
			}
			judge, err := a.today(rec, nil)
			if err != nil {
				return err
			}
			return a.render(format, output, rec, judge)
		},
	}
	c.Flags().StringVar(&format, "format", "text", formatList())
	c.Flags().StringVarP(&output, "output", "o", "", "write to a file instead of stdout")
	c.Flags().BoolVar(&formats, "formats", false, "describe the formats, in Markdown; takes no RUN")
	return c
}

func printReference(w io.Writer) error {
	text, err := report.Reference()
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

// render writes a report to a file or to stdout. A file appears whole or not at all.
func (a *app) render(format, output string, rec *engine.Record, judge *gate.Gate) error {
	in := report.Input{Record: rec, Verdict: judge.Judge(rec), Color: output == "" && a.colored(a.stdout), Width: terminalWidth(a.stdout), Files: runFiles(rec)}
	if output == "" {
		return report.Render(format, in, a.stdout)
	}
	return writeFile(output, func(w io.Writer) error { return report.Render(format, in, w) })
}

func formatList() string {
	names, docs := report.Formats()
	lines := make([]string, len(names))
	for i, n := range names {
		lines[i] = n + " (" + docs[n] + ")"
	}
	return strings.Join(lines, ", ")
}

// runFiles is the directory of a run, for excerpts of its logs; nil when it is not here.
func runFiles(rec *engine.Record) fs.FS {
	run, err := openRuns().Load(rec.ID)
	if err != nil {
		return nil
	}
	return os.DirFS(run.Dir)
}
