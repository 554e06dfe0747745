package driver

import "math"

// Zipf draws numbers from 1 to n, i with a probability proportional to i^-s, by rejection inversion (W. Hörmann and G. Derflinger,
// "Rejection-inversion to generate variates from monotone discrete distributions", 1996). It needs no table, so n may be any size.
type Zipf struct {
	n, s        float64
	low, high   float64 // integrals at the ends
	alwaysTaken float64
}

// NewZipf returns the distribution over 1 to n with exponent s, which is positive and not 1.
func NewZipf(n int64, s float64) Zipf {
	z := Zipf{n: float64(n), s: s}
	z.low = z.integral(1.5) - 1
	z.high = z.integral(z.n + 0.5)
	z.alwaysTaken = 2 - z.inverse(z.integral(2.5)-z.density(2))
	return z
}

// Draw returns one number.
func (z Zipf) Draw(r *Rand) int64 {
	for {
		u := z.high + r.Float()*(z.low-z.high)
		x := z.inverse(u)
		k := min(max(math.Floor(x+0.5), 1), z.n)
		if k-x <= z.alwaysTaken || u >= z.integral(k+0.5)-z.density(k) {
			return int64(k)
		}
	}
}

func (z Zipf) density(x float64) float64 { return math.Exp(-z.s * math.Log(x)) }

// integral of the density from 1 to x; s must not be 1.
func (z Zipf) integral(x float64) float64 { return (math.Pow(x, 1-z.s) - 1) / (1 - z.s) }

func (z Zipf) inverse(u float64) float64 { return math.Pow(1+u*(1-z.s), 1/(1-z.s)) }
