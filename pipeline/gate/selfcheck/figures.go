package main

import (
	"fmt"
	"math"

	"pgpipeline/pipeline/gate"
	"pgpipeline/pipeline/stat"
)

// effort is how many trials each figure gets.
type effort struct {
	suites, trials, windows, faults int
}

var (
	full  = effort{suites: 1000, trials: 2000, windows: 1000, faults: 200}
	short = effort{suites: 12, trials: 60, windows: 80, faults: 12}
)

// figure is one line of the table.
type figure struct {
	number int
	what   string
	target string
	ours   string
	rivals string
	met    bool
	// why explains a target that is not met, or what a figure leaves out.
	why string
}

// bench is what figures are computed from.
type bench struct {
	effort
	traces []trace
}

// all are the figures of the design's section 5, in its order.
func (b bench) all() []figure {
	return []figure{b.falseSuites(), b.wrongPass(), b.threePercent(), b.tenPercent(), b.unchanged(), b.undecided(), b.coverage(), b.error(), b.benchstat(),
		b.faultsCaught(), b.states(), b.calibration()}
}

// falseSuites: nothing changed, 42 tests, any of them failed.
func (b bench) falseSuites() figure {
	f := figure{number: 1, what: "A/A suites of 42 tests with any false FAIL, worst of 3 machines x gates .95 .97 1", target: "<= 1 % (upper 95 % bound)", met: true}
	worst, bound, where := 0, 0.0, ""
	for _, n := range machines {
		for _, limit := range []float64{0.95, 0.97, 1} {
			count := 0
			hits := make([]bool, b.suites)
			parallel(b.suites, func(i int) { hits[i] = suite(n, limit, i).falseFail })
			for _, h := range hits {
				if h {
					count++
				}
			}
			if u := upperBound(count, b.suites); u > bound {
				worst, bound, where = count, u, fmt.Sprintf("%s, gate %g", n.name, limit)
			}
		}
	}
	f.ours = fmt.Sprintf("%d of %d (%s), bound %.2f %%", worst, b.suites, where, 100*bound)
	f.met = bound <= 0.01
	if !f.met {
		f.why = "the boot spread is learnt from 24 blocks and sometimes too small; more suites narrow the bound"
	}
	naiveFails := 0
	parallelCount(b.suites, &naiveFails, func(i int) bool { return naiveSuite(shared, 0.95, i) })
	f.rivals = fmt.Sprintf("naive, shared, gate .95: %.0f %%", 100*float64(naiveFails)/float64(b.suites))
	return f
}

// naiveSuite: 42 tests one after the other, two minutes each side; does the bare ratio fail any?
func naiveSuite(n noise, limit float64, i int) bool {
	m := newMachine(n, seeded("naive suite "+n.name, i))
	for range suiteTests {
		m.scale = math.Exp(0.4 * m.rng.NormFloat64())
		if naive(m.stream(240)).point+m.boot*(m.rng.NormFloat64()-m.rng.NormFloat64()) < math.Log(limit) {
			return true
		}
	}
	return false
}

// wrongPass: the truth is exactly the limit.
func (b bench) wrongPass() figure {
	f := figure{number: 2, what: "wrong PASS exactly at the gate, worst machine or trace", target: "<= 5 % per test"}
	worst, where := 0.0, ""
	for _, n := range machines {
		if p := simulated(n, 0.95, 0.95, b.trials).passed(); p > worst {
			worst, where = p, n.name
		}
	}
	for _, t := range b.traces {
		if p := replayed(t, 0.95, 0.95, b.windows).passed(); p > worst {
			worst, where = p, t.name
		}
	}
	f.ours, f.met = fmt.Sprintf("%.1f %% (%s)", 100*worst, where), worst <= 0.05+2*math.Sqrt(0.05*0.95/float64(b.trials))
	return f
}

func (b bench) threePercent() figure {
	t := simulated(shared, 0.97, 1, b.trials)
	return figure{number: 3, what: "3 % regression flagged slower, shared machine, family 1 %", target: ">= 95 % within 9 min, mean <= 3 min",
		ours: fmt.Sprintf("%.1f %%, %.0f s", 100*t.failed(), t.seconds(blockSeconds)), met: t.failed() >= 0.95 && t.seconds(blockSeconds) <= 180}
}

func (b bench) tenPercent() figure {
	t := simulated(shared, 0.9, 0.95, b.trials)
	rivals := ""
	for _, tr := range b.traces[:1] {
		r := replayed(tr, 0.9, 0.95, b.windows)
		rivals = fmt.Sprintf("replayed %s: %.0f %% in %.0f s", tr.name, 100*r.failed(), r.seconds(2*pairsPerBlock*tr.seconds))
	}
	return figure{number: 4, what: "true 0.90 against gate .95, shared machine", target: "FAIL >= 99 %, mean <= 2 min",
		ours: fmt.Sprintf("%.1f %%, %.0f s", 100*t.failed(), t.seconds(blockSeconds)), rivals: rivals, met: t.failed() >= 0.99 && t.seconds(blockSeconds) <= 120}
}

func (b bench) unchanged() figure {
	outs := make([]suiteOutcome, b.suites)
	parallel(b.suites, func(i int) { outs[i] = suite(shared, 0.95, i) })
	all, blocks := 0, 0
	for _, o := range outs {
		blocks += o.blocks
		if o.allPass {
			all++
		}
	}
	minutes := float64(blocks) / float64(b.suites) * blockSeconds / 60
	share := float64(all) / float64(b.suites)
	return figure{number: 5, what: "unchanged suite of 42 tests, gate .95, shared machine", target: "<= 40 min, >= 99 % all PASS",
		ours: fmt.Sprintf("%.1f min, %.1f %%", minutes, 100*share), rivals: "naive and benchstat: 168 min fixed", met: minutes <= 40 && share >= 0.99}
}

func (b bench) undecided() figure {
	worst, where := 0.0, 0.0
	for _, truth := range []float64{0.9, 0.92, 0.98, 1} {
		if u := simulated(shared, truth, 0.95, b.trials).inconclusive(); u >= worst {
			worst, where = u, truth
		}
	}
	return figure{number: 6, what: "inconclusive when the truth is 3 points or more from the gate, shared machine", target: "<= 2 %",
		ours: fmt.Sprintf("%.1f %% (true %g)", 100*worst, where), met: worst <= 0.02}
}

// coverage: six blocks, no looks; how often does the 95 % interval hold the truth?
func (b bench) coverage() figure {
	f := figure{number: 7, what: "95 % intervals cover, every machine and trace", target: "93 to 97 %", met: true}
	low, high := 1.0, 0.0
	note := func(name string, hits, all int) {
		share := float64(hits) / float64(all)
		low, high = math.Min(low, share), math.Max(high, share)
		f.ours += fmt.Sprintf("%s %.1f ", name, 100*share)
	}
	for _, n := range machines {
		hits := 0
		parallelCount(b.trials, &hits, func(i int) bool {
			m := newMachine(n, seeded("coverage "+n.name, i))
			var p stat.Pairs
			for k := range 6 {
				for _, d := range m.block(0) {
					p.Add(k, d)
				}
			}
			return covers(p, stat.Boot{Sigma: n.boot, Calibrated: true}, 0)
		})
		note(n.name, hits, b.trials)
	}
	for _, t := range b.traces {
		hits := 0
		parallelCount(b.windows, &hits, func(i int) bool {
			var p stat.Pairs
			for k, d := range t.blocks(seeded("coverage "+t.name, i), 3) {
				for _, v := range d {
					p.Add(k, v)
				}
			}
			return covers(p, stat.Boot{Calibrated: true}, 0)
		})
		note(t.name, hits, b.windows)
	}
	slack := 2 * math.Sqrt(0.05*0.95/float64(b.trials))
	f.met = low >= 0.93-slack && high <= 0.97+slack
	return f
}

func covers(p stat.Pairs, boot stat.Boot, truth float64) bool {
	lo, hi := stat.NewTest(p, boot).Interval(0.025, 0.025)
	return lo <= truth && truth <= hi
}

// errors of the estimate over windows of two minutes of each trace.
func (b bench) errors(t trace) (ours, naiveErr, interleaved, sequential float64) {
	n := int(120 / t.seconds)
	var sums [4]float64
	results := make([][4]float64, b.windows)
	parallel(b.windows, func(i int) {
		rng := seeded("error "+t.name, i)
		w := t.window(rng, n)
		var d []float64
		for k := 0; k+1 < len(w); k += 2 {
			v := w[k+1] - w[k]
			if rng.IntN(2) == 0 {
				v = -v
			}
			d = append(d, v)
		}
		for k, v := range []float64{stat.HodgesLehmann(d), naive(w).point, benchstatInterleaved(w).point, benchstatSequential(w).point} {
			results[i][k] = v * v
		}
	})
	for _, r := range results {
		for k := range sums {
			sums[k] += r[k] / float64(b.windows)
		}
	}
	return math.Sqrt(sums[0]), math.Sqrt(sums[1]), math.Sqrt(sums[2]), math.Sqrt(sums[3])
}

func (b bench) error() figure {
	f := figure{number: 8, what: "error against naive at equal time (120 s), recorded traces", target: ">= 2.5x smaller", met: true}
	for _, t := range b.traces {
		ours, naiveErr, _, _ := b.errors(t)
		f.ours += fmt.Sprintf("%s %.1fx ", t.name, naiveErr/ours)
		f.rivals += fmt.Sprintf("%.1f %% against %.1f %%; ", 100*ours, 100*naiveErr)
		met := naiveErr/ours >= 2.5
		f.met = f.met && met
		if !met && t.name == "io-bound" {
			f.why = "where the disk is the limit, slices are long (1.4 s) and the machine's speed matters little: there is less for pairing to take out"
		}
	}
	return f
}

// benchstat: the same slices in the same time.
func (b bench) benchstat() figure {
	f := figure{number: 9, what: "against interleaved benchstat, same slices: error; detection at .90/.93 and false FAIL, 240 s, gate .95",
		target: ">= 2x smaller error; more found at no more false alarms", met: true}
	for _, t := range b.traces[:2] {
		ours, _, inter, sequential := b.errors(t)
		f.ours += fmt.Sprintf("%s %.1fx (sequential %.1fx) ", t.name, inter/ours, sequential/ours)
		f.met = f.met && inter/ours >= 2
	}
	var our, their [3]float64
	for k, truth := range []float64{1, 0.93, 0.9} {
		our[k] = simulated(shared, truth, 0.95, b.trials).failed()
		their[k] = b.benchstatFails(truth)
	}
	f.ours += fmt.Sprintf("| %.1f/%.1f %% at %.2f %%", 100*our[2], 100*our[1], 100*our[0])
	f.rivals = fmt.Sprintf("benchstat %.1f/%.1f %% at %.2f %%", 100*their[2], 100*their[1], 100*their[0])
	f.met = f.met && our[0] <= their[0]+1e-9 && our[1] >= their[1]-0.02 && our[2] >= their[2]-0.005
	f.why = "detection is counted the way benchstat users gate: a significant change whose size is beyond the limit"
	return f
}

func (b bench) benchstatFails(truth float64) float64 {
	fails := 0
	parallelCount(b.trials, &fails, func(i int) bool {
		rng := seeded("benchstat", i)
		m := newMachine(shared, rng)
		m.scale = math.Exp(0.4 * rng.NormFloat64())
		effect := math.Log(truth) + m.boot*(rng.NormFloat64()-rng.NormFloat64())
		s := m.stream(240)
		k := len(s) / 20
		for j := range s {
			if place := j / k % 4; place == 1 || place == 2 {
				s[j] += effect
			}
		}
		return benchstatInterleaved(s).hi < math.Log(0.95)
	})
	return float64(fails) / float64(b.trials)
}

func (b bench) calibration() figure {
	minutes := float64(gate.CalibrationBlocks) * blockSeconds / 60
	return figure{number: 12, what: "time of a calibration: 24 blocks of a steady step", target: "<= 30 min", ours: fmt.Sprintf("%.0f min", minutes), met: minutes <= 30}
}

// upperBound is the 95 % upper confidence bound of a rate, from the exact binomial distribution.
func upperBound(hits, all int) float64 {
	lo, hi := 0.0, 1.0
	for range 60 {
		mid := (lo + hi) / 2
		if binomialCDF(hits, all, mid) > 0.05 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

func binomialCDF(k, n int, p float64) float64 {
	sum, term := 0.0, math.Pow(1-p, float64(n))
	for i := 0; i <= k; i++ {
		sum += term
		term *= float64(n-i) / float64(i+1) * p / (1 - p)
	}
	return sum
}

// parallelCount counts the i of 0..n-1 for which f holds.
func parallelCount(n int, count *int, f func(i int) bool) {
	hits := make([]bool, n)
	parallel(n, func(i int) { hits[i] = f(i) })
	for _, h := range hits {
		if h {
			*count++
		}
	}
}
