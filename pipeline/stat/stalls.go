package stat

import (
	"math"
	"slices"
)

// Stall is a stretch of time in which hardly anything was done.
type Stall struct{ Start, Seconds float64 }

// StallBelow is the share of the typical rate under which a bin is part of a stall, unless somebody asks for another.
const StallBelow = 0.1

// joins are how many bins are taken together where single ones hold too few events.
var joins = []int{1, 2, 5, 10, 20, 50, 100}

// fewestBins is how many bins a rate needs to be called typical.
const fewestBins = 5

// Stalls finds the runs of bins, of `width` seconds each, in which the rate is below a share of the typical one: the median of the bins
// that are not empty, which is the median of all unless the stalls fill half of the time. ok is false when there are too few events to tell.
//
// Few events per bin make chance look like a stall. When a bin holds n of them on average and they come independently, it is
// empty with probability e^-n: of 600 bins with five events each, four are. So bins are joined, two, five, ten and more at a time, until
// the typical one holds `least` events. With RandomEvents of them, a tenth is one event or none, once in 20 million bins. The price is that
// a stall that is shorter than a joined bin is not seen; such a step shows it in its longest response.
func Stalls(counts []float64, width, below, least float64) (found []Stall, ok bool) {
	for _, n := range joins {
		bins := joined(counts, n)
		if len(bins) < fewestBins && n > 1 {
			break
		}
		busy := slices.DeleteFunc(slices.Clone(bins), func(v float64) bool { return v <= 0 })
		if len(busy) == 0 {
			break
		}
		if typical := Median(busy); typical >= least {
			return runsBelow(bins, float64(n)*width, below*typical), true
		}
	}
	return nil, false
}

// What the typical bin has to hold for Stalls: of events that come independently, and of events that a schedule spaces evenly, where an
// empty bin means that one was late by half a bin.
const (
	RandomEvents = 20
	PacedEvents  = 2
)

// joined adds up n bins at a time; what is left over at the end is dropped.
func joined(counts []float64, n int) []float64 {
	bins := make([]float64, len(counts)/n)
	for i := range bins {
		for _, v := range counts[i*n : (i+1)*n] {
			bins[i] += v
		}
	}
	return bins
}

func runsBelow(bins []float64, width, limit float64) []Stall {
	var found []Stall
	run := 0.0
	for i, v := range bins {
		if v >= limit {
			run = 0
			continue
		}
		if run++; run == 1 {
			found = append(found, Stall{Start: exact(float64(i) * width)})
		}
		found[len(found)-1].Seconds = exact(run * width)
	}
	return found
}

// exact makes three tenths of a second 0.3, and not a bit more, so that a stall of 0.3 s is at most 0.3 s long.
func exact(seconds float64) float64 { return math.Round(seconds*1e6) / 1e6 }

// Longest returns the longest of the stalls, the first of them; the zero value when there is none.
func Longest(stalls []Stall) (longest Stall) {
	for _, s := range stalls {
		if s.Seconds > longest.Seconds {
			longest = s
		}
	}
	return longest
}
