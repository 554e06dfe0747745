package stages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/stat"
)

// Compare is the kind that puts the variants side by side.
var Compare = engine.Kind{
	Name: "compare",
	Doc: `Put the variants of every facet side by side and refuse to go on with nothing.
Writes qps.abs.tsv and qps.rel.tsv, the tables that benchmark posts are made from, into the run's directory: rows are steps,
columns are variants, the base first. Intervals, costs and verdicts are in the reports.`,
	Scope: engine.Derived,
	New:   func() engine.Stage { return &CompareStage{} },
}

// CompareStage is the parameters of the compare stage.
type CompareStage struct {
	Steps []string `yaml:"steps,one" doc:"globs of the steps that have to be there; absent: all that were planned"`
}

// Run writes the tables. It is an error when a facet has nothing to compare.
func (c *CompareStage) Run(ctx context.Context, env *engine.Env) error {
	var missing []string
	for _, f := range env.Facets {
		rates := medianRates(f, env.Blocks)
		missing = append(missing, c.missing(f, rates)...)
		if err := writeTables(env.Dir, f, rates); err != nil {
			return err
		}
	}
	if len(env.Facets) == 0 {
		return errors.New("there is no run stage, so nothing was measured")
	}
	if len(missing) > 0 {
		env.Warn("not measured: %s", strings.Join(missing, ", "))
	}
	return nil
}

// medianRates are the medians over all counted slices, by step and variant.
func medianRates(f engine.Facet, blocks []engine.BlockRecord) map[string]map[string]float64 {
	samples := map[string]map[string][]float64{}
	for _, b := range blocks {
		if b.EvidenceKey != f.EvidenceKey || b.Series != f.Series || !b.Complete {
			continue
		}
		for _, m := range b.Measurements {
			for _, s := range m.Samples {
				if m.Invalid == "" && s.Void == "" && s.Seconds > 0 {
					if samples[m.Step] == nil {
						samples[m.Step] = map[string][]float64{}
					}
					samples[m.Step][m.Variant] = append(samples[m.Step][m.Variant], s.Ops/s.Seconds)
				}
			}
		}
	}
	out := map[string]map[string]float64{}
	for step, byVariant := range samples {
		out[step] = map[string]float64{}
		for variant, x := range byVariant {
			out[step][variant] = stat.Median(x)
		}
	}
	return out
}

// missing are the steps that should be there and have no figure for some variant.
func (c *CompareStage) missing(f engine.Facet, rates map[string]map[string]float64) []string {
	var out []string
	for _, s := range f.Steps {
		wanted := len(c.Steps) == 0
		for _, glob := range c.Steps {
			ok, _ := filepath.Match(glob, s.Name)
			wanted = wanted || ok
		}
		for _, v := range f.Variants {
			if _, ok := rates[s.Name][v.Name]; wanted && !ok {
				out = append(out, s.Name+" on "+v.Name)
			}
		}
	}
	return out
}

func writeTables(dir string, f engine.Facet, rates map[string]map[string]float64) error {
	suffix := ""
	if f.Name != "" {
		suffix = "." + strings.NewReplacer("/", "_", ",", ".", "=", "-").Replace(f.Name)
	}
	var abs, rel strings.Builder
	header := make([]string, len(f.Variants))
	for i, v := range f.Variants {
		header[i] = v.Name
	}
	fmt.Fprintf(&abs, "%s\tstep\n", strings.Join(header, "\t"))
	fmt.Fprintf(&rel, "Relative to: %s\n%s\tstep\n", header[0], strings.Join(header[1:], "\t"))
	for _, s := range f.Steps {
		row := rates[s.Name]
		base := row[header[0]]
		for i, v := range header {
			fmt.Fprintf(&abs, "%.0f\t", row[v])
			if i > 0 {
				fmt.Fprint(&rel, ratioText(row, v, base), "\t")
			}
		}
		fmt.Fprintln(&abs, s.Name)
		fmt.Fprintln(&rel, s.Name)
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "qps.abs"+suffix+".tsv"), []byte(abs.String()), 0o644),
		os.WriteFile(filepath.Join(dir, "qps.rel"+suffix+".tsv"), []byte(rel.String()), 0o644))
}

func ratioText(row map[string]float64, variant string, base float64) string {
	rate, ok := row[variant]
	if !ok || base == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", rate/base)
}
