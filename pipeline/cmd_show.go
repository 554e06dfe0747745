package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"pgpipeline/pipeline/engine"
)

func showCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show RUN", Short: "Show what a run did, node by node", Args: cobra.ExactArgs(1),
		Long: "RUN is an id, a unique beginning of one, or latest. `pipeline report RUN` shows the result.",
		RunE: func(c *cobra.Command, args []string) error {
			rec, _, err := a.record(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(a.stdout, rec)
			}
			printRun(a.stdout, rec)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the record as JSON")
	return c
}

func printRun(w io.Writer, r *engine.Record) {
	fmt.Fprintf(w, "run %s of %s (%s), %s, took %s\n", r.ID, r.Experiment.Name, r.Experiment.Path, r.Status, took(r.Started, r.Ended))
	if r.Error != "" {
		fmt.Fprintf(w, "error: %s\n", r.Error)
	}
	printNodes(w, r.Nodes)
	for _, b := range r.Blocks {
		state := "complete"
		if !b.Complete {
			state = "interrupted"
		}
		own := ""
		if b.Run != r.ID {
			own = ", measured by run " + b.Run
		}
		fmt.Fprintf(w, "block %d of %s: %s, %d measurements, seed %d%s\n", b.Number, strings.TrimSpace(b.Stage+" "+b.Facet), state, len(b.Measurements), b.Seed, own)
		if b.Error != "" {
			fmt.Fprintf(w, "  %s\n", b.Error)
		}
	}
}

// printNodes lists the nodes in columns, and what each reported below it: a long fact must not widen the columns.
func printNodes(w io.Writer, nodes []engine.NodeRecord) {
	width := 0
	for _, n := range nodes {
		width = max(width, len(n.ID))
	}
	for _, n := range nodes {
		line := fmt.Sprintf("%-8s  %-*s  %6s  %s", n.Status, width, n.ID, seconds(n.Seconds), n.Reason)
		fmt.Fprintln(w, strings.TrimRight(line, " "))
		for _, name := range sortedNames(n.Facts) {
			fmt.Fprintf(w, "            %s: %s\n", name, n.Facts[name])
		}
	}
}

func logsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "logs RUN [NODE]", Short: "Print the log of a node", Args: cobra.RangeArgs(1, 2),
		Long: "Without NODE the names of the logs are listed.",
		RunE: func(c *cobra.Command, args []string) error {
			run, err := openRuns().Load(args[0])
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return listLogs(a.stdout, filepath.Join(run.Dir, "logs"))
			}
			f, err := os.Open(run.LogPath(args[1]))
			if os.IsNotExist(err) {
				return usage("run %s has no log of %q: `pipeline logs %s` lists them", run.ID, args[1], run.ID)
			}
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(a.stdout, f)
			return err
		},
	}
}

func listLogs(w io.Writer, dir string) error {
	names, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, n := range names {
		fmt.Fprintln(w, strings.TrimSuffix(n.Name(), ".log"))
	}
	return nil
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}
