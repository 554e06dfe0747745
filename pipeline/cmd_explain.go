package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"pgpipeline/pipeline/engine"
)

func explainCommand(a *app) *cobra.Command {
	var set []string
	c := &cobra.Command{
		Use: "explain FILE [NODE]", Short: "Show a node's recipe and what changed against the nearest entry", Args: cobra.RangeArgs(1, 2),
		Long: "The recipe is what the key is computed from: readable text, one fact a line. NODE is an id from `pipeline plan`;\nwithout it every node that is not cached is explained.",
		RunE: func(c *cobra.Command, args []string) error {
			_, plan, err := a.planned(c.Context(), args[0], set, engine.PlanOptions{})
			if err != nil {
				return err
			}
			node := ""
			if len(args) == 2 {
				node = args[1]
			}
			found, err := plan.Explain(node)
			if err != nil {
				return usage("%v", err)
			}
			for i, e := range found {
				if i > 0 {
					fmt.Fprintln(a.stdout)
				}
				printExplanation(a.stdout, e, node != "")
			}
			if len(found) == 0 {
				fmt.Fprintln(a.stdout, "every node is cached")
			}
			return nil
		},
	}
	c.Flags().StringArrayVar(&set, "set", nil, "set a variable: name=value (repeatable)")
	return c
}

func printExplanation(w io.Writer, e engine.Explanation, whole bool) {
	fmt.Fprintf(w, "%s: %s\nkey %s\n", e.ID, e.State, e.Key)
	if e.Reason != "" {
		fmt.Fprintf(w, "reason: %s\n", e.Reason)
	}
	if len(e.Changes) > 0 {
		fmt.Fprintf(w, "against the nearest entry %s:\n", e.Nearest[:min(12, len(e.Nearest))])
		for _, l := range e.Changes {
			fmt.Fprintf(w, "  %s\n", l)
		}
	}
	if whole {
		fmt.Fprintf(w, "recipe:\n%s", indent(e.Recipe))
	}
}
