package gate

import (
	"math"

	"pgpipeline/pipeline/internal/lang"
	"pgpipeline/pipeline/stat"
)

// atom turns one comparison of an evaluation into what a verdict says of it.
func (s sitting) atom(a lang.Atom) (Atom, []string) {
	d, _ := a.Quantity.Detail.(*detail)
	if d == nil {
		d = &detail{request: request{fn: &function{}}}
	}
	out := Atom{Text: a.Text(), Call: a.Quantity.Text, Op: a.Op, Step: d.request.label, Unit: d.request.unit(), State: a.Claim.Pos.String(), Limit: a.Limit,
		Pairs: d.pairs, Boots: d.boots, Minutes: d.minutes, Floor: finite(d.floor), Reason: a.Reason}
	if out.Op == "" && d.request.fn.kind == lang.ClaimKind {
		out.Op, out.Limit = claimLimit(d)
	}
	if a.Quantity.Missing == "" || a.Quantity.Missing == "too-few" {
		out.Value = pointer(a.Quantity.Point)
	}
	var tags []string
	if d.closed {
		tags = append(tags, "closed loop")
	}
	switch e := a.Quantity.Evidence.(type) {
	case nil:
		if a.Quantity.Missing == "" && (d.evidence != nil || !exact(d.request.metric)) { // an end of an interval, or a bare figure
			tags = append(tags, "unguarded")
		}
		if seq, ok := d.evidence.(*sequential); ok && a.Quantity.Missing == "too-few" {
			out.MinutesNeeded = s.minutesNeeded(seq, d, math.Log(seq.point())-math.Log(positive(out.Limit)), s.levels.pass)
		}
	case *sequential:
		out.Guarded = true
		s.sequentialAtom(&out, d, e)
	case worst:
		out.Guarded = true
		lo, hi := e.Bounds()
		out.Lo, out.Hi = pointer(lo), pointer(hi)
	}
	return out, tags
}

// exact metrics are counts of what happened, which no interval could add to.
func exact(metric string) bool {
	switch metric {
	case "errors", "pairs", "boots", "steady", "noise":
		return true
	}
	return false
}

// sequentialAtom adds the interval of the look that decided, or of the last, and what it would take to decide.
func (s sitting) sequentialAtom(out *Atom, d *detail, e *sequential) {
	op, limit := out.Op, out.Limit
	above, below := s.levels.pass, s.levels.fail
	if op == "<" || op == "<=" {
		above, below = below, above
	}
	truth, look := e.decide(limit, above, below)
	point, lo, hi := e.at(look, above, below)
	out.Value, out.Lo, out.Hi = pointer(point), pointer(lo), pointer(hi)
	if look < 0 {
		return
	}
	t, c := e.test(look), math.Log(positive(limit))
	pAbove, pBelow := t.Above(c), t.Below(c)
	out.P, out.FailP = math.Min(pAbove, pBelow), pBelow
	if op == "<" || op == "<=" {
		out.FailP = pAbove
	}
	out.Pairs, out.Boots, out.Minutes = t.Pairs(), t.Boots(), d.minutes*float64(t.Boots())/float64(d.boots)
	if truth != lang.Unknown {
		out.Look = e.schedule.Looks()[look]
		return
	}
	side := above
	if t.Centre() < c {
		side = below
	}
	out.MinutesNeeded = s.minutesNeeded(e, d, t.Centre()-c, side)
	if s.futile(e, d, math.Abs(t.Centre()-c)) {
		out.Reason = "futile"
	}
}

// claimLimit is the comparison inside slower, faster and same.
func claimLimit(d *detail) (op string, limit float64) {
	by := d.request.asked()
	if finite(d.floor) == d.floor && d.floor < 1 {
		by = math.Max(by, d.floor)
	}
	switch d.request.fn.name {
	case "slower":
		return "<", 1 - by
	case "faster":
		return ">", 1 + by
	}
	return ">", 1 - d.request.asked()
}

// futileReach is how many times the blocks that are left have to be hopeless before they are not measured.
const futileReach = 4

// futile says that more blocks are a waste: half of the budget is spent, and even four times what is left would not decide if the
// estimate were the truth. It ends an undecided comparison as undecided, so that it costs no error of either kind.
func (s sitting) futile(e *sequential, d *detail, distance float64) bool {
	boots := e.pairs.Boots()
	if boots < 2 || d.left <= 0 || d.left > boots {
		return false
	}
	p := s.power(e, s.levels.pass) // the lenient side: failing takes more
	at := boots + futileReach*d.left
	level := e.schedule.Level(e.schedule.LooksBy(at)-1, p.Alpha)
	return level <= 0 || distance/p.SE(float64(at)) < -stat.NormalQuantile(level)
}

func (s sitting) power(e *sequential, level float64) stat.Power {
	return stat.Power{Spread: e.pairs.Spread(), Boot: e.boot, PairsPerBlock: float64(len(e.pairs.Diff)) / float64(e.pairs.Boots()),
		Alpha: level, Schedule: e.schedule}
}

// minutesNeeded forecasts how much more measuring would decide with 80 % probability, at the level of the side of the limit that the
// estimate is on, if the estimate were the truth.
func (s sitting) minutesNeeded(e *sequential, d *detail, distance, level float64) float64 {
	boots := e.pairs.Boots()
	if boots < 2 {
		return 0
	}
	need := s.power(e, level).BlocksNeeded(math.Abs(distance), 0.8)
	if looks, had := e.schedule.Looks(), e.schedule.LooksBy(boots); need > 0 && need <= boots && had < len(looks) {
		need = looks[had] // it could have been told by now: the next look has the next chance
	}
	if need <= boots {
		return 0
	}
	return float64(need-boots) * d.minutes / float64(boots)
}

// unit of a call's value.
func (r request) unit() string {
	if r.fn == nil || r.fn.ratio {
		return ""
	}
	switch r.metric {
	case "p50", "p95", "p99", "p999", "maxrt", "stall", "cpu_per_op":
		return "s"
	case "wal_per_op":
		return "B"
	case "qps", "rate":
		return "1/s"
	}
	return ""
}

// pointer is v, or nil when it is not finite: JSON has no infinity.
func pointer(v float64) *float64 {
	if finite(v) != v {
		return nil
	}
	return &v
}

// finite is v, or 0 when it is not finite.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
