package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func sample(rng *rand.Rand, blocks, perBlock int, boot float64) Pairs {
	var p Pairs
	for b := range blocks {
		level := boot * math.Sqrt2 * rng.NormFloat64()
		for range perBlock {
			p.Add(b, level+0.05*rng.NormFloat64())
		}
	}
	return p
}

// The interval is the set of limits that are not rejected: just inside an end is not rejected, just outside is.
func TestIntervalIsWhatIsNotRejected(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, shape := range [][2]int{{1, 20}, {3, 20}, {8, 20}, {12, 6}, {12, 1}, {40, 1}, {20, 20}} {
		for _, boot := range []Boot{AssumedBoot, {Sigma: 0.004, Calibrated: true}, {}} {
			test := NewTest(sample(rng, shape[0], shape[1], 0.004), boot)
			const low, high = 0.012, 0.0007
			lo, hi := test.Interval(low, high)
			const eps = 1e-9
			if test.Above(lo+eps) <= low && lo+eps < test.Centre() {
				t.Errorf("%v: %g is inside the interval and rejected", shape, lo+eps)
			}
			if test.Above(lo-eps) > low {
				t.Errorf("%v: %g is outside the interval and not rejected", shape, lo-eps)
			}
			if test.Below(hi-eps) <= high && hi-eps > test.Centre() {
				t.Errorf("%v: %g is inside the interval and rejected", shape, hi-eps)
			}
			if test.Below(hi+eps) > high {
				t.Errorf("%v: %g is outside the interval and not rejected", shape, hi+eps)
			}
		}
	}
}

// Without a boot term the ends are the pairwise averages that the published tables name: for n = 10 and 95 % the 9th from
// either end.
func TestIntervalEndsAreWalshAverages(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	d := normals(rng, 10)
	test := NewTest(onePerBoot(d), AssumedBoot)
	lo, hi := test.Interval(0.025, 0.025)
	avg := newWalsh(d)
	if math.Abs(lo-avg.kth(9)) > 1e-9 || math.Abs(hi-avg.kth(55-8)) > 1e-9 {
		t.Errorf("[%g, %g], want [%g, %g]", lo, hi, avg.kth(9), avg.kth(47))
	}
}

func TestIntervalOfTooFewIsOpen(t *testing.T) {
	test := NewTest(onePerBoot([]float64{0.1, 0.2, 0.15}), AssumedBoot)
	lo, hi := test.Interval(0.05, 0.05)
	if !math.IsInf(lo, -1) || !math.IsInf(hi, 1) {
		t.Errorf("three pairs give [%g, %g]", lo, hi)
	}
	empty := NewTest(Pairs{}, AssumedBoot)
	if lo, hi := empty.Interval(0.05, 0.05); !math.IsInf(lo, -1) || !math.IsInf(hi, 1) || empty.Below(0) != 1 || empty.Above(0) != 1 {
		t.Errorf("no pairs give [%g, %g], p %g and %g", lo, hi, empty.Below(0), empty.Above(0))
	}
}

func TestTailsFallOutwards(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, shape := range [][2]int{{2, 10}, {9, 20}, {12, 1}} {
		test := NewTest(sample(rng, shape[0], shape[1], 0.01), AssumedBoot)
		last := 1.0
		for c := test.Centre(); c < test.Centre()+0.3; c += 0.001 {
			p := test.Below(c)
			if p > last+1e-12 {
				t.Fatalf("%v: p rises from %g to %g at %g", shape, last, p, c)
			}
			last = p
		}
	}
}

// The boot term is what statistics.md says: SE^2 = SE_s^2 + 2 sigma^2 / B, where SE_s follows from the p-value itself.
func TestBootTerm(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	p := sample(rng, 3, 20, 0)
	plain, widened := NewTest(p, Boot{Calibrated: true}), NewTest(p, AssumedBoot)
	c := plain.Centre() + 0.02
	se := 0.02 / -NormalQuantile(plain.Below(c))
	want := NormalCDF(-0.02 / math.Sqrt(se*se+2*0.01*0.01/3))
	if got := widened.Below(c); math.Abs(got-want) > 1e-12 {
		t.Errorf("Below = %g, want %g", got, want)
	}
}

// With eight boots the blocks themselves are looked at when nothing is known of the machine: a machine whose boots differ
// more than assumed is not believed.
func TestBlockLevelWidens(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	p := sample(rng, 10, 20, 0.05)
	lo, hi := NewTest(p, AssumedBoot).Interval(0.025, 0.025)
	mean, sd := meanSD(p.PerBlock())
	half := 2.2622 * sd / math.Sqrt(10) // t with 9 degrees of freedom
	if lo > mean-half+1e-4 || hi < mean+half-1e-4 {
		t.Errorf("[%g, %g] is narrower than the blocks' own [%g, %g]", lo, hi, mean-half, mean+half)
	}
}

// The promise behind it all: with boots that differ as assumed, 95 % intervals cover.
func TestIntervalCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	const trials = 1500
	for _, shape := range [][2]int{{3, 20}, {6, 20}, {10, 20}, {12, 1}} {
		misses := 0
		for range trials {
			lo, hi := NewTest(sample(rng, shape[0], shape[1], 0.01), AssumedBoot).Interval(0.025, 0.025)
			if lo > 0 || hi < 0 {
				misses++
			}
		}
		// 5 % expected, standard deviation 0.56 %.
		if rate := float64(misses) / trials; rate > 0.068 {
			t.Errorf("%v: %g of the intervals miss", shape, rate)
		}
	}
}

// Chi-squared tables: the 20 % point is 17.187 for 23 degrees of freedom and 2.343 for 5.
func TestLearntBoot(t *testing.T) {
	near(t, "24 blocks", LearntBoot(0.01, 24).Sigma, 0.01*math.Sqrt(23/17.187), 1e-6)
	near(t, "6 blocks", LearntBoot(0.01, 6).Sigma, 0.01*math.Sqrt(5/2.343), 1e-5)
	if b := LearntBoot(0, 24); b.Sigma != 0 || !b.Calibrated {
		t.Errorf("%+v", b)
	}
}
