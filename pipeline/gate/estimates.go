package gate

import (
	"math"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/stat"
)

// relMetrics are the ratios that every step's estimate has, where there is data.
var relMetrics = map[string]string{
	"relqps": "qps", "relcpu": "cpu_per_op", "relwal": "wal_per_op", "relreads": "reads_per_op", "relwrites": "writes_per_op", "relswitches": "switches_per_op",
	"relp50": "p50", "relp95": "p95", "relp99": "p99", "relcv": "cv",
}

// absMetrics are the absolute figures that every step's estimate has, where there is data.
var absMetrics = []string{"cpu_per_op", "wal_per_op", "reads_per_op", "writes_per_op", "switches_per_op", "p50", "p95", "p99", "p999", "cv"}

// estimate fills in the tables of steps and groups of one facet.
func (s sitting) estimate(v *Verdict, f engine.Facet, e evidence) {
	sc := scope{facet: f, groups: s.groups}
	for _, step := range f.Steps {
		for _, variant := range f.Variants {
			r := &resolver{scope: sc, evidence: e, candidate: variant.Name, levels: s.levels, noise: s.noise.in(f.Name)}
			v.Steps = append(v.Steps, r.stepEstimate(step))
		}
	}
	for _, group := range sc.groupNames() {
		for _, c := range sc.candidates() {
			r := &resolver{scope: sc, evidence: e, candidate: c, levels: s.levels, noise: s.noise.in(f.Name)}
			if ge, ok := r.groupEstimate(group); ok {
				v.Groups = append(v.Groups, ge)
			}
		}
	}
}

func (r *resolver) stepEstimate(step engine.StepInfo) StepEstimate {
	f := r.scope.facet
	est := StepEstimate{Facet: f.Name, Stage: f.Stage, Step: step.Name, Variant: r.candidate, Base: r.candidate == r.base(),
		Class: step.Class, Unit: step.Unit, Groups: step.Groups, Abs: map[string]float64{}}
	used := r.used(step.Name)
	est.Boots, est.Minutes = len(used), r.evidence.minutes(step.Name, r.candidate)
	est.Errors = int64(r.errors(step.Name, r.candidate))
	if len(used) == 0 {
		est.State = "missing"
		return est
	}
	r.absolutes(&est, step, used)
	if !est.Base {
		r.relatives(&est, step)
	}
	return est
}

func (r *resolver) used(step string) []*engine.Measurement {
	var used []*engine.Measurement
	for i := range r.evidence.blocks {
		if m := r.evidence.measurement(i, step, r.candidate); m != nil {
			used = append(used, m)
		}
	}
	return used
}

func (r *resolver) absolutes(est *StepEstimate, step engine.StepInfo, used []*engine.Measurement) {
	var all []float64
	for _, m := range used {
		all = append(all, rates(m)...)
		if m.Unsteady {
			est.Unsteady++
		}
	}
	lo, hi := stat.MedianInterval(all, 0.95)
	est.QPS = Level{Point: finite(stat.Median(all)), Lo: pointer(lo), Hi: pointer(hi)}
	for _, metric := range absMetrics {
		if v, ok := r.typical(request{metric: metric}, used); ok {
			est.Abs[metric] = v
		}
	}
	percent := 99.0
	if v, ok := r.typical(request{metric: "rate", number: &percent}, used); ok {
		est.Abs["rate99"] = v
	}
	if v, why := extreme(request{metric: "maxrt"}, used); why == "" {
		est.Abs["maxrt"] = v
	}
	if v, why := extreme(request{metric: "stall", below: stat.StallBelow}, used); why == "" {
		est.Abs["stall"] = v
	}
	r.operations(est, step, used)
}

// operations fills in the figures of the single operations of a step that has several.
func (r *resolver) operations(est *StepEstimate, step engine.StepInfo, used []*engine.Measurement) {
	for _, op := range step.Operations {
		figures := map[string]float64{}
		for _, metric := range []string{"qps", "p50", "p95", "p99", "p999"} {
			if v, ok := r.typical(request{metric: metric, operation: op}, used); ok {
				figures[metric] = v
			}
		}
		if v, why := extreme(request{metric: "maxrt", operation: op}, used); why == "" {
			figures["maxrt"] = v
		}
		if est.Ops == nil {
			est.Ops = map[string]map[string]float64{}
		}
		est.Ops[op] = figures
	}
}

// typical is the median over blocks of a metric.
func (r *resolver) typical(req request, used []*engine.Measurement) (float64, bool) {
	value := r.evidence.metric(req)
	var all []float64
	for _, m := range used {
		if v, why := value(m); why == "" {
			all = append(all, v)
		}
	}
	return stat.Median(all), len(all) > 0
}

func (r *resolver) relatives(est *StepEstimate, step engine.StepInfo) {
	est.Rel = map[string]Ratio{}
	for name, metric := range relMetrics {
		req := request{fn: functionNamed(name), metric: metric, steps: []engine.StepInfo{step}, variant: r.candidate}
		seq, l, why := r.sequence(req, step, r.base())
		if why != "" || len(seq.pairs.Diff) == 0 || zero(seq.pairs.Diff) && metric != "qps" {
			continue
		}
		est.Rel[name] = r.ratioOf(step, seq)
		if metric == "qps" {
			est.Pairs, est.Voided = len(seq.pairs.Diff), l.voided
			est.NaiveRel = finite(r.naiveRatio(req, step.Name, r.base()))
		}
	}
}

// zero says that a metric was the same on both sides throughout: nothing was read, nothing was written.
func zero(diff []float64) bool {
	for _, d := range diff {
		if d != 0 {
			return false
		}
	}
	return true
}

// ratioOf is the 95 % interval and the two-sided p-value against 1 of everything measured so far.
func (r *resolver) ratioOf(step engine.StepInfo, seq *sequential) Ratio {
	t := stat.NewTest(seq.pairs, seq.boot)
	lo, hi := t.Interval(0.025, 0.025)
	return Ratio{Point: finite(math.Exp(t.Centre())), Lo: pointer(ratio(lo)), Hi: pointer(ratio(hi)),
		P: math.Min(1, 2*math.Min(t.Above(0), t.Below(0))), Floor: finite(r.noise.floor(step, seq, r.scope.facet.MaxBlocks)),
		Pairs: t.Pairs(), Boots: t.Boots()}
}

func (r *resolver) groupEstimate(group string) (GroupEstimate, bool) {
	steps, err := r.members(group)
	if err != nil {
		return GroupEstimate{}, false
	}
	ge := GroupEstimate{Facet: r.scope.facet.Name, Stage: r.scope.facet.Stage, Group: group, Variant: r.candidate}
	var members []*sequential
	for _, step := range steps {
		req := request{fn: functionNamed("relqps"), metric: "qps", steps: []engine.StepInfo{step}, variant: r.candidate}
		seq, _, why := r.sequence(req, step, r.base())
		if why != "" || len(seq.pairs.Diff) == 0 {
			ge.Missing = append(ge.Missing, step.Name)
			continue
		}
		ge.extremes(step.Name, seq.point())
		members = append(members, seq)
	}
	if len(members) == 0 {
		ge.State = "missing"
		return ge, len(steps) > 0
	}
	all := newSequential(geomean(members), groupSchedule(members), members[0].boot, r.levels)
	ge.Ratio = r.ratioOf(engine.StepInfo{}, all)
	return ge, true
}

func (g *GroupEstimate) extremes(step string, point float64) {
	if len(g.Members) == 0 || point < g.Min {
		g.Min, g.MinStep = point, step
	}
	if len(g.Members) == 0 || point > g.Max {
		g.Max, g.MaxStep = point, step
	}
	g.Members = append(g.Members, step)
}

// falseDiscovery adjusts the p-values of each metric over all steps, candidates and facets, and marks what changed. Groups
// are a family of their own.
func falseDiscovery(steps []StepEstimate, groups []GroupEstimate) {
	for name := range relMetrics {
		var p []float64
		var at []int
		for i := range steps {
			if r, ok := steps[i].Rel[name]; ok {
				p, at = append(p, r.P), append(at, i)
			}
		}
		for k, q := range stat.BenjaminiHochberg(p) {
			r := steps[at[k]].Rel[name]
			steps[at[k]].Rel[name] = r.adjusted(q)
		}
	}
	var p []float64
	for i := range groups {
		p = append(p, groups[i].Ratio.P)
	}
	for i, q := range stat.BenjaminiHochberg(p) {
		groups[i].Ratio = groups[i].Ratio.adjusted(q)
	}
}

// discovery is the share of false ones among what is called changed.
const discovery = 0.05

func (r Ratio) adjusted(q float64) Ratio {
	r.Q = q
	r.Changed = q <= discovery && r.Floor > 0 && math.Abs(r.Point-1) > r.Floor
	return r
}
