package block

import (
	"fmt"

	"pgpipeline/pipeline/engine"
)

// Limits of the cases of `cached`. The first pages of a block are always read once, and a step that writes adds pages (which
// servers before 16 count as read), so "all of it" is less than all.
const (
	pageBytes  = 8192
	fewMisses  = 0.02 // of the pages asked for: cached by PostgreSQL
	fewFetched = 0.05 // of the bytes that missed: cached by the operating system
)

// checkCached compares where the pages came from with where the experiment means them to be, and marks a measurement that does
// not fit. Misses are pages that were not in shared_buffers; what of them came from the disk is told by the kernel's account of the server's
// processes, or by the device's where that is closed.
func (c *collector) checkCached() {
	hit, read := c.m.Cost[engine.CostBuffersHit], c.m.Cost[engine.CostBuffersRead]
	if c.block.Cached == "" {
		return
	}
	if hit+read == 0 {
		c.m.Warnings = append(c.m.Warnings, "cached: "+c.block.Cached+" cannot be checked: the server counted no pages")
		return
	}
	fetched, source := c.fromDisk, "by the server's processes"
	if !c.knowsIO {
		fetched, source = c.m.Cost[engine.CostReadBytes], "on the device"
	}
	missed, disk := read/(hit+read), 0.0
	if read > 0 {
		disk = fetched / (read * pageBytes)
	}
	c.notes["cached"] = fmt.Sprintf("%s was meant; %.2f %% of the pages were not in shared_buffers, %.1f MB were read from the disk %s",
		c.block.Cached, missed*100, fetched/1e6, source)
	if problem := misfit(c.block.Cached, missed, disk); problem != "" {
		c.m.Warnings = append(c.m.Warnings, fmt.Sprintf("not cached: %s: %s (%s)", c.block.Cached, problem, c.notes["cached"]))
	}
}

// misfit says in which way the shares of misses and of misses that reached the disk do not fit a case.
func misfit(cached string, missed, disk float64) string {
	switch {
	case cached == "postgres" && missed > fewMisses:
		return "too many pages were not in shared_buffers"
	case cached == "postgres":
		return ""
	case missed <= fewMisses:
		return "nearly all pages were in shared_buffers"
	case cached == "os" && disk > fewFetched:
		return "the operating system had to read from the disk"
	case cached == "none" && disk <= fewFetched:
		return "the operating system had nearly all pages"
	}
	return ""
}
