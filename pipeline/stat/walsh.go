package stat

import (
	"math"
	"slices"
)

// walsh stands for the n(n+1)/2 pairwise averages (d[i]+d[j])/2, i <= j, of a sample, without storing them. The
// signed-rank statistic of d-c is the number of them above c, and their median is the Hodges-Lehmann estimate.
type walsh struct {
	d []float64 // ascending
}

func newWalsh(d []float64) walsh {
	s := slices.Clone(d)
	slices.Sort(s)
	return walsh{s}
}

func (w walsh) count() int { n := len(w.d); return n * (n + 1) / 2 }

// atMost counts the averages that are <= c, in linear time: as i grows, the partners that still fit only shrink.
func (w walsh) atMost(c float64) int { return w.counted(c, true) }

// below counts the averages that are < c.
func (w walsh) below(c float64) int { return w.counted(c, false) }

func (w walsh) counted(c float64, equal bool) int {
	total, j := 0, len(w.d)-1
	for i := range w.d {
		for j >= i && !fits((w.d[i]+w.d[j])/2, c, equal) {
			j--
		}
		if j < i {
			break
		}
		total += j - i + 1
	}
	return total
}

func fits(v, c float64, equal bool) bool { return v < c || equal && v == c }

// kth returns the k-th smallest average, k from 1, by bisection on its value down to the last bit.
func (w walsh) kth(k int) float64 {
	lo, hi := w.d[0], w.d[len(w.d)-1]
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if w.atMost(mid) >= k {
			hi = mid
		} else {
			lo = mid
		}
	}
	if w.atMost(lo) >= k {
		return lo
	}
	return hi
}

// median is the Hodges-Lehmann estimate of the centre.
func (w walsh) median() float64 {
	n := w.count()
	if n == 0 {
		return math.NaN()
	}
	if n%2 == 1 {
		return w.kth(n/2 + 1)
	}
	return (w.kth(n/2) + w.kth(n/2+1)) / 2
}

// HodgesLehmann is the median of the pairwise averages of d: nearly as precise as the mean where that is best, and unmoved
// by bursts. NaN for an empty sample.
func HodgesLehmann(d []float64) float64 { return newWalsh(d).median() }
