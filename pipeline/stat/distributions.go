package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// NormalCDF is the standard normal distribution function.
func NormalCDF(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// NormalQuantile is its inverse: the z with NormalCDF(z) = p.
func NormalQuantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }

// studentCDF is Student's t distribution function with nu degrees of freedom.
func studentCDF(t, nu float64) float64 {
	switch {
	case math.IsInf(t, 1):
		return 1
	case math.IsInf(t, -1):
		return 0
	}
	tail := mathext.RegIncBeta(nu/2, 0.5, nu/(nu+t*t)) / 2
	if t > 0 {
		return 1 - tail
	}
	return tail
}
