package gate

import (
	"math"
	"slices"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/lang"
	"pgpipeline/pipeline/stat"
)

// resolver answers the calls of one assertion for one candidate.
type resolver struct {
	scope
	evidence  evidence
	candidate string
	levels    levels
	noise     noiseModel
	// accept, when set, may put other evidence in the place of what was measured.
	accept func(request, lang.Evidence) lang.Evidence
}

// detail is what the gate knows of a quantity beyond its value; messages and forecasts are made from it.
type detail struct {
	request  request
	base     string
	evidence lang.Evidence
	schedule stat.Schedule
	pairs    int
	boots    int
	minutes  float64
	floor    float64
	left     int  // blocks that the budget still has
	closed   bool // a response time of a closed loop
	naive    float64
}

// answer implements lang.Resolver.
func (r *resolver) answer(c lang.Call) any {
	f := functionNamed(c.Name)
	req, err := r.parse(f, c)
	if err != nil { // the compiler refused it before; only a changed facet can bring it back
		return &lang.Quantity{Missing: "missing", Detail: &detail{request: req}}
	}
	if req.variant == "" {
		req.variant = r.candidate
	}
	q := r.quantity(req)
	if f.kind == lang.ClaimKind {
		return r.claim(req, q)
	}
	return q
}

func (r *resolver) quantity(req request) *lang.Quantity {
	d := &detail{request: req, base: req.baseOr(r.scope), left: r.scope.facet.MaxBlocks - len(r.evidence.blocks)}
	q := &lang.Quantity{Detail: d}
	switch {
	case req.fn.of == "group":
		r.group(req, q, d)
	case req.fn.kind == lang.NumberKind || req.fn.kind == lang.TimeNumberKind:
		q.Point, q.Missing = r.bare(req, d)
	case req.fn.ratio:
		r.ratio(req, q, d)
	default:
		r.level(req, q, d)
	}
	if q.Missing == "" && d.evidence != nil {
		q.Evidence = d.evidence
		if r.accept != nil {
			q.Evidence = r.accept(req, d.evidence)
		}
	}
	return q
}

// ratio fills in a metric of one step against the base.
func (r *resolver) ratio(req request, q *lang.Quantity, d *detail) {
	step := req.steps[0]
	seq, l, why := r.sequence(req, step, d.base)
	d.minutes = r.evidence.minutes(step.Name, req.variant, d.base)
	d.naive = r.naiveRatio(req, step.Name, d.base)
	r.fill(q, d, seq, why)
	d.closed = percentile(req.metric) > 0 && !step.OpenLoop
	switch {
	case q.Missing != "":
	case l.biased():
		q.Missing = "biased-loss"
	case l.shaky():
		q.Missing = "unsteady"
	}
}

func (r *resolver) fill(q *lang.Quantity, d *detail, seq *sequential, why string) {
	d.evidence, d.schedule = seq, seq.schedule
	d.pairs, d.boots = len(seq.pairs.Diff), seq.pairs.Boots()
	d.floor = r.noise.floor(d.request.steps[0], seq, r.scope.facet.MaxBlocks)
	q.Point, q.Missing = seq.point(), why
	switch {
	case why != "":
	case d.pairs == 0:
		q.Missing = "missing"
	case seq.looks() == 0:
		q.Missing = "too-few"
	}
}

// sequence is the evidence for a metric of one step against the base.
func (r *resolver) sequence(req request, step engine.StepInfo, base string) (*sequential, loss, string) {
	if value, ok := perSlice[req.metric]; ok && req.operation == "" {
		p, l := r.evidence.pairs(step.Name, req.variant, base, value)
		return newSequential(p, scheduleOf(step, p), r.noise.boot(step), r.levels), l, ""
	}
	p, why := r.evidence.perBlock(step.Name, req.variant, base, r.evidence.metric(req))
	return newSequential(p, stat.Whole, r.noise.boot(step), r.levels), loss{}, why
}

// scheduleOf says how a step is looked at. Whole steps give one pair per block; so may a steady step whose slices are as long
// as the block.
func scheduleOf(step engine.StepInfo, p stat.Pairs) stat.Schedule {
	if step.Class == "whole" || len(p.Diff) == p.Boots() {
		return stat.Whole
	}
	return stat.Steady
}

// level fills in a metric of one variant, one value per block.
func (r *resolver) level(req request, q *lang.Quantity, d *detail) {
	step := req.steps[0]
	p, why := r.evidence.levels(step.Name, req.variant, r.evidence.metric(req))
	seq := newSequential(p, stat.Whole, r.noise.boot(step), r.levels)
	d.minutes = r.evidence.minutes(step.Name, req.variant)
	r.fill(q, d, seq, why)
	d.naive = q.Point
	d.closed = percentile(req.metric) > 0 && !step.OpenLoop
}

// group fills in the geometric mean or the worst of a group's members. A missing member leaves the group unknown unless
// the call says any: true.
func (r *resolver) group(req request, q *lang.Quantity, d *detail) {
	var members []*sequential
	var naive []float64
	for _, step := range req.steps {
		seq, l, why := r.sequence(req, step, d.base)
		d.minutes += r.evidence.minutes(step.Name, req.variant, d.base)
		switch {
		case why == "" && len(seq.pairs.Diff) > 0 && !l.biased() && !l.shaky():
			members = append(members, seq)
			naive = append(naive, math.Log(r.naiveRatio(req, step.Name, d.base)))
		case !req.any:
			q.Missing = "missing: " + step.Name
		}
	}
	if len(members) == 0 {
		q.Missing = "missing"
		return
	}
	missing := q.Missing
	if req.fn.name == "min" {
		r.least(q, d, members)
		d.naive = math.Exp(minOf(naive))
	} else {
		r.fill(q, d, newSequential(geomean(members), groupSchedule(members), members[0].boot, r.levels), "")
		d.naive = math.Exp(meanOf(naive))
	}
	if missing != "" {
		q.Missing = missing
	}
}

func (r *resolver) least(q *lang.Quantity, d *detail, members []*sequential) {
	d.evidence, d.schedule = worst{members, r.levels}, groupSchedule(members)
	d.pairs, d.boots = math.MaxInt, math.MaxInt
	q.Point = math.Inf(1)
	for _, m := range members {
		q.Point = math.Min(q.Point, m.point())
		d.pairs, d.boots = min(d.pairs, len(m.pairs.Diff)), min(d.boots, m.pairs.Boots())
		if m.looks() == 0 {
			q.Missing = "too-few"
		}
	}
}

// geomean averages the members' log ratios. Pairs of the same place in the same block are averaged one by one where all members
// have several per block: each is symmetric when nothing changed, so their mean is. A member with more pairs than another has its own
// summed up first: a scan makes many in the time in which a slow query makes ten. Otherwise blocks are averaged.
func geomean(members []*sequential) stat.Pairs {
	var out stat.Pairs
	perBlock := make([]map[int][]float64, len(members))
	for i, m := range members {
		perBlock[i] = m.pairs.ByBlock()
		if groupSchedule(members) == stat.Whole {
			perBlock[i] = m.pairs.BlockCentres()
		}
	}
	for _, block := range members[0].pairs.Blocks() {
		n := math.MaxInt
		for _, of := range perBlock {
			n = min(n, len(of[block]))
		}
		for k := range n {
			sum := 0.0
			for _, of := range perBlock {
				sum += centreOfPart(of[block], k, n)
			}
			out.Add(block, sum/float64(len(members)))
		}
	}
	return out
}

// centreOfPart is the centre of the k-th of n parts of a list, which are equally long but for one.
func centreOfPart(list []float64, k, n int) float64 {
	part := list[k*len(list)/n : (k+1)*len(list)/n]
	if len(part) == 1 {
		return part[0]
	}
	return stat.HodgesLehmann(slices.Clone(part))
}

// groupSchedule is that of the member that gives least.
func groupSchedule(members []*sequential) stat.Schedule {
	for _, m := range members {
		if m.schedule == stat.Whole {
			return stat.Whole
		}
	}
	return stat.Steady
}

// naiveRatio is what a comparison without statistics reads: total over total.
func (r *resolver) naiveRatio(req request, step, base string) float64 {
	value := r.evidence.metric(req)
	sum := map[string]float64{}
	for i := range r.evidence.blocks {
		for _, v := range []string{req.variant, base} {
			if m := r.evidence.measurement(i, step, v); m != nil {
				x, _ := value(m)
				sum[v] += x
			}
		}
	}
	return sum[req.variant] / sum[base]
}

// claim answers slower, faster and same from the ratio behind them.
func (r *resolver) claim(req request, q *lang.Quantity) lang.Judged {
	d := q.Detail.(*detail)
	out := lang.Judged{Quantity: q, Reason: q.Missing}
	if q.Missing != "" {
		return out
	}
	out.Claim = compare(req, q, r.margin(req, d))
	if out.Claim.Pos == lang.Unknown {
		out.Reason = "budget"
	}
	return out
}

// compare is what slower, faster and same say of a ratio, by how much from 1.
func compare(req request, q *lang.Quantity, by float64) lang.Claim {
	switch req.fn.name {
	case "slower":
		return lang.Compare(q, "<", 1-by)
	case "faster":
		return lang.Compare(q, ">", 1+by)
	}
	return lang.And(lang.Compare(q, ">", 1-by), lang.Compare(q, "<", 1+by))
}

// margin is how far from 1 a change has to be: what was asked for, and for slower and faster at least the noise floor.
func (r *resolver) margin(req request, d *detail) float64 {
	by := req.asked()
	if req.fn.name != "same" && !math.IsInf(d.floor, 0) && d.floor < 1 {
		by = math.Max(by, d.floor)
	}
	return by
}

// asked is the number that the call gave, 0 when it gave none.
func (r request) asked() float64 {
	if r.number == nil {
		return 0
	}
	return *r.number
}

func meanOf(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func minOf(x []float64) float64 {
	out := math.Inf(1)
	for _, v := range x {
		out = math.Min(out, v)
	}
	return out
}
