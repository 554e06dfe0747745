package gate

import (
	"fmt"
	"math"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/lang"
	"pgpipeline/pipeline/stat"
)

// sentinelMargin is how far a second copy of the base may lie from the base before the machine is not believed, unless the
// noise floor is wider.
const sentinelMargin = 0.02

// sentinels looks at the second copies of the base that a facet measures. Nothing differs between the two, so a difference
// beyond the noise is the machine's: then no verdict of the facet stands. It returns what is wrong, "" when nothing is.
func (s sitting) sentinels(f engine.Facet, e evidence) string {
	sc := scope{facet: f}
	for _, v := range f.Variants {
		if !v.Sentinel {
			continue
		}
		r := &resolver{scope: sc, evidence: e, candidate: v.Name, levels: s.sentinelLevels(f), noise: s.noise.in(f.Name)}
		for _, step := range f.Steps {
			if text := r.alarm(step, v.Name); text != "" {
				return text
			}
		}
	}
	return ""
}

// sentinelLevels share the plan's 1 % between the steps' two sides, so that an honest machine is believed in 99 of 100 plans.
func (s sitting) sentinelLevels(f engine.Facet) levels {
	l := planLevel / float64(2*max(1, len(f.Steps)))
	return levels{pass: l, fail: l}
}

func (r *resolver) alarm(step engine.StepInfo, sentinel string) string {
	req := request{fn: functionNamed("relqps"), metric: "qps", steps: []engine.StepInfo{step}, variant: sentinel}
	seq, _, why := r.sequence(req, step, r.base())
	if why != "" || seq.looks() == 0 {
		return ""
	}
	margin := sentinelMargin
	if floor := r.noise.floor(step, seq, r.scope.facet.MaxBlocks); floor < 1 {
		margin = math.Max(margin, floor)
	}
	low := seq.Decide(1-margin, lang.Lenient, lang.Lenient) == lang.False
	high := seq.Decide(1+margin, lang.Lenient, lang.Lenient) == lang.True
	if !low && !high {
		return ""
	}
	return fmt.Sprintf("environment: a second copy of the base differs from it in %s by %+.1f %%", step.Name, 100*(math.Exp(stat.HodgesLehmann(seq.pairs.Diff))-1))
}
