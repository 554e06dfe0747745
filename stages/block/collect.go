package block

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/driver"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/workload"
)

// A collector gathers what one step yields on one variant in this block.
type collector struct {
	block   *block
	step    workload.Step
	arm     *arm
	session client
	m       engine.Measurement
	began   time.Time // of the first slice
	hist    map[string]*latency
	counted float64 // seconds of the samples
	total   float64 // seconds of the slices that they are part of
	before  *counters
	notes   map[string]string
	changed int64 // rows that were really inserted, updated or deleted

	statements float64
	fromDisk   float64 // bytes that the server's processes had to fetch from the disk
	knowsIO    bool
}

// latency is the merged histograms of one operation.
type latency struct {
	count, ops        int64
	service, response *hdrhistogram.Histogram
	worst             float64
}

func newCollector(b *block, s workload.Step, a *arm, session client) *collector {
	return &collector{block: b, step: s, arm: a, session: session, hist: map[string]*latency{}, notes: map[string]string{},
		m: engine.Measurement{Step: s.Name, Variant: a.Name, Class: s.Class, Unit: s.Unit, Clients: s.Clients, Cost: map[string]float64{}}}
}

// warm notes how the warm-up ended.
func (c *collector) warm(spent time.Duration, steady bool) {
	c.m.WarmupSeconds, c.m.Unsteady = spent.Seconds(), !steady
}

// add merges the result of one slice.
func (c *collector) add(r driver.Result, sample engine.Sample, slice time.Duration) {
	c.m.Samples = append(c.m.Samples, sample)
	c.counted += sample.Seconds
	c.total += max(slice.Seconds(), sample.Seconds)
	c.changed += r.Effective
	c.keepOutput()
	c.statements += float64(r.Statements)
	c.m.Cost[engine.CostServerCPU] += sample.ServerCPU
	c.m.Cost[engine.CostClientCPU] += sample.ClientCPU
	c.m.Cost[engine.CostOperations] += sample.Ops
	for name, op := range r.Operations {
		c.merge(name, op)
	}
	offset := r.Start.Sub(c.began).Seconds()
	for _, s := range r.Series {
		s.T += offset
		c.m.Series = append(c.m.Series, s)
	}
	for name, list := range r.Tenths {
		if c.m.Tenths == nil {
			c.m.Tenths = map[string]engine.Tenths{}
		}
		c.m.Tenths[name] = append(c.m.Tenths[name], list...)
	}
}

func (c *collector) merge(name string, op *driver.OpResult) {
	l := c.hist[name]
	if l == nil {
		l = &latency{}
		c.hist[name] = l
	}
	l.count += op.Count
	l.ops += op.Ops
	l.worst = max(l.worst, op.MaxSeconds)
	l.service = mergeHistogram(l.service, op.Service)
	l.response = mergeHistogram(l.response, op.Response)
}

func mergeHistogram(into, from *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	if from == nil {
		return into
	}
	if into == nil {
		into = hdrhistogram.New(from.LowestTrackableValue(), from.HighestTrackableValue(), int(from.SignificantFigures()))
	}
	into.Merge(from)
	return into
}

// fail marks the measurement as invalid, for the reason that ended it.
func (c *collector) fail(r driver.Result, err error) error {
	c.m.Invalid, c.m.Cause = firstLine(err.Error()), "outside"
	if len(r.Errors) > 0 {
		c.m.Samples = append(c.m.Samples, engine.Sample{Pair: len(c.m.Samples), Start: time.Now(), Errors: r.Errors, Retries: r.Retries, Void: c.m.Invalid})
	}
	err = c.block.blame(c.arm, fmt.Errorf("%s on %s: %w", c.step.Name, c.arm.Name, err))
	if !isOutside(err) {
		c.m.Cause = "server"
	}
	return err
}

// measurement is what there is to record.
func (c *collector) measurement() engine.Measurement {
	m := c.m
	m.Ops = map[string]engine.Operation{}
	for name, l := range c.hist {
		op := engine.Operation{Count: l.count, MaxSeconds: l.worst}
		if name != "" {
			op.Count = l.ops // rows of an operation that inserts: its rate is that of rows
		}
		op.Service = encode(l.service)
		op.Response = encode(l.response)
		m.Ops[name] = op
	}
	c.noteStalls(&m)
	if len(c.notes) > 0 {
		m.Notes = maps.Clone(c.notes)
	}
	return m
}

// encode writes a histogram as V2 compressed base64, the format that every HdrHistogram library reads.
func encode(h *hdrhistogram.Histogram) string {
	if h == nil || h.TotalCount() == 0 {
		return ""
	}
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil { // only a histogram larger than the format allows; ours have a fixed range
		return ""
	}
	return string(text)
}

// lastRate is the rate of the last sample, for people who watch.
func (c *collector) lastRate() float64 {
	if len(c.m.Samples) == 0 {
		return 0
	}
	s := c.m.Samples[len(c.m.Samples)-1]
	if s.Seconds == 0 {
		return 0
	}
	return s.Ops / s.Seconds
}

// counters of the server and of the disk at one moment.
type counters struct {
	stats postgres.Stats
	disk  map[string]float64
}

// begin reads the counters before the first slice.
func (c *collector) begin(ctx context.Context) {
	c.began = time.Now()
	c.before = c.read(ctx)
}

// end reads them again and keeps the differences, scaled to the counted part of the time.
func (c *collector) end(ctx context.Context) {
	after := c.read(ctx)
	if c.before == nil || after == nil || c.total == 0 {
		return
	}
	share := c.counted / c.total
	for name, value := range after.stats.Counters {
		if was, ok := c.before.stats.Counters[name]; ok {
			c.m.Cost[name] += (value - was) * share
		}
	}
	for name, value := range after.disk {
		if was, ok := c.before.disk[name]; ok {
			c.m.Cost[name] += (value - was) * share
		}
	}
	for name, why := range after.stats.Missing {
		c.notes["not measured: "+name] = why
	}
	if changed := c.rowsChanged(c.before.stats.Counters, after.stats.Counters); c.step.Writes {
		c.notes["rows changed"] = fmt.Sprintf("%.0f", changed)
	} else {
		c.checkReadsOnly(changed)
	}
	c.noteTarget()
	c.checkCached()
	c.checkClient()
}

// rowsChanged is how many rows were inserted, updated or deleted: as commands reported it for a step that writes, which our own driver
// counts; else by the server's counters, which see what functions and other load generators do.
func (c *collector) rowsChanged(before, after map[string]float64) float64 {
	if c.step.Writes && c.step.Kind.Tool == nil {
		return float64(c.changed)
	}
	rows := 0.0
	for _, name := range []string{"rows_inserted", "rows_updated", "rows_deleted"} {
		rows += after[name] - before[name]
	}
	return max(rows, float64(c.changed))
}

// read returns nil when the server cannot be asked; the error that matters then comes from the step itself.
func (c *collector) read(ctx context.Context) *counters {
	if ctx.Err() != nil {
		return nil
	}
	stats, err := c.arm.server.Stats(ctx)
	if err != nil {
		c.notes["not measured: counters"] = firstLine(err.Error())
		return nil
	}
	out := &counters{stats: stats, disk: map[string]float64{}}
	if c.arm.device == nil {
		return out
	}
	disk, err := c.arm.device.Read()
	if err != nil {
		c.notes["not measured: disk"] = err.Error()
		return out
	}
	out.disk[engine.CostReads], out.disk[engine.CostWrites] = float64(disk.Reads), float64(disk.Writes)
	out.disk[engine.CostReadBytes], out.disk[engine.CostWriteBytes] = float64(disk.ReadBytes), float64(disk.WriteBytes)
	return out
}
