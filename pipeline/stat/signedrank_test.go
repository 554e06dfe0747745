package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Critical values of Wilcoxon's signed-rank test as statistics textbooks print them: the largest W whose two-sided
// probability does not exceed the level.
var criticalValues = []struct {
	n         int
	five, one int // two-sided 5 % and 1 %; -1: none
}{
	{6, 0, -1}, {7, 2, -1}, {8, 3, 0}, {9, 5, 1}, {10, 8, 3}, {11, 10, 5}, {12, 13, 7}, {13, 17, 9}, {14, 21, 12},
	{15, 25, 15}, {16, 29, 19}, {17, 34, 23}, {18, 40, 27}, {19, 46, 32}, {20, 52, 37}, {25, 89, 68}, {30, 137, 109},
}

func TestCriticalValues(t *testing.T) {
	for _, c := range criticalValues {
		for level, w := range map[float64]int{0.05: c.five, 0.01: c.one} {
			if w >= 0 && 2*rankCDF(c.n, w) > level {
				t.Errorf("n=%d: W=%d has p=%g, the tables have it within %g", c.n, w, 2*rankCDF(c.n, w), level)
			}
			if 2*rankCDF(c.n, w+1) <= level {
				t.Errorf("n=%d: W=%d is within %g too, the tables stop at %d", c.n, w+1, level, w)
			}
		}
	}
}

// enumerate is the signed-rank probability by trying all signs of the ranks.
func enumerate(d []float64, c float64) (below float64) {
	x := make([]float64, len(d))
	for i, v := range d {
		x[i] = v - c
	}
	slices.SortFunc(x, func(a, b float64) int { return cmpAbs(a, b) })
	seen := 0
	for i, v := range x {
		if v > 0 {
			seen += i + 1
		}
	}
	hits, all := 0, 1<<len(d)
	for signs := range all {
		w := 0
		for i := range d {
			if signs>>i&1 == 1 {
				w += i + 1
			}
		}
		if w <= seen {
			hits++
		}
	}
	return float64(hits) / float64(all)
}

func cmpAbs(a, b float64) int {
	switch {
	case math.Abs(a) < math.Abs(b):
		return -1
	case math.Abs(a) > math.Abs(b):
		return 1
	}
	return 0
}

func TestSignedRankAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := 1; n <= 12; n++ {
		for range 20 {
			d := normals(rng, n)
			c := rng.NormFloat64() / 2
			test := NewTest(onePerBoot(d), AssumedBoot)
			got, want := test.Below(c), enumerate(d, c)
			if want >= 0.5 {
				want = math.Max(want, 0.5)
			}
			if test.Centre() <= c && math.Abs(got-want) > 1e-12 {
				t.Fatalf("n=%d: Below gives %g, enumeration %g", n, got, want)
			}
			mirrored := make([]float64, n)
			for i, v := range d {
				mirrored[i] = -v
			}
			if a := NewTest(onePerBoot(mirrored), AssumedBoot).Above(-c); math.Abs(a-got) > 1e-12 {
				t.Fatalf("n=%d: Above of the mirrored sample gives %g, Below %g", n, a, got)
			}
		}
	}
}

// Whichever way ties are broken, the probability is not larger than ours.
func TestTiesAreCautious(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		d := make([]float64, 8)
		for i := range d {
			d[i] = float64(rng.IntN(5)-3) / 10
		}
		got := NewTest(onePerBoot(d), AssumedBoot).Below(0)
		for range 20 {
			broken := slices.Clone(d)
			for i := range broken {
				broken[i] += rng.NormFloat64() * 1e-9
			}
			if want := enumerate(broken, 0); got < want-1e-12 {
				t.Fatalf("%v: %g, but breaking the ties gives %g", d, got, want)
			}
		}
	}
}

// Where the normal approximation takes over it is never noticeably smaller than the exact probability, nor much larger.
func TestNormalApproximationMeetsExact(t *testing.T) {
	for w := 6500; w < exactRanks*(exactRanks+1)/4; w += 100 {
		exact, approx := rankCDF(exactRanks, w), rankNormal(exactRanks, w)
		if approx < exact*0.995 || approx > exact*1.3 {
			t.Errorf("n=%d W=%d: exact %g, normal %g", exactRanks, w, exact, approx)
		}
	}
}

func TestHodgesLehmannAgainstAllAverages(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for n := 1; n < 40; n++ {
		d := normals(rng, n)
		if n%3 == 0 { // ties
			for i := range d {
				d[i] = math.Round(d[i]*4) / 4
			}
		}
		var all []float64
		for i := range d {
			for j := i; j < n; j++ {
				all = append(all, (d[i]+d[j])/2)
			}
		}
		if got, want := HodgesLehmann(d), Median(all); math.Abs(got-want) > 1e-12 {
			t.Errorf("n=%d: %g, all averages give %g", n, got, want)
		}
	}
	if !math.IsNaN(HodgesLehmann(nil)) {
		t.Error("an empty sample has an estimate")
	}
}

func normals(rng *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = rng.NormFloat64()
	}
	return out
}

// onePerBoot has every pair from a boot of its own, so that no boot term is added.
func onePerBoot(d []float64) Pairs {
	var p Pairs
	for i, v := range d {
		p.Add(i, v)
	}
	return p
}
