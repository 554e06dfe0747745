package stat

import (
	"math"
	"slices"
)

// Median of x; NaN when empty. x is not changed.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	if m := len(s) / 2; len(s)%2 == 1 {
		return s[m]
	} else {
		return (s[m-1] + s[m]) / 2
	}
}

// MedianInterval returns the order statistics that bracket the median of x's distribution with at least the confidence
// asked for (0.95), whatever that distribution is. An end is infinite when the sample is too small.
func MedianInterval(x []float64, confidence float64) (lo, hi float64) {
	n := len(x)
	s := slices.Sorted(slices.Values(x))
	// The k-th value from either end is beyond the median when fewer than k of n fair coins fall that way.
	k, cdf, term := 0, 0.0, math.Ldexp(1, -n)
	for i := 0; i < n/2+1; i++ {
		cdf += term
		if cdf > (1-confidence)/2 {
			break
		}
		k = i + 1
		term *= float64(n-i) / float64(i+1)
	}
	if k == 0 {
		return math.Inf(-1), math.Inf(1)
	}
	return s[k-1], s[n-k]
}

// LowQuantile returns the value that the share p of x exceeds or equals: LowQuantile(x, 0.99) is exceeded 99 % of the time.
func LowQuantile(x []float64, p float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	i := int(math.Floor(float64(len(s)) * (1 - p)))
	return s[min(max(i, 0), len(s)-1)]
}

// CV is the coefficient of variation of x: standard deviation over mean. NaN for fewer than two values.
func CV(x []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	mean, sd := meanSD(x)
	return sd / mean
}
