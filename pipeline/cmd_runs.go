package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/store"
)

func runsCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "runs", Short: "List the runs of this repository", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, args []string) error {
			list, err := openRuns().List()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(a.stdout, list)
			}
			tw := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(tw, "RUN\tEXPERIMENT\tSTATUS\tBLOCKS\tTOOK")
			for _, r := range list {
				s := summaryOf(r)
				fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\n", r.ID, s.Experiment, s.Status, s.Blocks, took(s.Started, s.Ended))
			}
			return tw.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	return c
}

// summaryOf reads what a run says of itself in a few bytes; a run whose process died is interrupted, whatever it says.
func summaryOf(r store.RunInfo) engine.RunSummary {
	var s engine.RunSummary
	if json.Unmarshal(r.Summary, &s) != nil {
		return engine.RunSummary{Status: "no record"}
	}
	if s.Status == "running" && !r.Live {
		s.Status = "interrupted"
	}
	return s
}

func took(started, ended time.Time) string {
	if ended.IsZero() {
		return "-"
	}
	return ended.Sub(started).Round(time.Second).String()
}
