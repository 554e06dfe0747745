package gate

import (
	"fmt"
	"strings"
	"time"

	"pgpipeline/pipeline/engine"
)

// Wanted implements engine.Judge. A step is wanted while an assertion that needs it is undecided and more blocks may decide it.
// Steps that no assertion compares with an interval are not mentioned: the engine gives them the facet's least number of blocks.
func (g *Gate) Wanted(facet engine.Facet, blocks []engine.BlockRecord) (map[string]bool, string) {
	all := seriesOf(facet, blocks)
	e := gather(facet, blocks, all[len(all)-1])
	s := sitting{Gate: g, noise: g.noise(time.Now()), levels: g.levels()}
	wanted := map[string]bool{}
	counts := map[string]int{}
	for _, c := range g.checks {
		if c.scope.facet.Name != facet.Name || c.scope.facet.Stage != facet.Stage {
			continue
		}
		r := s.evaluate(c, e)
		counts[r.Outcome]++
		if c.program.Guarded == 0 {
			continue
		}
		for _, step := range c.steps {
			wanted[step] = wanted[step] || r.Outcome == Inconclusive && r.hopeful(facet, e)
		}
	}
	return wanted, state(counts)
}

// hopeful says whether more blocks may decide an inconclusive result. What is missing for a reason that does not go away is
// given the least number of blocks, not the whole budget; so is what even a much larger budget would not decide.
func (r AssertionResult) hopeful(f engine.Facet, e evidence) bool {
	if len(e.blocks) < f.MinBlocks {
		return true
	}
	return r.Reason != "few-tail" && r.Reason != "futile" && !strings.HasPrefix(r.Reason, "missing")
}

func state(counts map[string]int) string {
	total := counts[Pass] + counts[Fail] + counts[Inconclusive] + counts[Invalid]
	if total == 0 {
		return "no assertions"
	}
	decided := total - counts[Inconclusive]
	text := fmt.Sprintf("%d of %d assertions decided", decided, total)
	if counts[Fail] > 0 {
		text += fmt.Sprintf(", %d fail", counts[Fail])
	}
	return text
}
