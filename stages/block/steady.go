package block

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/driver"
	"pgpipeline/stages/workload"
)

// minEvents is the least number of events in a slice: with fewer, the last event's length is a visible part of the rate.
const minEvents = 200

// leastPairs are taken however long a slice turns out to be: a full scan may take longer than the step's duration.
const leastPairs = 3

// maxSlice bounds what a slow step may lengthen its slices to.
const maxSlice = 30 * time.Second

// steady measures a step that only reads: short slices of all variants alternate in random order, so that whatever the
// machine does hits all of them alike, with the connections kept open.
func (b *block) steady(ctx context.Context, s workload.Step, arms []*arm) (err error) {
	unmet, err := b.settle(ctx, arms, nil)
	if err != nil {
		return err
	}
	runs := make([]*collector, len(arms))
	defer func() {
		for _, r := range runs {
			if r != nil {
				err = errors.Join(err, r.session.Close())
			}
		}
	}()
	for i, a := range arms {
		session, err := b.session(ctx, s, a)
		if err != nil {
			return err
		}
		runs[i] = newCollector(b, s, a, session)
		runs[i].unsettled(unmet)
	}
	slice, err := b.warmUp(ctx, s, runs)
	if err != nil {
		return b.give(runs, err)
	}
	for _, r := range runs {
		r.begin(ctx)
	}
	err = b.pairs(ctx, s, runs, slice)
	for _, r := range runs {
		r.end(ctx)
		if err == nil {
			err = r.compareEmpty(ctx)
		}
		if err == nil {
			err = r.profile(ctx)
		}
	}
	return b.give(runs, err)
}

// pairs takes slices of all variants until each was measured for the step's duration.
func (b *block) pairs(ctx context.Context, s workload.Step, runs []*collector, slice time.Duration) error {
	until := s.Duration.Seconds()
	for pair, spent := 0, 0.0; spent < until || pair < leastPairs; pair++ {
		longest := 0.0
		for order, i := range b.random.Perm(len(runs)) {
			took, err := runs[i].take(ctx, pair, order, slice)
			if err != nil {
				return err
			}
			longest = max(longest, took.Seconds())
			b.Progress(engine.Progress{What: fmt.Sprintf("%s on %s", s.Name, runs[i].arm.Name), Done: spent, Total: until, Unit: "s",
				Rate: runs[i].lastRate()})
		}
		spent += longest
	}
	return nil
}

// give hands the measurements over, also when an error cut them short: they say what happened.
func (b *block) give(runs []*collector, err error) error {
	for _, r := range runs {
		b.Record(r.measurement())
	}
	return err
}

// sliceFor lengthens the slice of a step that is so slow that a slice would hold too few events.
func (b *block) sliceFor(s workload.Step, events, seconds float64) time.Duration {
	slice := b.Timing.Slice
	if s.Pass || events <= 0 || seconds <= 0 {
		return slice
	}
	need := time.Duration(minEvents/(events/seconds)*float64(time.Second)) + b.Timing.Discard
	return max(slice, min(need, maxSlice, s.Duration/leastPairs))
}

// sliceOf runs one slice: a stretch of time, or one pass for steps that are one.
func sliceOf(ctx context.Context, s workload.Step, session client, slice, discard time.Duration) (driver.Result, error) {
	switch {
	case s.Pass:
		return session.Pass(ctx)
	case s.Work:
		return session.Work(ctx, workload.MaxWork)
	}
	return session.Slice(ctx, slice, discard)
}
