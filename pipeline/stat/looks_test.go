package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgpipeline/pipeline/stat/boundary"
)

func plan(s Schedule) boundary.Plan {
	p := boundary.Plan{Attainable: s.Attainable}
	for k, n := range s.Looks() {
		p.Times = append(p.Times, float64(n))
		p.Spend = append(p.Spend, s.Spent(k))
	}
	return p
}

// The table that ships is the one that the generator makes.
func TestLevelsAreTheGenerated(t *testing.T) {
	for _, s := range []Schedule{Steady, Whole} {
		for _, i := range []int{20} {
			alpha := levelAlphas[i]
			for k, want := range plan(s).Levels(alpha) {
				if got := levelTable[s][i][k]; math.Abs(got-want) > 1.2e-4*want {
					t.Errorf("schedule %d, alpha %g, look %d: table has %g, generator %g; run go generate", s, alpha, k, got, want)
				}
			}
		}
	}
}

// The boundary program against published figures: Pocock's constant for five equal looks at a one-sided 2.5 % is 2.413, and
// O'Brien and Fleming's last of five is 2.040.
func TestBoundaryAgainstPublished(t *testing.T) {
	times := []float64{1, 2, 3, 4, 5}
	crossing := func(z func(k int) float64) float64 {
		// A plan that spends freely and "attains" fixed levels takes exactly the boundary that is asked for.
		p := boundary.Plan{Times: times, Spend: []float64{1, 1, 1, 1, 1},
			Attainable: func(k int, _ float64) float64 { return NormalCDF(-z(k)) }}
		return p.Crossed(0.5)
	}
	if got := crossing(func(int) float64 { return 2.413 }); math.Abs(got-0.025) > 1e-4 {
		t.Errorf("Pocock's boundary is crossed with probability %g", got)
	}
	if got := crossing(func(k int) float64 { return 2.040 * math.Sqrt(5/float64(k+1)) }); math.Abs(got-0.025) > 1e-4 {
		t.Errorf("O'Brien and Fleming's boundary is crossed with probability %g", got)
	}
}

func TestLevelsAreOrdered(t *testing.T) {
	for _, s := range []Schedule{Steady, Whole} {
		for k := range s.Looks() {
			last := 1.0
			for _, alpha := range []float64{0.2, 0.05, 0.01, 0.002, 1e-4, 1e-6, 1e-9} {
				l := s.Level(k, alpha)
				if l > alpha {
					t.Errorf("level %g of look %d exceeds alpha %g", l, k, alpha)
				}
				if s == Steady && l > last {
					t.Errorf("look %d: level rises to %g as alpha falls to %g", k, l, alpha)
				}
				last = l
			}
		}
	}
}

// Which verdicts a few whole blocks can reach: what lint says.
func TestFirstReachable(t *testing.T) {
	for _, c := range []struct {
		alpha float64
		want  int
	}{{0.05, 6}, {0.01, 8}, {0.01 / 4, 10}, {0.01 / 42, 14}} {
		if got := Whole.FirstReachable(c.alpha); got != c.want {
			t.Errorf("alpha %g: first reachable at %d blocks, want %d", c.alpha, got, c.want)
		}
	}
	if got := Steady.FirstReachable(0.01 / 42); got != 1 {
		t.Errorf("a steady step can decide after %d blocks", got)
	}
}

// Peeking at every look does not inflate the error: simulated paths of nothing cross no more often than the plan allows. The
// samples are lopsided in scale from block to block on purpose; only symmetry is assumed.
func TestSequentialErrorBySimulation(t *testing.T) {
	trials := 3000
	if testing.Short() {
		trials = 1000
	}
	for _, c := range []struct {
		schedule Schedule
		perBlock int
		blocks   int
		alpha    float64
	}{{Steady, 20, 8, 0.05}, {Steady, 6, 12, 0.05}, {Steady, 20, 6, 0.01}, {Whole, 1, 24, 0.05}, {Whole, 1, 24, 0.01}} {
		rng := rand.New(rand.NewPCG(21, uint64(c.perBlock)))
		crossed := 0
		for range trials {
			if crosses(rng, c.schedule, c.perBlock, c.blocks, c.alpha) {
				crossed++
			}
		}
		rate := float64(crossed) / float64(trials)
		if limit := c.alpha + 3*math.Sqrt(c.alpha*(1-c.alpha)/float64(trials)); rate > limit {
			t.Errorf("%+v: crossed in %g of the trials", c, rate)
		}
	}
}

func crosses(rng *rand.Rand, s Schedule, perBlock, blocks int, alpha float64) bool {
	var p Pairs
	for b := range blocks {
		scale := math.Exp(0.3 * rng.NormFloat64())
		for range perBlock {
			p.Add(b, scale*rng.NormFloat64())
		}
		k := s.LooksBy(b+1) - 1
		if k >= 0 && s.Looks()[k] == b+1 && NewTest(p, Boot{Calibrated: true}).Above(0) <= s.Level(k, alpha) {
			return true
		}
	}
	return false
}
