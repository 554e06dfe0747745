package block

import (
	"context"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/driver"
	"pgpipeline/stages/sysstat"
	"pgpipeline/stages/workload"
)

// take runs one slice and keeps it as a sample, with the CPU time of both sides and the state of the machine.
func (c *collector) take(ctx context.Context, pair, order int, slice time.Duration) (time.Duration, error) {
	machine := sysstat.Machine()
	used := c.arm.usage.Read()
	began := time.Now()
	discard := c.block.Timing.Discard
	if c.step.FixedWork() {
		discard = 0
	} else if c.step.Class != workload.Steady {
		discard = min(c.block.Timing.Warmup, slice/4)
		slice += discard
	}
	if c.step.Kind.Tool != nil {
		slice, discard = toolSlice(c.step, slice, discard)
	}
	r, err := sliceOf(ctx, c.step, c.session, slice, discard)
	took := time.Since(began)
	usage := c.arm.usage.Read().Minus(used)
	if err != nil {
		return took, c.fail(r, err)
	}
	c.add(r, c.sample(r, pair, order, took, usage, machine), took)
	return took, nil
}

// sample is one slice in the record's words. What was measured around the whole slice is scaled to its counted part.
func (c *collector) sample(r driver.Result, pair, order int, took time.Duration, usage sysstat.Usage, before sysstat.Snapshot) engine.Sample {
	share := 1.0
	if took > 0 && r.Seconds < took.Seconds() {
		share = r.Seconds / took.Seconds()
	}
	c.m.Cost[engine.CostSwitches] += float64(usage.Switches) * share
	c.fromDisk += float64(usage.ReadBytes) * share
	c.knowsIO = usage.HasIO
	return engine.Sample{
		Pair: pair, Order: order, Start: r.Start, Seconds: r.Seconds, Ops: float64(r.Ops), Events: float64(r.Events),
		Errors: counts(r.Errors), Retries: counts(r.Retries),
		ServerCPU: usage.CPUSeconds * share, ClientCPU: r.ClientCPU, MaxSeconds: r.MaxSeconds,
		Env: engine.NewReadings(sysstat.Machine().Since(before)),
	}
}

func counts(m map[string]int64) map[string]int64 {
	if len(m) == 0 {
		return nil
	}
	return m
}
