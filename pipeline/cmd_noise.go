package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
	"pgpipeline/pipeline/internal/store"
)

func noiseCommand(a *app) *cobra.Command {
	var set []string
	var blocks int
	var progress string
	c := &cobra.Command{
		Use: "noise FILE", Short: "Calibrate: measure the base against itself on this machine", Args: cobra.ExactArgs(1),
		Long: `Runs an A/A experiment through the entire path: a second copy of the base takes the candidates' place. What it teaches about the
machine (spread of pairs, of boots, order effects, the smallest change that can be told from noise) is kept in
.pipeline/noise/ and used by every verdict on this machine for 30 days.`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.noise(c.Context(), args[0], set, blocks, progress)
		},
	}
	c.Flags().StringArrayVar(&set, "set", nil, "set a variable: name=value (repeatable)")
	c.Flags().IntVar(&blocks, "blocks", gate.CalibrationBlocks, "blocks to measure in all, those of earlier calibrations included")
	c.Flags().StringVar(&progress, "progress", "auto", "progress on stderr: auto, tty, plain or json")
	return c
}

// enough wants blocks until there are so many.
type enough int

func (n enough) Wanted(f engine.Facet, blocks []engine.BlockRecord) (map[string]bool, string) {
	want := map[string]bool{}
	for _, s := range f.Steps {
		want[s.Name] = len(blocks) < int(n)
	}
	return want, fmt.Sprintf("%d of %d blocks", len(blocks), int(n))
}

// unlimited stands in for the experiment's budget of time: a calibration ends with its blocks, not with the time that a gate may take.
const unlimited = 1000 * time.Hour

func (a *app) noise(ctx context.Context, path string, set []string, blocks int, progress string) error {
	p, plan, err := a.planned(ctx, path, set, engine.PlanOptions{AA: true})
	if err != nil {
		return err
	}
	for _, f := range plan.Facets {
		f.Facet.MaxBlocks = blocks
	}
	rec, err := a.follow(ctx, plan, engine.RunOptions{Store: p.store, Runs: p.runs, Machine: store.OpenMachine(""), Judge: enough(blocks),
		Tool: toolVersion(), Set: set, Jobs: 2, Blocks: blocks, Budget: unlimited}, progress)
	if err != nil {
		return err
	}
	cal, err := gate.Calibrate(rec)
	if err != nil {
		return err
	}
	file := calibrationPath(rec.Experiment, rec.Host)
	if err := saveCalibration(file, cal); err != nil {
		return err
	}
	fmt.Fprint(a.stdout, cal.Text())
	fmt.Fprintf(a.stderr, "wrote %s\n", file)
	return nil
}
