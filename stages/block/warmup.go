package block

import (
	"context"
	"fmt"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/stat"
	"pgpipeline/stages/workload"
)

// trendWindow is how many rounds have to be without a trend before measuring begins.
const trendWindow = 6

// warmUp runs slices that are not counted: for the least time, then until the sum of all variants shows no trend any more or
// the cap is reached. It looks at the sum and never at the ratio, which would choose the window by its result. It returns the
// length of the slices to come.
func (b *block) warmUp(ctx context.Context, s workload.Step, runs []*collector) (time.Duration, error) {
	var sums []float64
	var events, counted float64
	var spent time.Duration
	least, most := b.Timing.Warmup, max(b.Timing.Warmup, b.Timing.WarmupCap)
	slice := max(b.Timing.Slice/2, 50*time.Millisecond)
	tool := s.Kind.Tool != nil // a run of its own each time: its start is warm-up enough, and a trend cannot be seen
	if tool {
		slice = max(least, time.Second)
	}
	for {
		sum, longest := 0.0, time.Duration(0)
		for _, r := range runs {
			began := time.Now()
			result, err := sliceOf(ctx, s, r.session, slice, 0)
			if err != nil {
				return 0, r.fail(result, err)
			}
			longest = max(longest, time.Since(began))
			sum += float64(result.Ops) / result.Seconds
			events += float64(result.Events)
			counted += result.Seconds
			b.Progress(engine.Progress{What: fmt.Sprintf("warm up %s on %s", s.Name, r.arm.Name), Done: spent.Seconds(), Total: most.Seconds(), Unit: "s"})
		}
		sums = append(sums, sum)
		spent += longest
		steady := s.Pass || tool || len(sums) >= trendWindow && stat.TrendP(sums[len(sums)-trendWindow:]) > 0.05
		if spent >= least && (steady || spent >= most) {
			for _, r := range runs {
				r.warm(spent, steady)
			}
			return b.sliceFor(s, events, counted), nil
		}
	}
}
