package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// poisson draws a count; the tests know no other distribution of independent events.
func poisson(r *rand.Rand, mean float64) float64 {
	n, p := -1.0, 1.0
	for limit := math.Exp(-mean); p > limit; n++ {
		p *= r.Float64()
	}
	return n
}

func TestStalls(t *testing.T) {
	busy := func(mutate func([]float64)) []float64 {
		bins := make([]float64, 100)
		for i := range bins {
			bins[i] = 200
		}
		mutate(bins)
		return bins
	}
	for _, c := range []struct {
		name    string
		counts  []float64
		least   float64
		below   float64
		stalls  int
		longest Stall
		unknown bool
	}{
		{name: "none", counts: busy(func([]float64) {}), least: RandomEvents, below: 0.1},
		{name: "half a second", counts: busy(func(b []float64) { clear(b[30:35]) }), least: RandomEvents, below: 0.1, stalls: 1, longest: Stall{3, 0.5}},
		{name: "two, one at the end", counts: busy(func(b []float64) { clear(b[10:12]); clear(b[97:]) }), least: RandomEvents, below: 0.1, stalls: 2,
			longest: Stall{9.7, 0.3}},
		{name: "slow, not stalled", counts: busy(func(b []float64) { b[7] = 20 }), least: RandomEvents, below: 0.1},
		{name: "a higher share", counts: busy(func(b []float64) { b[7] = 20 }), least: RandomEvents, below: 0.2, stalls: 1, longest: Stall{0.7, 0.1}},
		{name: "most of the time", counts: busy(func(b []float64) { clear(b[20:90]) }), least: RandomEvents, below: 0.1, stalls: 1, longest: Stall{2, 7}},
		{name: "nothing at all", counts: make([]float64, 100), least: RandomEvents, below: 0.1, unknown: true},
		{name: "an event a second", counts: []float64{0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0}, least: RandomEvents, below: 0.1, unknown: true},
		{name: "evenly paced", counts: []float64{2, 2, 2, 2, 2, 0, 0, 0, 8, 2, 2, 2}, least: PacedEvents, below: 0.1, stalls: 1, longest: Stall{0.5, 0.3}},
		{name: "seconds as they stand", counts: []float64{100, 90, 0, 9, 110}, below: 0.1, stalls: 1, longest: Stall{0.2, 0.2}},
	} {
		found, ok := Stalls(c.counts, 0.1, c.below, c.least)
		longest := Longest(found)
		if ok == c.unknown || len(found) != c.stalls || longest != c.longest {
			t.Errorf("%s: %v, %v, want %d with the longest %v", c.name, found, ok, c.stalls, c.longest)
		}
	}
}

// Events that come by chance, at any rate, are no stalls; a real stall among them is found as long as a joined bin is shorter.
func TestStallsAmongFewEvents(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, mean := range []float64{0.3, 1, 2, 5, 11, 20, 60} {
		for range 50 {
			bins := make([]float64, 600)
			for i := range bins {
				bins[i] = poisson(r, mean)
			}
			if found, _ := Stalls(bins, 0.1, 0.1, RandomEvents); len(found) > 0 {
				t.Errorf("%v events per bin: %v", mean, found)
			}
			clear(bins[200:400])
			found, ok := Stalls(bins, 0.1, 0.1, RandomEvents)
			if l := Longest(found); mean >= 0.5 && (!ok || len(found) != 1 || l.Seconds < 10 || l.Seconds > 20.2) {
				t.Errorf("%v events per bin, twenty seconds without: %v, %v", mean, found, ok)
			}
		}
	}
}
