package gate

import (
	"math"
	"slices"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/stat"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// fewTail is how many samples must lie beyond a percentile for it to be worth anything.
const fewTail = 100

// perSlice metrics exist once per slice, so that a steady block gives many pairs of them.
var perSlice = map[string]func(engine.Sample) float64{
	"qps":        func(s engine.Sample) float64 { return atLeastHalf(s.Ops) / s.Seconds },
	"cpu_per_op": func(s engine.Sample) float64 { return positive(s.ServerCPU / atLeastHalf(s.Ops)) },
}

// atLeastHalf counts a slice without a single operation as half of one: its logarithm exists, and the stall shows elsewhere.
func atLeastHalf(ops float64) float64 { return math.Max(ops, 0.5) }

// costKeys are the totals behind a cost per operation.
var costKeys = map[string]string{
	"wal_per_op":      engine.CostWALBytes,
	"reads_per_op":    engine.CostReads,
	"writes_per_op":   engine.CostWrites,
	"switches_per_op": engine.CostSwitches,
}

// metric gives the value of a metric for one measurement, or why there is none.
func (e evidence) metric(r request) func(*engine.Measurement) (float64, string) {
	if key, ok := costKeys[r.metric]; ok {
		return func(m *engine.Measurement) (float64, string) { return costPerOp(m, key) }
	}
	if p := percentile(r.metric); p > 0 {
		return func(m *engine.Measurement) (float64, string) { return e.quantile(m, r.operation, p) }
	}
	switch r.metric {
	case "qps":
		return func(m *engine.Measurement) (float64, string) { return rateOf(m, r.operation) }
	case "cpu_per_op":
		return cpuPerOp
	case "cv":
		return func(m *engine.Measurement) (float64, string) { return variation(m, r.operation) }
	case "rate":
		return func(m *engine.Measurement) (float64, string) { return exceeded(m, r.operation, *r.number/100) }
	}
	return func(*engine.Measurement) (float64, string) { return 0, "missing" }
}

// percentile is the share that a percentile's name stands for; 0 for other metrics.
func percentile(metric string) float64 { return percentiles[metric] }

var percentiles = map[string]float64{"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}

func costPerOp(m *engine.Measurement, key string) (float64, string) {
	ops, counted := m.Cost[engine.CostOperations]
	if !counted {
		ops = totalOps(m)
	}
	v, ok := m.Cost[key]
	if !ok || ops <= 0 {
		return 0, "missing"
	}
	return v / ops, ""
}

func cpuPerOp(m *engine.Measurement) (float64, string) {
	cpu := 0.0
	for i := range m.Samples {
		if s := &m.Samples[i]; counts(s) {
			cpu += s.ServerCPU
		}
	}
	if ops := totalOps(m); ops > 0 {
		return cpu / ops, ""
	}
	return 0, "missing"
}

func totalOps(m *engine.Measurement) float64 {
	total := 0.0
	for i := range m.Samples {
		if s := &m.Samples[i]; counts(s) {
			total += s.Ops
		}
	}
	return total
}

// rateOf is operations per second over the whole measurement; of one operation when it is named.
func rateOf(m *engine.Measurement, operation string) (float64, string) {
	seconds := measuredSeconds(m)
	if seconds <= 0 {
		return 0, "missing"
	}
	if operation == "" {
		return atLeastHalf(totalOps(m)) / seconds, ""
	}
	op, ok := m.Ops[operation]
	if !ok {
		return 0, "missing"
	}
	return atLeastHalf(float64(op.Count)) / seconds, ""
}

// tail is what is kept of a histogram: decoding one takes longer than all else about a measurement.
type tail struct {
	count int64
	at    map[float64]float64 // share -> seconds
}

// tailOf reads the histogram of response times: from the intended start where there is one, else from the actual send.
func (e evidence) tailOf(m *engine.Measurement, operation string) tail {
	if operation == "" && len(m.Ops) == 1 {
		operation = sortedKeys(m.Ops)[0]
	}
	key := tailKey{m, operation}
	if t, ok := e.tails[key]; ok {
		return t
	}
	op := m.Ops[operation]
	text := op.Response
	if text == "" {
		text = op.Service
	}
	t := tail{}
	if h, err := hdrhistogram.Decode([]byte(text)); text != "" && err == nil {
		t = tail{h.TotalCount(), map[float64]float64{}}
		for _, share := range percentiles {
			t.at[share] = float64(h.ValueAtPercentile(share*100)) / 1e9
		}
	}
	e.tails[key] = t
	return t
}

type tailKey struct {
	m         *engine.Measurement
	operation string
}

func (e evidence) quantile(m *engine.Measurement, operation string, share float64) (float64, string) {
	t := e.tailOf(m, operation)
	if t.count == 0 {
		return 0, "missing"
	}
	if float64(t.count)*(1-share) < fewTail {
		return 0, "few-tail"
	}
	return t.at[share], ""
}

func variation(m *engine.Measurement, operation string) (float64, string) {
	v := stat.CV(m.PerSecond(operation))
	if math.IsNaN(v) {
		return 0, "missing"
	}
	return v, ""
}

func exceeded(m *engine.Measurement, operation string, share float64) (float64, string) {
	rates := m.PerSecond(operation)
	if len(rates) == 0 {
		return 0, "missing"
	}
	if float64(len(rates))*(1-share) < 1 {
		return slices.Min(rates), ""
	}
	return stat.LowQuantile(rates, share), ""
}

// stalled says how long the longest stall is, and how many there are.
func stalled(m *engine.Measurement, operation string, below float64) (longest float64, runs int, ok bool) {
	found, ok := m.Stalls(operation, below)
	return stat.Longest(found).Seconds, len(found), ok
}

// worstResponse is the longest response time in seconds. No response takes no time at all: zero is what a load generator leaves behind that
// does not tell.
func worstResponse(m *engine.Measurement, operation string) (worst float64, known bool) {
	for name, op := range m.Ops {
		if operation == "" || operation == name {
			worst = math.Max(worst, op.MaxSeconds)
		}
	}
	if operation == "" {
		for _, s := range m.Samples {
			worst = math.Max(worst, s.MaxSeconds)
		}
	}
	return worst, worst > 0
}
