package stat

import "slices"

// Holm returns the p-values adjusted for testing all of them: rejecting those at or below a keeps the chance of any false
// rejection at a. The order of p is kept.
func Holm(p []float64) []float64 {
	return adjust(p, func(sorted []float64) {
		highest := 0.0
		for i, v := range sorted {
			highest = max(highest, min(1, v*float64(len(sorted)-i)))
			sorted[i] = highest
		}
	})
}

// BenjaminiHochberg returns the p-values adjusted so that among those at or below q at most the share q is expected to be
// false. The order of p is kept.
func BenjaminiHochberg(p []float64) []float64 {
	return adjust(p, func(sorted []float64) {
		lowest := 1.0
		for i := len(sorted) - 1; i >= 0; i-- {
			lowest = min(lowest, sorted[i]*float64(len(sorted))/float64(i+1))
			sorted[i] = lowest
		}
	})
}

// adjust applies f to the p-values in ascending order and puts the results back where they came from.
func adjust(p []float64, f func(sorted []float64)) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	sorted := make([]float64, len(p))
	for i, k := range order {
		sorted[i] = p[k]
	}
	f(sorted)
	out := make([]float64, len(p))
	for i, k := range order {
		out[k] = sorted[i]
	}
	return out
}
