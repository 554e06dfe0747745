package main

import (
	"math"
	"runtime"
	"sync"

	"pgpipeline/pipeline/gate"
	"pgpipeline/pipeline/stat"
)

// maxBlocks is the budget of one test: twelve blocks, nine minutes.
const maxBlocks = 12

// suiteTests is the size of a suite: the 42 microbenchmarks.
const suiteTests = 42

// outcome is how one adaptive test ended.
type outcome struct {
	verdict string
	blocks  int
}

// adaptive runs one test until it is decided or out of budget.
func adaptive(next func() []float64, limit float64, m int, boot stat.Boot) outcome {
	w := gate.NewWatch(limit, m, stat.Steady, boot)
	for n := 1; ; n++ {
		diffs := next()
		if diffs == nil {
			return outcome{gate.Inconclusive, n - 1}
		}
		if v := w.Block(diffs); v != gate.Inconclusive || n == maxBlocks {
			return outcome{v, n}
		}
	}
}

// tally counts outcomes.
type tally struct {
	trials, fail, pass, blocks int
}

func (t tally) failed() float64       { return float64(t.fail) / float64(t.trials) }
func (t tally) passed() float64       { return float64(t.pass) / float64(t.trials) }
func (t tally) inconclusive() float64 { return 1 - t.failed() - t.passed() }
func (t tally) seconds(perBlock float64) float64 {
	return float64(t.blocks) / float64(t.trials) * perBlock
}

func (t *tally) add(o outcome) {
	t.trials++
	t.blocks += o.blocks
	switch o.verdict {
	case gate.Fail:
		t.fail++
	case gate.Pass:
		t.pass++
	}
}

// simulated runs many single tests of a suite's strictness on fresh machines.
func simulated(n noise, truth, limit float64, trials int) tally {
	var total tally
	outs := make([]outcome, trials)
	parallel(trials, func(i int) {
		rng := seeded(n.name, i)
		m := newMachine(n, rng)
		m.scale = math.Exp(0.4 * rng.NormFloat64())
		effect := math.Log(truth)
		outs[i] = adaptive(func() []float64 { return m.block(effect) }, limit, suiteTests, learnt(n, i))
	})
	for _, o := range outs {
		total.add(o)
	}
	return total
}

// learnt is the boot spread as a calibration of 24 blocks would have it: near the truth, not equal to it.
func learnt(n noise, i int) stat.Boot {
	rng := seeded("calibration of "+n.name, i)
	chi := 0.0
	for range gate.CalibrationBlocks - 1 {
		z := rng.NormFloat64()
		chi += z * z
	}
	return stat.LearntBoot(n.boot*math.Sqrt(chi/(gate.CalibrationBlocks-1)), gate.CalibrationBlocks)
}

// replayed runs many single tests from random places of a trace, with the truth injected.
func replayed(t trace, truth, limit float64, trials int) tally {
	outs := make([]outcome, trials)
	parallel(trials, func(i int) {
		blocks := t.blocks(seeded("replay "+t.name, i), maxBlocks)
		next := 0
		outs[i] = adaptive(func() []float64 {
			if next == len(blocks) {
				return nil
			}
			next++
			return shift(blocks[next-1], math.Log(truth))
		}, limit, suiteTests, stat.AssumedBoot)
	})
	var total tally
	for _, o := range outs {
		total.add(o)
	}
	return total
}

func shift(d []float64, by float64) []float64 {
	out := make([]float64, len(d))
	for i, v := range d {
		out[i] = v + by
	}
	return out
}

// suiteOutcome is how one suite of tests went.
type suiteOutcome struct {
	falseFail, allPass bool
	blocks             int
}

// suite measures 42 tests in turns, as a run does: one block of every test, then further blocks of those undecided.
func suite(n noise, limit float64, i int) suiteOutcome {
	rng := seeded("suite "+n.name, i)
	m := newMachine(n, rng)
	boot := learnt(n, i)
	watches := make([]*gate.Watch, suiteTests)
	scales := make([]float64, suiteTests)
	state := make([]string, suiteTests)
	for t := range watches {
		watches[t], scales[t], state[t] = gate.NewWatch(limit, suiteTests, stat.Steady, boot), math.Exp(0.4*rng.NormFloat64()), gate.Inconclusive
	}
	out := suiteOutcome{allPass: true}
	for range maxBlocks {
		for t, w := range watches {
			if state[t] == gate.Inconclusive {
				m.scale = scales[t]
				state[t] = w.Block(m.block(0))
				out.blocks++
			}
		}
	}
	for _, s := range state {
		out.falseFail = out.falseFail || s == gate.Fail
		out.allPass = out.allPass && s == gate.Pass
	}
	return out
}

// parallel calls f for 0..n-1 on all processors.
func parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
