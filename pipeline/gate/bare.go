package gate

import (
	"math"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/stat"
)

// bare answers the functions that give a plain number. It also fills in how much stands behind it.
func (r *resolver) bare(req request, d *detail) (float64, string) {
	step := req.steps[0]
	var used []*engine.Measurement
	for i := range r.evidence.blocks {
		if m := r.evidence.measurement(i, step.Name, req.variant); m != nil {
			used = append(used, m)
		}
	}
	d.boots = len(used)
	d.minutes = r.evidence.minutes(step.Name, req.variant)
	if req.fn.ratio {
		return r.count(req, d)
	}
	if req.metric == "errors" {
		return r.errors(step.Name, req.variant), ""
	}
	if len(used) == 0 {
		return 0, "missing"
	}
	v, why := summary(req, used)
	d.naive = v
	return v, why
}

// count answers what is known of the comparison itself.
func (r *resolver) count(req request, d *detail) (float64, string) {
	req.metric, req.operation = "qps", ""
	seq, _, _ := r.sequence(req, req.steps[0], d.base)
	switch req.fn.name {
	case "pairs":
		return float64(len(seq.pairs.Diff)), ""
	case "boots":
		return float64(seq.pairs.Boots()), ""
	}
	floor := r.noise.floor(req.steps[0], seq, r.scope.facet.MaxBlocks)
	if math.IsInf(floor, 0) || math.IsNaN(floor) {
		return 0, "too-few"
	}
	return floor, ""
}

// errors counts unexpected SQL errors, also in blocks that an error cut short.
func (r *resolver) errors(step, variant string) float64 {
	total := 0.0
	for i := range r.evidence.blocks {
		for _, m := range r.evidence.blocks[i].Measurements {
			if m.Step == step && m.Variant == variant {
				total += errorCount(m)
			}
		}
	}
	return total
}

func errorCount(m engine.Measurement) float64 {
	total := 0.0
	for _, s := range m.Samples {
		for _, n := range s.Errors {
			total += float64(n)
		}
	}
	return total
}

// summary of a metric over blocks: the worst for extremes, the sum for counts, the middle for the rest.
func summary(req request, used []*engine.Measurement) (float64, string) {
	switch req.metric {
	case "qps":
		return medianRate(req, used)
	case "maxrt", "stall", "stalls":
		return extreme(req, used)
	case "cv":
		var all []float64
		for _, m := range used {
			if v, why := variation(m, req.operation); why == "" {
				all = append(all, v)
			}
		}
		if len(all) == 0 {
			return 0, "missing"
		}
		return stat.Median(all), ""
	case "steady":
		unsteady := 0
		for _, m := range used {
			if m.Unsteady {
				unsteady++
			}
		}
		if float64(unsteady) > 0.2*float64(len(used)) {
			return 0, ""
		}
		return 1, ""
	}
	return 0, "missing"
}

func extreme(req request, used []*engine.Measurement) (float64, string) {
	longest, count, any := 0.0, 0, false
	for _, m := range used {
		if req.metric == "maxrt" {
			v, ok := worstResponse(m, req.operation)
			longest, any = math.Max(longest, v), any || ok
			continue
		}
		v, n, ok := stalled(m, req.operation, req.below)
		longest, count, any = math.Max(longest, v), count+n, any || ok
	}
	switch {
	case !any:
		return 0, "missing"
	case req.metric == "stalls":
		return float64(count), ""
	}
	return longest, ""
}

func medianRate(req request, used []*engine.Measurement) (float64, string) {
	var all []float64
	for _, m := range used {
		if req.operation != "" {
			if v, why := rateOf(m, req.operation); why == "" {
				all = append(all, v)
			}
			continue
		}
		all = append(all, rates(m)...)
	}
	if len(all) == 0 {
		return 0, "missing"
	}
	return stat.Median(all), ""
}

// rates are the operations per second of each slice that counts.
func rates(m *engine.Measurement) []float64 {
	var out []float64
	for i := range m.Samples {
		if s := &m.Samples[i]; counts(s) {
			out = append(out, perSlice["qps"](*s))
		}
	}
	return out
}
