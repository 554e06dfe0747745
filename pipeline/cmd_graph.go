package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"pgpipeline/pipeline/engine"
)

func graphCommand(a *app) *cobra.Command {
	var set []string
	var format string
	c := &cobra.Command{
		Use: "graph FILE", Short: "Print the plan as a graph", Args: cobra.ExactArgs(1),
		Long: "Prints DOT for Graphviz or Mermaid for Markdown. Cached nodes are filled.",
		RunE: func(c *cobra.Command, args []string) error {
			draw, ok := map[string]func(io.Writer, engine.Graph){"dot": drawDOT, "mermaid": drawMermaid}[format]
			if !ok {
				return usage("--format %q: use dot or mermaid", format)
			}
			_, plan, err := a.planned(c.Context(), args[0], set, engine.PlanOptions{})
			if err != nil {
				return err
			}
			draw(a.stdout, plan.Graph())
			return nil
		},
	}
	c.Flags().StringArrayVar(&set, "set", nil, "set a variable: name=value (repeatable)")
	c.Flags().StringVar(&format, "format", "dot", "dot or mermaid")
	return c
}

func drawDOT(w io.Writer, g engine.Graph) {
	fmt.Fprintln(w, "digraph plan {\n  rankdir=LR; node [shape=box, fontname=\"sans-serif\"];")
	for _, n := range g.Nodes {
		style := ""
		if n.State == engine.Cached {
			style = ", style=filled, fillcolor=\"#d5efd5\""
		}
		fmt.Fprintf(w, "  %q [tooltip=%q%s];\n", n.ID, n.State, style)
	}
	for _, e := range g.Edges {
		fmt.Fprintf(w, "  %q -> %q;\n", e.From, e.To)
	}
	fmt.Fprintln(w, "}")
}

func drawMermaid(w io.Writer, g engine.Graph) {
	fmt.Fprintln(w, "flowchart LR")
	number := map[string]int{}
	for i, n := range g.Nodes {
		number[n.ID] = i
		fmt.Fprintf(w, "  n%d[\"%s\"]\n", i, strings.ReplaceAll(n.ID, `"`, "#quot;"))
		if n.State == engine.Cached {
			fmt.Fprintf(w, "  style n%d fill:#d5efd5\n", i)
		}
	}
	for _, e := range g.Edges {
		fmt.Fprintf(w, "  n%d --> n%d\n", number[e.From], number[e.To])
	}
}
