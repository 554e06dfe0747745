package gate

import (
	"math"

	"pgpipeline/pipeline/internal/lang"
	"pgpipeline/pipeline/stat"
)

// Watch follows one comparison, "ratio > limit", from block to block with the code that judges relqps(step) > limit in a plan of
// m comparisons. It is for simulations, which have no record.
type Watch struct {
	c        float64
	levels   levels
	schedule stat.Schedule
	boot     stat.Boot
	pairs    stat.Pairs
	looks    int
	outcome  string
}

// NewWatch starts to follow a comparison.
func NewWatch(limit float64, m int, schedule stat.Schedule, boot stat.Boot) *Watch {
	return &Watch{c: math.Log(limit), levels: levels{pass: passLevel, fail: planLevel / float64(m)}, schedule: schedule, boot: boot, outcome: Inconclusive}
}

// Block adds the log ratios of one block and says where the verdict stands: pass, fail, or inconclusive.
func (w *Watch) Block(diffs []float64) string {
	block := len(w.pairs.Blocks())
	for _, d := range diffs {
		w.pairs.Add(block, d)
	}
	if k := w.schedule.LooksBy(block + 1); k > w.looks && w.outcome == Inconclusive {
		w.looks = k
		switch look(stat.NewTest(w.pairs, w.boot), w.schedule, k-1, w.c, w.levels.pass, w.levels.fail) {
		case lang.True:
			w.outcome = Pass
		case lang.False:
			w.outcome = Fail
		}
	}
	return w.outcome
}

// Pairs are all log ratios so far.
func (w *Watch) Pairs() stat.Pairs { return w.pairs }
