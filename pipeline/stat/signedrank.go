package stat

import (
	"math"
	"sync"
)

// exactRanks is the largest sample for which the signed-rank distribution is computed exactly; the normal approximation
// with continuity correction serves beyond, where it errs on the safe side: p = 1e-4 comes out an eighth too large.
const exactRanks = 200

var rankTables sync.Map // n -> []float64

// rankCDF returns P(W <= w) for the sum W of positive ranks of n observations whose signs are fair coins: the null
// distribution of Wilcoxon's signed-rank statistic.
func rankCDF(n, w int) float64 {
	most := n * (n + 1) / 2
	switch {
	case n == 0 || w >= most:
		return 1
	case w < 0:
		return 0
	case n > exactRanks:
		return rankNormal(n, w)
	}
	return rankTable(n)[w]
}

// rankTable is the cumulative distribution for n <= exactRanks. Each rank joins the sum with probability one half, so
// the distribution of n follows from that of n-1 by one convolution; working with probabilities instead of counts keeps
// all values in range.
func rankTable(n int) []float64 {
	if t, ok := rankTables.Load(n); ok {
		return t.([]float64)
	}
	p := make([]float64, n*(n+1)/2+1)
	p[0] = 1
	for k := 1; k <= n; k++ {
		for w := k * (k + 1) / 2; w >= 0; w-- {
			p[w] /= 2
			if w >= k {
				p[w] += p[w-k] / 2
			}
		}
	}
	sum := 0.0
	for w := range p {
		sum += p[w]
		p[w] = sum
	}
	rankTables.Store(n, p)
	return p
}

func rankNormal(n, w int) float64 {
	m := float64(n)
	mean := m * (m + 1) / 4
	sd := math.Sqrt(m * (m + 1) * (2*m + 1) / 24)
	return NormalCDF((float64(w) + 0.5 - mean) / sd)
}

// SmallestP is the smallest one-sided p-value that n pairs can give: all signs alike.
func SmallestP(n int) float64 { return math.Ldexp(1, -n) }

// attainable returns the largest p-value that n pairs can give and that does not exceed p; 0 when there is none.
func attainable(n int, p float64) float64 {
	if n > exactRanks {
		return p
	}
	best := 0.0
	for _, v := range rankTable(n) {
		if v > p {
			break
		}
		best = v
	}
	return best
}
