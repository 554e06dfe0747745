package gate

import (
	"fmt"
	"math"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/stat"
)

// noiseModel is what verdicts assume of the noise in one facet: the calibration where there is one, else what is assumed of every
// machine.
type noiseModel struct {
	calibration *Calibration
	expired     *Calibration // there is one, but it is too old
	alpha       float64      // level of a strict claim
	facet       string
}

// in is the model for another facet.
func (n noiseModel) in(facet string) noiseModel {
	n.facet = facet
	return n
}

func (n noiseModel) step(name string) (StepNoise, bool) {
	if n.calibration == nil {
		return StepNoise{}, false
	}
	return n.calibration.step(n.facet, name)
}

// boot is the spread between boots of a step.
func (n noiseModel) boot(step engine.StepInfo) stat.Boot {
	if s, ok := n.step(step.Name); ok {
		return stat.LearntBoot(s.SigmaBoot, s.Blocks)
	}
	return stat.AssumedBoot
}

// floor is the smallest change, as a fraction, that the budget finds with 95 % power at the level of a failure. Without a
// calibration the spread of the pairs seen so far stands in. Infinite when nothing can be found.
func (n noiseModel) floor(step engine.StepInfo, seq *sequential, maxBlocks int) float64 {
	boots := seq.pairs.Boots()
	p := stat.Power{Boot: seq.boot, Alpha: n.alpha, Schedule: seq.schedule, Spread: seq.pairs.Spread(), PairsPerBlock: 1}
	if boots > 0 {
		p.PairsPerBlock = float64(len(seq.pairs.Diff)) / float64(boots)
	}
	if s, ok := n.step(step.Name); ok {
		p.Spread, p.PairsPerBlock = s.Spread, s.perBlock()
	}
	f := p.Floor(max(maxBlocks, boots))
	if math.IsNaN(f) {
		return math.Inf(1)
	}
	return -math.Expm1(-f)
}

// info says in a sentence what the verdicts assume.
func (n noiseModel) info(now time.Time) NoiseInfo {
	if n.calibration == nil {
		why := "This machine was not calibrated"
		if n.expired != nil {
			why = fmt.Sprintf("The calibration of %s is older than %d days", n.expired.Measured.Format(time.DateOnly), CalibrationDays)
		}
		return NoiseInfo{SigmaBoot: stat.AssumedSigmaBoot,
			Text: fmt.Sprintf("%s: boots are assumed to differ by %g %% (`pipeline noise` measures it).", why, 100*stat.AssumedSigmaBoot)}
	}
	worst := 0.0
	for _, s := range n.calibration.Steps {
		worst = math.Max(worst, s.SigmaBoot)
	}
	age := "today"
	if days := int(now.Sub(n.calibration.Measured).Hours() / 24); days > 0 {
		age = plural(days, "day") + " ago"
	}
	return NoiseInfo{Calibrated: true, SigmaBoot: worst, Age: age, Text: fmt.Sprintf("Calibrated %s: boots differ by up to %.2g %%.", age, 100*worst)}
}
