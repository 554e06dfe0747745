package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"pgpipeline/pipeline/engine"
)

func planCommand(a *app) *cobra.Command {
	var set, fresh []string
	var exit, asJSON, locked bool
	c := &cobra.Command{
		Use: "plan FILE", Short: "Show what would run, what is cached, and why not", Args: cobra.ExactArgs(1),
		Long: "Plans an experiment without running, writing or locking anything.",
		RunE: func(c *cobra.Command, args []string) error {
			p, plan, err := a.planned(c.Context(), args[0], set, engine.PlanOptions{Locked: locked, Fresh: setOf(fresh)})
			if err != nil {
				return err
			}
			if _, err := p.gate(plan); err != nil {
				return err
			}
			sum, err := plan.Summary(p.runs)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(a.stdout, sum)
			} else {
				printPlan(a.stdout, sum)
			}
			if err == nil && exit && sum.Pending() > 0 {
				return &codeError{code: exitPending}
			}
			return err
		},
	}
	c.Flags().StringArrayVar(&set, "set", nil, "set a variable: name=value (repeatable)")
	c.Flags().StringSliceVar(&fresh, "fresh", nil, "kinds to make anew")
	c.Flags().BoolVar(&exit, "exit-code", false, "exit with 7 when work is pending besides measuring")
	c.Flags().BoolVar(&asJSON, "json", false, "print the plan as JSON")
	c.Flags().BoolVar(&locked, "locked", false, "refuse sources that are not in the lock file")
	return c
}

// planned opens and plans an experiment.
func (a *app) planned(ctx context.Context, path string, set []string, opt engine.PlanOptions) (*project, *engine.Plan, error) {
	p, err := a.open(path, set)
	if err != nil {
		return nil, nil, err
	}
	plan, err := p.plan(ctx, opt)
	return p, plan, err
}

func printPlan(w io.Writer, s engine.Summary) {
	for _, n := range s.Nodes {
		line := fmt.Sprintf("%-8s %s", n.State, n.ID)
		if n.State == engine.Pending && n.Expected > 0 {
			line += fmt.Sprintf("  (about %s)", seconds(n.Expected))
		}
		fmt.Fprintln(w, line)
		if n.Reason != "" && n.State == engine.Pending {
			fmt.Fprintf(w, "         %s\n", n.Reason)
		}
	}
	for _, f := range s.Facets {
		fmt.Fprintf(w, "%-8s %s: %d steps x %d variants; %s\n", "measure", f.ID, f.Steps, len(f.Variants), f.BlocksText())
		if f.Reason != "" {
			fmt.Fprintf(w, "         %s\n", f.Reason)
		}
	}
	fmt.Fprintf(w, "\n%d cached, %d to make, %d facets to measure", s.Count(engine.Cached), s.Count(engine.Pending), len(s.Facets))
	if s.Seconds > 0 {
		fmt.Fprintf(w, "; about %s at least", seconds(s.Seconds))
	}
	fmt.Fprintln(w)
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
