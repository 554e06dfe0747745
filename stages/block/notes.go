package block

import (
	"fmt"
	"maps"
	"slices"

	"pgpipeline/pipeline/engine"
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

// Rows that may change under a step that only reads: the server keeps statistics in tables of its own.
const (
	changedRows  = 100
	changedShare = 0.01 // of the transactions
)

// checkReadsOnly warns of a steady step that wrote: its slices alternate between the servers, so each measures what the ones before it left.
func (c *collector) checkReadsOnly(changed float64) {
	events := 0.0
	for _, s := range c.m.Samples {
		events += s.Events
	}
	if changed > max(changedRows, changedShare*events) {
		c.m.Warnings = append(c.m.Warnings, fmt.Sprintf("%s writes: %.0f rows were changed, and class steady is for steps that only read; leave class out", c.step.Name, changed))
	}
}

// noteStalls says how often and when the rate of an operation broke down, and when it had its longest response.
func (c *collector) noteStalls(m *engine.Measurement) {
	if c.step.Class != workload.Whole || len(m.Series) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.Ops)) {
		label := ""
		if name != "" {
			label = " of " + name
		}
		if found, ok := m.Stalls(name, stat.StallBelow); ok {
			c.notes["stalls"+label] = stallsText(found)
		}
		worst, at := 0.0, 0.0
		for _, s := range m.Series {
			if v := s.MaxSeconds.At(name); v > worst {
				worst, at = v, s.T
			}
		}
		if worst > 0 {
			c.notes["longest response"+label] = fmt.Sprintf("%.3f s, in second %.0f", worst, at)
		}
	}
}

func stallsText(found []stat.Stall) string {
	if len(found) == 0 {
		return "none"
	}
	longest := stat.Longest(found)
	return fmt.Sprintf("%d, the longest of %.1f s from second %.1f on", len(found), longest.Seconds, longest.Start)
}
