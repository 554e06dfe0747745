package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The published critical values of the Kolmogorov-Smirnov statistic at 5 %: 0.409 for n = 10, 0.294 for n = 20.
func TestUniform(t *testing.T) {
	for n, d := range map[int]float64{10: 0.409, 20: 0.294} {
		p := make([]float64, n)
		for i := range p {
			p[i] = (float64(i) + 1) / float64(n) // D = 1/n, then shifted down to D = d
			p[i] = math.Max(0, p[i]-d)
		}
		if got := UniformP(p); math.Abs(got-0.05) > 0.004 {
			t.Errorf("n = %d, D = %g: p = %g, want 0.05", n, d, got)
		}
	}
	even := []float64{0.1, 0.3, 0.5, 0.7, 0.9}
	if UniformP(even) < 0.99 || UniformP([]float64{0.01, 0.01, 0.02, 0.01, 0.02}) > 0.001 || UniformP(nil) != 1 {
		t.Error("even values are not uniform, or small ones are")
	}
}

func TestLag1(t *testing.T) {
	if got := Lag1([]float64{1, -1, 1, -1, 1, -1}); math.Abs(got+5.0/6) > 1e-12 {
		t.Errorf("alternating values correlate by %g", got)
	}
	if Lag1([]float64{1, 2}) != 0 || Lag1([]float64{3, 3, 3}) != 0 {
		t.Error("nothing correlates with something")
	}
}

// Planted components are found again.
func TestComponents(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for _, boot := range []float64{0, 0.004, 0.02} {
		var sumWithin, sumBoot float64
		const trials = 60
		for range trials {
			within, sigma := sample(rng, 24, 20, boot).Components()
			sumWithin += within / trials
			sumBoot += sigma * sigma / trials
		}
		if math.Abs(sumWithin-0.05) > 0.003 || math.Abs(math.Sqrt(sumBoot)-boot) > 0.0035 {
			t.Errorf("planted 0.05 and %g, found %g and %g", boot, sumWithin, math.Sqrt(sumBoot))
		}
	}
}
