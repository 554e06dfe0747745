package block

import (
	"fmt"
	"maps"
	"slices"

	"pgpipeline/pipeline/stat"
	"pgpipeline/stages/workload"
)

// metTarget is the share of a target rate from which on it counts as met: the published reports' rule.
const metTarget = 0.95

// noteTarget says whether the rate of inserts that the step is to be measured under was reached. Where it was not, the step's own
// rate cannot be compared: the server had less to do.
func (c *collector) noteTarget() {
	target := c.step.Target()
	if target <= 0 || c.counted <= 0 {
		return
	}
	// The schedule ends with the step's time; the last query may take longer.
	seconds, inserted := c.counted, 0.0
	if d := c.step.Duration.Seconds(); d > 0 && !c.step.FixedWork() {
		seconds = min(seconds, d)
	}
	if l := c.hist["insert"]; l != nil {
		inserted = float64(l.ops) / seconds
	}
	c.notes["insert rate"] = fmt.Sprintf("%.1f of %.0f rows/s", inserted, target)
	if inserted < metTarget*target {
		c.m.Warnings = append(c.m.Warnings, fmt.Sprintf("missed its target: %.1f of %.0f rows/s were inserted (%.0f %%, at least 95 %% are wanted); the rate of %s is not to be compared",
			inserted, target, 100*inserted/target, c.m.Unit))
	}
}

// stallBelow is the share of the median rate under which a second is part of a stall.
const stallBelow = 0.1

// noteStalls says how often and when the rate of an operation broke down, and when it had its longest response.
func (c *collector) noteStalls() {
	if c.step.Class != workload.Whole || len(c.m.Series) == 0 {
		return
	}
	names := map[string]bool{}
	for _, s := range c.m.Series {
		for name := range s.Ops {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		label := ""
		if name != "" {
			label = " of " + name
		}
		c.notes["stalls"+label] = c.stalls(name)
		worst, at := 0.0, 0.0
		for _, s := range c.m.Series {
			if v := s.MaxSeconds[name]; v > worst {
				worst, at = v, s.T
			}
		}
		c.notes["longest response"+label] = fmt.Sprintf("%.3f s, in second %.0f", worst, at)
	}
}

// stalls describes the runs of seconds below a tenth of the median rate, as the assertion functions stall and stalls find them.
func (c *collector) stalls(name string) string {
	rates := make([]float64, len(c.m.Series))
	for i, s := range c.m.Series {
		rates[i] = s.Ops[name]
	}
	limit := stallBelow * stat.Median(slices.Clone(rates))
	count, run, longest, at := 0, 0, 0, 0.0
	for i, rate := range rates {
		if rate >= limit {
			run = 0
			continue
		}
		if run++; run == 1 {
			count++
		}
		if run > longest {
			longest, at = run, c.m.Series[i-run+1].T
		}
	}
	if count == 0 {
		return "none"
	}
	return fmt.Sprintf("%d, the longest of %d s from second %.0f on", count, longest, at)
}
