package stat

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %g, want %g", what, got, want)
	}
}

// Quantiles as every statistics table has them.
func TestDistributions(t *testing.T) {
	near(t, "normal 97.5 %", NormalQuantile(0.975), 1.959964, 1e-6)
	near(t, "normal 0.1 %", NormalQuantile(0.001), -3.090232, 1e-6)
	near(t, "normal tail", NormalCDF(-6), 9.865876e-10, 1e-15)
	for _, c := range []struct{ nu, t975 float64 }{{1, 12.7062}, {2, 4.30265}, {5, 2.57058}, {9, 2.26216}, {30, 2.04227}} {
		near(t, "student", studentCDF(c.t975, c.nu), 0.975, 1e-5)
		near(t, "student", studentCDF(-c.t975, c.nu), 0.025, 1e-5)
	}
}

// The values that R's p.adjust gives.
func TestMultiple(t *testing.T) {
	p := []float64{0.04, 0.01, 0.03, 0.005, 0.5}
	for i, want := range []float64{0.09, 0.04, 0.09, 0.025, 0.5} {
		near(t, "Holm", Holm(p)[i], want, 1e-12)
	}
	for i, want := range []float64{0.05, 0.025, 0.05, 0.025, 0.5} {
		near(t, "Benjamini-Hochberg", BenjaminiHochberg(p)[i], want, 1e-12)
	}
	if len(Holm(nil)) != 0 || len(BenjaminiHochberg(nil)) != 0 {
		t.Error("no p-values became some")
	}
}

// Kendall's table of S, two-sided; beyond eight values the normal branch, S = 39 of ten.
func TestTrend(t *testing.T) {
	near(t, "n=4 rising", TrendP([]float64{1, 2, 3, 4}), 2.0/24, 1e-12)
	near(t, "n=5 falling", TrendP([]float64{5, 4, 3, 2, 1}), 2.0/120, 1e-12)
	near(t, "n=6, S=11", TrendP([]float64{2, 1, 3, 4, 6, 5}), 2*0.028, 0.001)
	near(t, "n=10, S=39", TrendP([]float64{1, 2, 3, 4, 5, 6, 7, 10, 9, 8}), 2*0.00058, 0.0006)
	if Trend([]float64{3, 1, 2, 3, 1, 2}) || !Trend([]float64{1, 2, 3, 4, 5, 6}) || TrendP([]float64{2, 2, 2, 2}) != 1 || TrendP(nil) != 1 {
		t.Error("trend where there is none, or none where there is one")
	}
}

// Fisher's tea tasting, and the example of the encyclopedias.
func TestFisher(t *testing.T) {
	near(t, "tea", FisherP(3, 4, 1, 4), 0.485714, 1e-6)
	near(t, "students", FisherP(1, 10, 11, 14), 0.002759, 1e-6)
	near(t, "nothing", FisherP(0, 20, 0, 20), 1, 1e-9)
}

// Ranks of the 95 % interval of a median as published: n = 6 takes the extremes, n = 10 the 2nd and 9th, n = 20 the 6th and 15th.
func TestMedianInterval(t *testing.T) {
	for _, c := range []struct{ n, lo, hi int }{{6, 1, 6}, {10, 2, 9}, {20, 6, 15}, {50, 18, 33}} {
		x := make([]float64, c.n)
		for i := range x {
			x[i] = float64((i*7)%c.n + 1) // 7 shares no factor with any n here
		}
		lo, hi := MedianInterval(x, 0.95)
		if lo != float64(c.lo) || hi != float64(c.hi) {
			t.Errorf("n=%d: [%g, %g], want [%d, %d]", c.n, lo, hi, c.lo, c.hi)
		}
	}
	if lo, hi := MedianInterval([]float64{1, 2, 3, 4, 5}, 0.95); !math.IsInf(lo, -1) || !math.IsInf(hi, 1) {
		t.Errorf("five values give [%g, %g]", lo, hi)
	}
	if lo, _ := MedianInterval(nil, 0.95); !math.IsInf(lo, -1) {
		t.Error("nothing has an interval")
	}
}

func TestQuantiles(t *testing.T) {
	x := make([]float64, 100)
	for i := range x {
		x[i] = float64(100 - i)
	}
	near(t, "exceeded 99 % of the time", LowQuantile(x, 0.99), 2, 0)
	near(t, "cv", CV([]float64{1, 2, 3}), 0.5, 1e-12)
	if !math.IsNaN(CV([]float64{1})) || !math.IsNaN(Median(nil)) || !math.IsNaN(LowQuantile(nil, 0.9)) {
		t.Error("nothing has a value")
	}
}

func TestPairs(t *testing.T) {
	var p Pairs
	for i, b := range []int{7, 7, 3, 3, 9} {
		p.Add(b, float64(i))
	}
	first := p.Upto(2)
	if first.Boots() != 2 || len(first.Diff) != 4 || p.Boots() != 3 {
		t.Errorf("first two blocks: %+v", first)
	}
	if got := p.PerBlock(); len(got) != 3 || got[0] != 0.5 || got[1] != 2.5 || got[2] != 4 {
		t.Errorf("per block: %v", got)
	}
	near(t, "shifted", p.Shift(0.5).Diff[0], 0.5, 0)
	near(t, "spread", Pairs{Diff: []float64{-1, 0, 1}, Block: []int{1, 1, 1}}.Spread(), 1.4826, 1e-9)
}

// The floor is what the power says it is: planting it is found with the promised probability, at the last look.
func TestPower(t *testing.T) {
	p := Power{Spread: 0.05, Boot: Boot{Sigma: 0.004, Calibrated: true}, PairsPerBlock: 20, Alpha: 0.01, Schedule: Steady}
	floor := p.Floor(8)
	if floor < 0.01 || floor > 0.05 {
		t.Fatalf("floor %g", floor)
	}
	if need := p.BlocksNeeded(floor, 0.95); need != 8 {
		t.Errorf("the floor of 8 blocks needs %d", need)
	}
	if p.Floor(12) >= floor || p.BlocksNeeded(10*floor, 0.95) != 1 || p.BlocksNeeded(0, 0.5) != 0 {
		t.Error("more blocks do not resolve more, or a huge effect needs many")
	}
	if w := (Power{Spread: 0.05, PairsPerBlock: 1, Alpha: 0.01, Schedule: Whole}); !math.IsInf(w.Floor(6), 1) || math.IsInf(w.Floor(12), 1) {
		t.Errorf("whole floors: %g, %g", w.Floor(6), w.Floor(12))
	}
}
