package gate

import (
	"math"

	"pgpipeline/pipeline/internal/lang"
	"pgpipeline/pipeline/stat"
)

// levels are the chances of a false claim over all looks at one comparison.
type levels struct {
	pass float64 // a wrong pass of one comparison: 5 %
	fail float64 // a false failure: 1 % for the whole plan, divided by its comparisons
}

func (l levels) of(c lang.Care) float64 {
	if c == lang.Strict {
		return l.fail
	}
	return l.pass
}

// passLevel and planLevel are the promises of the package comment.
const (
	passLevel = 0.05
	planLevel = 0.01
)

// sequential is the evidence for one quantity on the logarithmic scale: a sample that grew block by block, and the looks
// that were had at it. It implements lang.Evidence.
type sequential struct {
	pairs    stat.Pairs
	boot     stat.Boot
	schedule stat.Schedule
	levels   levels
	tests    []*stat.Test // by look, made when first needed
}

func newSequential(p stat.Pairs, schedule stat.Schedule, boot stat.Boot, l levels) *sequential {
	return &sequential{pairs: p, boot: boot, schedule: schedule, levels: l, tests: make([]*stat.Test, schedule.LooksBy(p.Boots()))}
}

func (s *sequential) looks() int { return len(s.tests) }

func (s *sequential) test(look int) *stat.Test {
	if s.tests[look] == nil {
		s.tests[look] = stat.NewTest(s.pairs.Upto(s.schedule.Looks()[look]), s.boot)
	}
	return s.tests[look]
}

// Decide implements lang.Evidence. The first look that tells decides, for good: later blocks are neither a second chance for
// the candidate nor a second risk.
func (s *sequential) Decide(limit float64, above, below lang.Care) lang.Truth {
	truth, _ := s.decide(limit, s.levels.of(above), s.levels.of(below))
	return truth
}

// decide is Decide with the levels as numbers; it also gives the look that decided.
func (s *sequential) decide(limit, above, below float64) (lang.Truth, int) {
	c := math.Log(positive(limit))
	for k := range s.tests {
		if truth := look(s.test(k), s.schedule, k, c, above, below); truth != lang.Unknown {
			return truth, k
		}
	}
	return lang.Unknown, len(s.tests) - 1
}

// look is one look at a sample: above or below c, when each takes its level.
func look(t *stat.Test, s stat.Schedule, k int, c, above, below float64) lang.Truth {
	switch {
	case t.IsAbove(c, s.Level(k, above)):
		return lang.True
	case t.IsBelow(c, s.Level(k, below)):
		return lang.False
	}
	return lang.Unknown
}

// Bounds implements lang.Evidence: the 95 % interval of everything measured so far.
func (s *sequential) Bounds() (lo, hi float64) {
	lo, hi = stat.NewTest(s.pairs, s.boot).Interval(0.025, 0.025)
	return ratio(lo), ratio(hi)
}

// ratio is exp, but leaves an end that does not exist infinite instead of making it 0.
func ratio(log float64) float64 {
	if math.IsInf(log, 0) {
		return log
	}
	return math.Exp(log)
}

// at is the interval of the limits that look k rejects on neither side, each at its level. The estimate and the interval of a
// verdict are those of the look that made it, so that they never disagree.
func (s *sequential) at(k int, above, below float64) (point, lo, hi float64) {
	if k < 0 {
		return s.point(), math.Inf(-1), math.Inf(1)
	}
	t := s.test(k)
	lo, hi = t.Interval(s.schedule.Level(k, above), s.schedule.Level(k, below))
	return math.Exp(t.Centre()), ratio(lo), ratio(hi)
}

func (s *sequential) point() float64 { return math.Exp(stat.HodgesLehmann(s.pairs.Diff)) }

// worst is the evidence for the smallest of several quantities. That it is above a limit takes all of them; that it is below
// takes one, which had as many chances as there are members, so each gets its share of the level.
type worst struct {
	members []*sequential
	levels  levels
}

// Decide implements lang.Evidence.
func (w worst) Decide(limit float64, above, below lang.Care) lang.Truth {
	truth, _ := w.decide(limit, w.levels.of(above), w.levels.of(below))
	return truth
}

func (w worst) decide(limit, above, below float64) (lang.Truth, int) {
	all, look := lang.True, 0
	for _, m := range w.members {
		truth, k := m.decide(limit, above, below/float64(len(w.members)))
		if truth == lang.False {
			return truth, k
		}
		all, look = min(all, truth), max(look, k)
	}
	return all, look
}

// Bounds implements lang.Evidence. Both ends are cautious: each member's interval is widened to hold for all together.
func (w worst) Bounds() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(1)
	level := 0.025 / float64(len(w.members))
	for _, m := range w.members {
		a, b := stat.NewTest(m.pairs, m.boot).Interval(0.025, level)
		lo, hi = math.Min(lo, ratio(a)), math.Min(hi, ratio(b))
	}
	return lo, hi
}
