package gate

import (
	"fmt"
	"math"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/stat"
)

// CalibrationVersion is the version of the calibration file.
const CalibrationVersion = 1

// CalibrationDays is how long a calibration holds.
const CalibrationDays = 30

// Calibration is what an A/A run taught about a machine: base against base through the entire path. It is kept as JSON.
type Calibration struct {
	Version  int       `json:"version"`
	Machine  string    `json:"machine"` // fingerprint; another machine's calibration is not used
	Measured time.Time `json:"measured"`
	// Steps by name.
	Steps map[string]StepNoise `json:"steps"`
}

// StepNoise is the noise of one step.
type StepNoise struct {
	Class         string  `json:"class"`
	Blocks        int     `json:"blocks"`
	Pairs         int     `json:"pairs"`
	Spread        float64 `json:"spread"`          // robust standard deviation of one pair's log ratio
	SigmaBoot     float64 `json:"sigma_boot"`      // standard deviation of the log rate between boots
	Order         float64 `json:"order"`           // log ratio of second over first within a pair
	OrderP        float64 `json:"order_p"`         // two-sided
	Uniformity    float64 `json:"uniformity"`      // p-value of a Kolmogorov-Smirnov test of the blocks' p-values
	Lag1          float64 `json:"lag1"`            // correlation of neighbouring pairs
	FalseClaims   int     `json:"false_claims"`    // blocks whose own test claimed a change at 5 %
	MinutesABlock float64 `json:"minutes_a_block"` // of both variants
}

// Expired says whether the calibration is too old.
func (c *Calibration) Expired(now time.Time) bool {
	return now.Sub(c.Measured) > CalibrationDays*24*time.Hour
}

// noiseModel is what verdicts assume of the noise: the calibration where there is one, else what statistics.md assumes.
type noiseModel struct {
	calibration *Calibration
	alpha       float64 // level of a strict claim
}

func (n noiseModel) step(name string) (StepNoise, bool) {
	if n.calibration == nil {
		return StepNoise{}, false
	}
	s, ok := n.calibration.Steps[name]
	return s, ok
}

// boot is the spread between boots of a step.
func (n noiseModel) boot(step engine.StepInfo) stat.Boot {
	if s, ok := n.step(step.Name); ok {
		return stat.Boot{Sigma: s.SigmaBoot, Calibrated: true}
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
		p.Spread = s.Spread
		p.PairsPerBlock = math.Max(1, float64(s.Pairs)/float64(max(1, s.Blocks)))
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
		return NoiseInfo{SigmaBoot: stat.AssumedSigmaBoot,
			Text: fmt.Sprintf("This machine was not calibrated: boots are assumed to differ by %g %% (`pipeline noise` measures it).", 100*stat.AssumedSigmaBoot)}
	}
	worst := 0.0
	for _, s := range n.calibration.Steps {
		worst = math.Max(worst, s.SigmaBoot)
	}
	days := int(now.Sub(n.calibration.Measured).Hours() / 24)
	age := fmt.Sprintf("%d days", days)
	return NoiseInfo{Calibrated: true, SigmaBoot: worst, Age: age,
		Text: fmt.Sprintf("Calibrated %s ago: boots differ by up to %.2g %%.", age, 100*worst)}
}
