package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
)

func compareCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "compare RUN...", Short: "Put several runs or imported results side by side", Args: cobra.MinimumNArgs(1),
		Long: `Prints, step by step, the rate of every variant of every run relative to the first one. Runs that were measured at different
times are not interleaved: the figures are for looking at, never for a gate, and what differs between the runs is said.`,
		RunE: func(c *cobra.Command, args []string) error {
			var recs []*engine.Record
			for _, id := range args {
				rec, _, err := a.record(id)
				if err != nil {
					return err
				}
				recs = append(recs, rec)
			}
			for _, w := range differences(recs) {
				fmt.Fprintln(a.stderr, "note: "+w)
			}
			t, err := newSideBySide(recs)
			if err != nil {
				return err
			}
			return t.print(a.stdout)
		},
	}
	return c
}

// differences says what else differs between runs, besides what they compare.
func differences(recs []*engine.Record) []string {
	var out []string
	first := recs[0]
	for _, r := range recs[1:] {
		if r.Host.MachineID != first.Host.MachineID {
			out = append(out, fmt.Sprintf("run %s was measured on another machine (%s) than run %s (%s)", r.ID, r.Host.CPUModel, first.ID, first.Host.CPUModel))
		}
		if a, b := workloadLines(first), workloadLines(r); a != b {
			out = append(out, fmt.Sprintf("runs %s and %s differ in what the client did", first.ID, r.ID))
		}
	}
	return out
}

// workloadLines are the lines of the evidence recipes that describe the client's side.
func workloadLines(r *engine.Record) string {
	var kept []string
	for _, f := range r.Facets {
		for _, line := range strings.Split(f.Recipe, "\n") {
			if !strings.HasPrefix(line, "variant ") && !strings.HasPrefix(line, "machine:") {
				kept = append(kept, line)
			}
		}
	}
	return strings.Join(kept, "\n")
}

// sideBySide is one column per variant of each run, one row per step.
type sideBySide struct {
	columns []string
	rows    []string
	rate    map[string]map[string]float64 // step -> column -> operations per second
}

func newSideBySide(recs []*engine.Record) (*sideBySide, error) {
	t := &sideBySide{rate: map[string]map[string]float64{}}
	for _, rec := range recs {
		g, err := gate.Compile(nil, rec.Facets, rec.Experiment.Groups)
		if err != nil {
			return nil, err
		}
		for _, s := range g.Judge(rec).Steps {
			t.add(len(recs) > 1, rec, s)
		}
	}
	if len(t.rows) == 0 {
		return nil, usage("nothing was measured in these runs")
	}
	return t, nil
}

func (t *sideBySide) add(several bool, rec *engine.Record, s gate.StepEstimate) {
	column := strings.TrimSpace(s.Facet + " " + s.Variant)
	if several {
		column = rec.ID + " " + column
	}
	if !contains(t.columns, column) {
		t.columns = append(t.columns, column)
	}
	if t.rate[s.Step] == nil {
		t.rate[s.Step] = map[string]float64{}
		t.rows = append(t.rows, s.Step)
	}
	if s.State == "" {
		t.rate[s.Step][column] = s.QPS.Point
	}
}

func (t *sideBySide) print(w io.Writer) error {
	for i, c := range t.columns {
		fmt.Fprintf(w, "col-%d: %s\n", i+1, c)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "\n")
	for i := range t.columns {
		fmt.Fprintf(tw, "col-%d\t", i+1)
	}
	fmt.Fprintln(tw, "\t step (first column: operations per second; the others: relative to it)")
	for _, step := range t.rows {
		base := t.rate[step][t.columns[0]]
		for i, c := range t.columns {
			rate, ok := t.rate[step][c]
			switch {
			case !ok:
				fmt.Fprint(tw, "-\t")
			case i == 0:
				fmt.Fprintf(tw, "%.0f\t", rate)
			case base == 0:
				fmt.Fprint(tw, "?\t")
			default:
				fmt.Fprintf(tw, "%.2f\t", rate/base)
			}
		}
		fmt.Fprintln(tw, "\t "+step)
	}
	return tw.Flush()
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
