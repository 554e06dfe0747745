package stat

import "math"

// Power describes what a budget buys for one test.
type Power struct {
	Spread        float64 // standard deviation of one pair's log ratio
	Boot          Boot
	PairsPerBlock float64 // 1 for whole steps
	Alpha         float64 // total level of the claim over all looks
	Schedule      Schedule
}

// powerTarget is the probability with which a true effect is to be found.
const powerTarget = 0.95

// SE is the standard error of the estimate after so many blocks. The signed-rank test is 95 % as efficient as the mean on
// normal samples, hence 1.05.
func (p Power) SE(blocks float64) float64 {
	n := blocks * p.PairsPerBlock
	v := 1.05 * p.Spread * p.Spread / n
	if p.PairsPerBlock > 1 {
		v += 2 * p.Boot.Sigma * p.Boot.Sigma / blocks
	}
	return math.Sqrt(v)
}

// Floor is the smallest distance between truth and limit, as a log ratio, that so many blocks resolve with 95 % power at
// the level of their last look. Infinite when that level is out of reach.
func (p Power) Floor(blocks int) float64 {
	k := p.Schedule.LooksBy(blocks)
	if k == 0 {
		return math.Inf(1)
	}
	at := p.Schedule.Looks()[k-1]
	level := p.Schedule.Level(k-1, p.Alpha)
	if n := int(float64(at) * p.PairsPerBlock); level < SmallestP(n) || level == 0 {
		return math.Inf(1)
	}
	return (-NormalQuantile(level) + NormalQuantile(powerTarget)) * p.SE(float64(at))
}

// BlocksNeeded is the first look at which a true distance (log ratio, positive) is likely to be found: with probability
// one half when target is 0.5, and so on. 0 when no look of the schedule does.
func (p Power) BlocksNeeded(distance, target float64) int {
	for k, at := range p.Schedule.Looks() {
		level := p.Schedule.Level(k, p.Alpha)
		if level == 0 || level < SmallestP(int(float64(at)*p.PairsPerBlock)) {
			continue
		}
		if distance/p.SE(float64(at)) >= -NormalQuantile(level)+NormalQuantile(target) {
			return at
		}
	}
	return 0
}

// FirstReachable is the first look at which the data could possibly reject; 0 when none could.
func (p Power) FirstReachable() int {
	for k, at := range p.Schedule.Looks() {
		level := p.Schedule.Level(k, p.Alpha)
		if level > 0 && level >= SmallestP(int(float64(at)*p.PairsPerBlock)) {
			return at
		}
	}
	return 0
}
