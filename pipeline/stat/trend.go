package stat

import "math"

// TrendP is the two-sided Mann-Kendall probability of a trend in x as strong as the one seen, were there none. Up to eight
// values it is exact, beyond that normal with continuity correction. Ties weaken the evidence of a trend and are
// counted as none. A warm-up is over when the last slices show no trend (p > 0.05).
func TrendP(x []float64) float64 {
	n, s := len(x), 0
	for i := range x {
		for j := i + 1; j < n; j++ {
			switch {
			case x[j] > x[i]:
				s++
			case x[j] < x[i]:
				s--
			}
		}
	}
	if s < 0 {
		s = -s
	}
	if n < 2 || s == 0 {
		return 1
	}
	if n <= 8 {
		return kendallTail(n, s)
	}
	m := float64(n)
	sd := math.Sqrt(m * (m - 1) * (2*m + 5) / 18)
	return 2 * NormalCDF(-(float64(s)-1)/sd)
}

// kendallTail is P(|S| >= s) over all orders of n values. The number of inversions is built up value by value: the k-th
// may come before any 0..k-1 of those already placed.
func kendallTail(n, s int) float64 {
	counts := []float64{1}
	for k := 2; k <= n; k++ {
		next := make([]float64, len(counts)+k-1)
		for inv, c := range counts {
			for add := range k {
				next[inv+add] += c
			}
		}
		counts = next
	}
	pairs, total, hit := n*(n-1)/2, 0.0, 0.0
	for inv, c := range counts {
		total += c
		if v := pairs - 2*inv; v >= s || v <= -s {
			hit += c
		}
	}
	return hit / total
}

// Trend says whether x rises or falls beyond what chance does one time in twenty.
func Trend(x []float64) bool { return TrendP(x) < 0.05 }
