package stat

import (
	"math"
	"slices"
)

// UniformP is the Kolmogorov-Smirnov probability of values as far from uniform on [0, 1] as these, were they uniform: how an A/A
// calibration asks whether its p-values are what they claim. The small-sample correction is Stephens's.
func UniformP(p []float64) float64 {
	n := float64(len(p))
	if n == 0 {
		return 1
	}
	far := 0.0
	for i, v := range slices.Sorted(slices.Values(p)) {
		far = max(far, float64(i+1)/n-v, v-float64(i)/n)
	}
	t := (math.Sqrt(n) + 0.12 + 0.11/math.Sqrt(n)) * far
	sum, sign := 0.0, 1.0
	for k := 1.0; k <= 100; k++ {
		sum += sign * math.Exp(-2*k*k*t*t)
		sign = -sign
	}
	if t < 0.2 { // the series does not converge where the answer is 1
		return 1
	}
	return min(1, max(0, 2*sum))
}

// Lag1 is the correlation of neighbours in x; 0 for fewer than three values.
func Lag1(x []float64) float64 {
	if len(x) < 3 {
		return 0
	}
	mean, _ := meanSD(x)
	var num, den float64
	for i, v := range x {
		den += (v - mean) * (v - mean)
		if i > 0 {
			num += (v - mean) * (x[i-1] - mean)
		}
	}
	if den == 0 {
		return 0
	}
	return num / den
}

// Components splits the spread of A/A pairs: within is the robust standard deviation of a pair inside its block, sigmaBoot that
// of one server's log rate from boot to boot. What the blocks differ by beyond what their pairs explain is two boots' worth.
// With one pair per block the two cannot be told apart and all of it is within.
func (p Pairs) Components() (within, sigmaBoot float64) {
	centres := p.BlockCentres()
	if len(p.Diff) == len(centres) {
		return p.Spread(), 0
	}
	var rest []float64
	for i, b := range p.Block {
		rest = append(rest, math.Abs(p.Diff[i]-centres[b][0]))
	}
	within = 1.4826 * Median(rest)
	perBlock := float64(len(p.Diff)) / float64(len(centres))
	if len(centres) > 1 {
		_, sd := meanSD(p.PerBlock())
		sigmaBoot = math.Sqrt(max(0, sd*sd-1.05*within*within/perBlock) / 2)
	}
	return within, sigmaBoot
}
