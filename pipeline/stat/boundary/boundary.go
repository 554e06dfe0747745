// Package boundary computes the levels of a sequential test: at each look the chance of having crossed by now, were nothing
// true, stays within what the spending plan allows. It serves the generator of stat's table and the test that keeps the table
// honest; nothing calls it while an experiment runs.
//
// Between looks the statistic is taken for Brownian motion, which fixes how strongly one look depends on the ones before. The
// levels themselves are probabilities of the exact signed-rank test, so each single look is exact whatever the sample; a
// simulation in stat's tests checks the two together.
package boundary

import "math"

// Plan is a sequence of looks and what may be spent by each.
type Plan struct {
	Times []float64 // information at each look: blocks or pairs
	Spend []float64 // share of alpha spent by then, rising, at most 1
	// Attainable gives, for look k, the largest level at or below p that the sample can reach; 0 when it reaches none. Nil:
	// every level can be reached.
	Attainable func(k int, p float64) float64
}

const (
	points = 1201 // of the grid, odd for Simpson's rule
	reach  = 9.0  // standard deviations that the grid covers below zero
)

// Levels returns the one-sided level of each look for the total alpha; 0 where the look cannot reject.
func (p Plan) Levels(alpha float64) []float64 {
	levels, _ := p.run(alpha)
	return levels
}

// Crossed is the chance of having crossed by the last look.
func (p Plan) Crossed(alpha float64) float64 {
	_, crossed := p.run(alpha)
	return crossed
}

func (p Plan) run(alpha float64) (levels []float64, crossed float64) {
	levels = make([]float64, len(p.Times))
	var path density
	for k, t := range p.Times {
		z := path.solve(t, alpha*p.Spend[k]-crossed)
		level := upper(z)
		if p.Attainable != nil {
			level = p.Attainable(k, level)
			z = math.Inf(1)
			if level > 0 {
				z = math.Sqrt2 * math.Erfcinv(2*level)
			}
		}
		levels[k] = level
		crossed += path.crossing(t, z)
		path = path.advance(t, z)
	}
	return levels, crossed
}

// density is that of the statistic at one look over the paths that have not crossed yet. The zero value is the start.
type density struct {
	time   float64
	at     []float64 // grid
	weight []float64 // density times Simpson weight
}

// crossing is the chance to be at or above z standard deviations at time t, not having crossed before.
func (d density) crossing(t, z float64) float64 {
	if math.IsInf(z, 1) {
		return 0
	}
	bound, step := z*math.Sqrt(t), math.Sqrt(t-d.time)
	if d.at == nil {
		return upper(bound / step)
	}
	sum := 0.0
	for i, x := range d.at {
		sum += d.weight[i] * upper((bound-x)/step)
	}
	return sum
}

// solve finds the z whose crossing probability at time t is p.
func (d density) solve(t, p float64) float64 {
	lo, hi := -1.0, 40.0
	for range 80 {
		mid := (lo + hi) / 2
		if d.crossing(t, mid) > p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// advance carries the density on to time t, where paths at or above z stop.
func (d density) advance(t, z float64) density {
	sd := math.Sqrt(t)
	from, to := -reach*sd, math.Min(z, reach)*sd
	h := (to - from) / (points - 1)
	out := density{time: t, at: make([]float64, points), weight: make([]float64, points)}
	for i := range out.at {
		x := from + float64(i)*h
		out.at[i] = x
		out.weight[i] = d.at1(x, t) * simpson(i) * h / 3
	}
	return out
}

// at1 is the density at x at time t of paths that did not cross before.
func (d density) at1(x, t float64) float64 {
	step := math.Sqrt(t - d.time)
	if d.at == nil {
		return normal(x/step) / step
	}
	sum := 0.0
	for i, u := range d.at {
		if v := (x - u) / step; math.Abs(v) < 9 {
			sum += d.weight[i] * normal(v)
		}
	}
	return sum / step
}

func simpson(i int) float64 {
	switch {
	case i == 0 || i == points-1:
		return 1
	case i%2 == 1:
		return 4
	}
	return 2
}

func normal(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
func upper(z float64) float64  { return math.Erfc(z/math.Sqrt2) / 2 }
