package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
)

func lintCommand(a *app) *cobra.Command {
	var set []string
	c := &cobra.Command{
		Use: "lint FILE...", Short: "Find everything that can be known without running", Args: cobra.MinimumNArgs(1),
		Long: "Checks the files, the plan and the assertions, and says of each assertion what it can decide with its budget.\nWarnings do not change the exit code; errors give 2.",
		RunE: func(c *cobra.Command, args []string) error {
			bad := 0
			for _, path := range args {
				if err := a.lint(c.Context(), path, set); err != nil {
					fmt.Fprintln(a.stderr, errorText(err))
					bad++
				}
			}
			if bad > 0 {
				return &codeError{code: exitUsage}
			}
			return nil
		},
	}
	c.Flags().StringArrayVar(&set, "set", nil, "set a variable: name=value (repeatable)")
	return c
}

func (a *app) lint(ctx context.Context, path string, set []string) error {
	p, plan, err := a.planned(ctx, path, set, engine.PlanOptions{})
	if err != nil {
		return err
	}
	judge, err := p.gate(plan)
	if err != nil {
		return err
	}
	findings := judge.Lint()
	for _, f := range findings {
		printFinding(a.stdout, f)
	}
	for _, r := range plan.Sharable() {
		fmt.Fprintf(a.stdout, "%s: note: %s\n", r.Pos, r.Text)
	}
	for _, program := range plan.Programs() {
		fmt.Fprintf(a.stdout, "%s: runs %s\n", path, program)
	}
	if len(findings) == 0 {
		fmt.Fprintf(a.stdout, "%s: ok\n", path)
	}
	return nil
}

func printFinding(w io.Writer, f gate.Finding) {
	fmt.Fprintf(w, "%s:%d:%d: warning: %s\n | %s\n", f.File, f.Line, f.Column, f.Msg, f.Expr)
	if f.Hint != "" {
		fmt.Fprintf(w, " | %s\n", f.Hint)
	}
}
