package main

import (
	"math"

	"golang.org/x/perf/benchmath"
)

// The rivals get the same slices as we do, in the order of time. Each says what it estimates and what it claims at 5 %.

// reading is what a method makes of some data: the log ratio, and the interval of what it does not reject.
type reading struct{ point, lo, hi float64 }

// naive measures one side for the first half of the time and the other for the second, and believes the ratio.
func naive(slices []float64) reading {
	half := len(slices) / 2
	r := logMean(slices[half:]) - logMean(slices[:half])
	return reading{r, r, r}
}

// benchstatSequential gives the real comparison of golang.org/x/perf ten samples of one side and then ten of the other.
func benchstatSequential(slices []float64) reading {
	k := len(slices) / 20
	var a, b []float64
	for i := range 10 {
		a = append(a, math.Exp(logMean(slices[i*k:(i+1)*k])))
		b = append(b, math.Exp(logMean(slices[(10+i)*k:(11+i)*k])))
	}
	return benchstat(a, b)
}

// benchstatInterleaved gives it ten and ten that alternate, as its manual advises.
func benchstatInterleaved(slices []float64) reading {
	k := len(slices) / 20
	var a, b []float64
	for i := range 20 {
		v := math.Exp(logMean(slices[i*k : (i+1)*k]))
		if i%4 == 0 || i%4 == 3 {
			a = append(a, v)
		} else {
			b = append(b, v)
		}
	}
	return benchstat(a, b)
}

func benchstat(a, b []float64) reading {
	t := benchmath.DefaultThresholds
	sa, sb := benchmath.NewSample(a, &t), benchmath.NewSample(b, &t)
	c := benchmath.AssumeNothing.Compare(sa, sb)
	ratio := math.Log(benchmath.AssumeNothing.Summary(sb, 0.95).Center / benchmath.AssumeNothing.Summary(sa, 0.95).Center)
	if c.P < c.Alpha {
		return reading{ratio, ratio, ratio} // it says that there is a change, and of this size
	}
	return reading{ratio, math.Min(ratio, 0), math.Max(ratio, 0)}
}

// logMean is the log of the mean rate: operations over time.
func logMean(logRates []float64) float64 {
	sum := 0.0
	for _, v := range logRates {
		sum += math.Exp(v)
	}
	return math.Log(sum / float64(len(logRates)))
}

// stream is time on a simulated machine as slices, of which the second side's are changed by effect: for the rivals. layout says
// which slices are the second side's.
func (m *machine) stream(slices int) []float64 {
	out := make([]float64, slices)
	for i := range out {
		out[i] = m.slice(ticksPerSlice)
	}
	return out
}
