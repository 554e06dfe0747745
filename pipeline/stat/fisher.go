package stat

import "math"

// FisherP is the two-sided exact probability of a split as uneven as a of n1 against b of n2, were both equally likely. It
// tells losses that fall on one side from losses that fall on both.
func FisherP(a, n1, b, n2 int) float64 {
	k, n := a+b, n1+n2
	lo, hi := max(0, k-n2), min(k, n1)
	logP := func(x int) float64 { return logChoose(n1, x) + logChoose(n2, k-x) - logChoose(n, k) }
	seen, sum := logP(a), 0.0
	for x := lo; x <= hi; x++ {
		if v := logP(x); v <= seen+1e-9 {
			sum += math.Exp(v)
		}
	}
	return math.Min(1, sum)
}

func logChoose(n, k int) float64 {
	g := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return g(n) - g(k) - g(n-k)
}
