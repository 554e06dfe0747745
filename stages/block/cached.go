package block

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/workload"
)

// bringAbout puts the data of a server that has just started where the experiment means it to be. What is not possible is a
// warning: the reads that are measured tell what became of it.
func (b *block) bringAbout(ctx context.Context, a *arm) error {
	began := time.Now()
	what := ""
	var err error
	switch b.Cached {
	case "postgres":
		var pages int64
		pages, err = postgres.Prewarm(ctx, a.server.ConnString(workload.Database))
		what = fmt.Sprintf("%d pages read into shared_buffers", pages)
	case "os":
		var bytes int64
		bytes, err = postgres.Cache(ctx, a.server.DataDir())
		what = fmt.Sprintf("%d MB read into the page cache", bytes/1e6)
	default: // none is brought about before each step
		return nil
	}
	if errors.Is(err, postgres.ErrNoPrewarm) {
		b.Warn("cached: postgres on %s: %v; the first slices have to bring the data in", a.Name, err)
		return nil
	}
	if err != nil {
		return b.blame(a, fmt.Errorf("cached: %s: %w", b.Cached, err))
	}
	fmt.Fprintf(b.Log, "%s: %s in %v\n", a.Name, what, time.Since(began).Round(time.Millisecond))
	return nil
}

// dropCaches has the operating system forget the data of all servers before a step, where that is the case that is meant.
func (b *block) dropCaches(ctx context.Context, arms []*arm) error {
	if b.Cached != "none" {
		return nil
	}
	for _, a := range arms {
		if err := postgres.Evict(ctx, a.server.DataDir()); err != nil {
			return &engine.SideError{Side: "outside", Err: fmt.Errorf("cached: none on %s: %w", a.Name, err)}
		}
	}
	return nil
}

// Limits of the cases of `cached`. The first pages of a block are always read once, and a step that writes adds pages (which
// servers before 16 count as read), so "all of it" is less than all.
const (
	pageBytes  = 8192
	fewMisses  = 0.02 // of the pages asked for: cached by PostgreSQL
	fewPages   = 128  // what connections read of the catalog is not the step's
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
	missed, disk := max(0, read-fewPages)/(hit+read), 0.0
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
