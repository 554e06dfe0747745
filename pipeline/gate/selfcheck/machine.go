package main

import (
	"math"
	"math/rand/v2"
)

// tick is the resolution of simulated time in seconds.
const tick = 0.5

// Timing of a simulated block: twenty pairs of slices of one second, and five seconds to boot and warm up.
const (
	pairsPerBlock = 20
	ticksPerSlice = 2
	bootSeconds   = 5.0
	blockSeconds  = pairsPerBlock*2*ticksPerSlice*tick + bootSeconds
)

// noise describes a kind of machine. All sigmas are standard deviations of the log rate.
type noise struct {
	name                string
	drift, driftTime    float64 // slow wandering and its time constant (s)
	regime, regimeTime  float64 // sudden changes of level and the mean time between them (s)
	short, shortTime    float64 // what a neighbour does for some seconds
	white               float64 // of a second
	burstEvery          float64 // mean time between bursts (s)
	burstTime           float64 // mean length of one (s)
	burstLow, burstHigh float64 // how deep they cut
	boot                float64 // level of one boot of one server
}

// machines are the three kinds of the study: a host of one's own, a good shared one, a bad one.
var machines = []noise{
	{"quiet", .004, 900, .003, 1800, .003, 5, .005, 300, 3, .02, .08, .002},
	{"shared", .02, 600, .02, 900, .012, 6, .02, 60, 4, .05, .35, .004},
	{"hostile", .05, 400, .06, 300, .05, 8, .05, 25, 6, .1, .8, .006},
}

var shared = machines[1]

// machine is one run of such a machine.
type machine struct {
	noise
	rng                  *rand.Rand
	driftNow, shortNow   float64
	regimeNow, regimeEnd float64
	depth, burstEnd      float64
	burstNext            float64
	// scale of the short noise for the test that is running: some workloads feel a neighbour more than others.
	scale float64
}

func newMachine(n noise, rng *rand.Rand) *machine {
	m := &machine{noise: n, rng: rng, scale: 1}
	m.driftNow, m.shortNow, m.regimeNow = n.drift*rng.NormFloat64(), n.short*rng.NormFloat64(), n.regime*rng.NormFloat64()
	m.regimeEnd, m.burstNext = n.regimeTime*rng.ExpFloat64(), n.burstEvery*rng.ExpFloat64()
	return m
}

// step advances by one tick and returns the machine's part of the log rate.
func (m *machine) step() float64 {
	m.driftNow = wander(m.rng, m.driftNow, m.drift, m.driftTime)
	m.shortNow = wander(m.rng, m.shortNow, m.short, m.shortTime)
	if m.regimeEnd -= tick; m.regimeEnd <= 0 {
		m.regimeNow, m.regimeEnd = m.regime*m.rng.NormFloat64(), m.regimeTime*m.rng.ExpFloat64()
	}
	return m.driftNow + m.regimeNow + m.scale*(m.shortNow+m.white/math.Sqrt(tick)*m.rng.NormFloat64()-m.burst())
}

// wander is one step of a process that forgets its past with the given time constant.
func wander(rng *rand.Rand, now, sigma, constant float64) float64 {
	keep := math.Exp(-tick / constant)
	return keep*now + sigma*math.Sqrt(1-keep*keep)*rng.NormFloat64()
}

func (m *machine) burst() float64 {
	switch {
	case m.burstEnd > 0:
		m.burstEnd -= tick
	case m.burstNext > 0:
		m.burstNext -= tick
		return 0
	default:
		m.depth = m.burstLow + (m.burstHigh-m.burstLow)*m.rng.Float64()
		m.burstEnd, m.burstNext = m.burstTime*m.rng.ExpFloat64(), m.burstEvery*m.rng.ExpFloat64()
	}
	return m.depth
}

func (m *machine) skip(seconds float64) {
	for range int(seconds / tick) {
		m.step()
	}
}

// slice is the log of the mean rate over some ticks.
func (m *machine) slice(ticks int) float64 {
	sum := 0.0
	for range ticks {
		sum += math.Exp(m.step())
	}
	return math.Log(sum / float64(ticks))
}

// block is one block of pairs, candidate against base, at the given true log ratio.
func (m *machine) block(effect float64) []float64 {
	m.skip(bootSeconds)
	level := effect + m.boot*(m.rng.NormFloat64()-m.rng.NormFloat64())
	out := make([]float64, pairsPerBlock)
	for i := range out {
		a, b := m.slice(ticksPerSlice), m.slice(ticksPerSlice)
		out[i] = b - a
		if m.rng.IntN(2) == 0 {
			out[i] = a - b
		}
		out[i] += level
	}
	return out
}

// seeded gives trial i of an experiment a generator of its own, so that the result does not depend on who runs it when.
func seeded(experiment string, i int) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, c := range []byte(experiment) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(h, uint64(i)))
}
