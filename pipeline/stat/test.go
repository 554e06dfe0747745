package stat

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

// AssumedSigmaBoot is the spread between boots of one server, as a standard deviation of the log rate, that is assumed on
// a machine that was not calibrated. Published pairs of adjacent minor releases suggest about 1 % on dedicated hosts.
const AssumedSigmaBoot = 0.01

// blockLevelBoots is the count of boots from which an uncalibrated test also looks at the blocks themselves.
const blockLevelBoots = 8

// Boot is what is known of the spread between boots.
type Boot struct {
	Sigma      float64 // standard deviation of the log rate from one boot of a server to the next
	Calibrated bool    // measured on this machine, rather than assumed
}

// AssumedBoot is what holds without a calibration.
var AssumedBoot = Boot{Sigma: AssumedSigmaBoot}

// LearntBoot is what a calibration of so many blocks says of the spread between boots: the upper end of an 80 % confidence
// interval, because a spread that was learnt too small makes every later verdict too sure of itself.
func LearntBoot(estimate float64, blocks int) Boot {
	df := float64(max(1, blocks-1))
	const lower = 0.2
	return Boot{Sigma: estimate * math.Sqrt(df/(2*mathext.GammaIncRegInv(df/2, lower))), Calibrated: true}
}

// Test judges one sample of pairs against any limit. Limits and estimates are log ratios.
type Test struct {
	avg    walsh
	n      int
	centre func() float64 // found when first asked for: most tests are settled without it
	// bootSE is the standard error that boots add to that of the pairs: sqrt(2 sigma^2 / B), one sigma for each side. It
	// is 0 when every boot gave one pair, because the pairs then contain it.
	bootSE float64
	boots  int
	blocks []float64 // one estimate per boot; nil unless the block-level interval is wanted
}

// NewTest prepares a test of the pairs.
func NewTest(p Pairs, boot Boot) *Test {
	t := &Test{avg: newWalsh(p.Diff), n: len(p.Diff), boots: p.Boots()}
	t.centre = sync.OnceValue(t.avg.median)
	if t.n > t.boots {
		t.bootSE = boot.Sigma * math.Sqrt(2/float64(t.boots))
		if !boot.Calibrated && t.boots >= blockLevelBoots {
			t.blocks = p.PerBlock()
		}
	}
	return t
}

// Centre is the Hodges-Lehmann estimate; NaN without pairs.
func (t *Test) Centre() float64 { return t.centre() }

// Pairs and Boots are the sizes of the sample.
func (t *Test) Pairs() int { return t.n }

// Boots counts the blocks that the pairs came from.
func (t *Test) Boots() int { return t.boots }

// Below is the probability, were the true log ratio c or more, of a sample that lies as far below c as this one: small
// values say that it is below c.
//
// Ties with c count in favour of c. If ties were broken by coin the signed-rank distribution would be exact, and no way of
// breaking them gives a larger statistic than this one, so the probability is never too small.
func (t *Test) Below(c float64) float64 {
	return t.tail(t.rankBelow(c), c-t.Centre(), func(se, mean float64) float64 { return (mean - c) / se })
}

func (t *Test) rankBelow(c float64) float64 { return rankCDF(t.n, t.avg.count()-t.avg.below(c)) }
func (t *Test) rankAbove(c float64) float64 { return rankCDF(t.n, t.avg.atMost(c)) }

// Above is the same for samples that lie above c.
func (t *Test) Above(c float64) float64 {
	return t.tail(t.rankAbove(c), t.Centre()-c, func(se, mean float64) float64 { return (c - mean) / se })
}

// IsBelow says whether Below(c) is at or below the level, and IsAbove the same of Above. They are faster where the answer is no:
// the boot term only widens.
func (t *Test) IsBelow(c, level float64) bool {
	return level > 0 && t.rankBelow(c) <= level && t.Below(c) <= level
}

// IsAbove is the counterpart of IsBelow.
func (t *Test) IsAbove(c, level float64) bool {
	return level > 0 && t.rankAbove(c) <= level && t.Above(c) <= level
}

// tail widens the signed-rank probability p by the boot term. distance is how far the estimate lies on the
// side that is claimed; blockT gives the t statistic of the blocks' mean, negative on that side.
func (t *Test) tail(p, distance float64, blockT func(se, mean float64) float64) float64 {
	if t.n == 0 {
		return 1
	}
	if distance <= 0 || p >= 0.5 {
		// The estimate is on the other side, so nothing is claimed; at least one half keeps p monotone in c.
		return math.Max(p, 0.5)
	}
	if t.bootSE > 0 {
		se := distance / -NormalQuantile(p)
		p = NormalCDF(-distance / math.Hypot(se, t.bootSE))
	}
	if len(t.blocks) > 1 {
		mean, sd := meanSD(t.blocks)
		if se := sd / math.Sqrt(float64(len(t.blocks))); se > 0 {
			p = math.Max(p, studentCDF(blockT(se, mean), float64(len(t.blocks)-1)))
		}
	}
	return p
}

// Interval is the set of limits c that are rejected neither as "it is above c" at lowLevel nor as "it is below c" at
// highLevel. An end is infinite when no sample of this size could be rejected on that side.
func (t *Test) Interval(lowLevel, highLevel float64) (lo, hi float64) {
	lo = t.end(func(c float64) bool { return t.Above(c) <= lowLevel }, -1)
	hi = t.end(func(c float64) bool { return t.Below(c) <= highLevel }, +1)
	return lo, hi
}

// end searches outwards from the estimate for the nearest limit that is rejected, which both tails allow because they only
// fall as c moves away.
func (t *Test) end(rejected func(float64) bool, sign float64) float64 {
	if t.n == 0 {
		return math.Inf(int(sign))
	}
	inside, step := 0.0, 1e-4
	for ; !rejected(t.Centre() + sign*step); step *= 2 {
		if step > 100 {
			return math.Inf(int(sign))
		}
		inside = step
	}
	outside := step
	for range 60 {
		mid := inside + (outside-inside)/2
		if rejected(t.Centre() + sign*mid) {
			outside = mid
		} else {
			inside = mid
		}
	}
	return t.Centre() + sign*inside
}

func meanSD(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, math.Sqrt(sd)
}
