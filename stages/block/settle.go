package block

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/workload"
)

// settle waits until what steps wrote before does not disturb the next measurement: no autovacuum worker runs on a server that is not about
// to be measured, and the machine has few dirty pages, which the kernel is told to write now: left alone it takes half a minute. next is the one server that is: its own debt is part of what it is measured on, as in
// the published sequences, which never pause. It is nil for a step that reads and runs on all servers in turn; then all have to be
// at rest. What could not be met in time is returned, to be told with the measurement.
func (b *block) settle(ctx context.Context, arms []*arm, next *arm) (unmet []string, err error) {
	deadline := time.Now().Add(b.Timing.Settle)
	written := false
	for _, a := range arms {
		if a == next || !b.wrote[a] || b.Timing.Settle <= 0 {
			continue
		}
		if !written {
			b.writeBack(ctx, deadline)
			written = true
		}
		b.Progress(engine.Progress{What: "settle " + a.Name})
		facts, err := workload.Maintain(ctx, workload.MaintainOptions{ConnString: a.server.ConnString(workload.Database),
			Settle: max(time.Millisecond, time.Until(deadline))})
		if err != nil {
			return nil, b.blame(a, fmt.Errorf("settle %s: %w", a.Name, err))
		}
		for _, condition := range facts.Unmet {
			unmet = append(unmet, fmt.Sprintf("%s, on %s after %v", condition, a.Name, b.Timing.Settle))
		}
		delete(b.wrote, a) // what did not come to rest in that time will not for the next step either
	}
	return unmet, nil
}

// writeBack has the file system of the data written, at most until the deadline: it goes on behind our back after that.
func (b *block) writeBack(ctx context.Context, deadline time.Time) {
	dir, err := os.Open(b.Scratch)
	if err != nil {
		fmt.Fprintf(b.Log, "settle: %v\n", err)
		return
	}
	done := make(chan error, 1)
	go func() {
		done <- errors.Join(unix.Syncfs(int(dir.Fd())), dir.Close())
	}()
	select {
	case err := <-done:
		if err != nil {
			fmt.Fprintf(b.Log, "settle: write dirty pages: %v\n", err)
		}
	case <-ctx.Done():
	case <-time.After(time.Until(deadline)):
	}
}

// unsettled notes what was not at rest when the measurement began.
func (c *collector) unsettled(unmet []string) {
	if len(unmet) > 0 {
		c.notes["not at rest"] = strings.Join(unmet, "; ")
	}
}

// emptyTime is how long an empty statement is measured; the first part is not counted.
const (
	emptyTime    = 250 * time.Millisecond
	emptyDiscard = 50 * time.Millisecond
)

// compareEmpty measures an empty statement on the connections of the operation that the step counts, the others idle, and notes which
// share of a round trip is the server's work on the statement: a server that works 10 % longer on it loses that share of 10 % in the step's rate.
func (c *collector) compareEmpty(ctx context.Context) error {
	whole := c.roundTrip()
	if whole <= 0 || c.step.Kind.Tool != nil {
		return nil
	}
	r, err := c.session.Empty(ctx, emptyTime, emptyDiscard)
	if err != nil {
		return c.fail(r, err)
	}
	c.notes["round trip"] = dilution(whole, r.RoundTrip())
	return nil
}

// dilution says in words what share of a round trip is the server's work, from the time of a statement and of an empty one, in seconds.
func dilution(whole, empty float64) string {
	times := fmt.Sprintf("%.1f us, %.1f us for an empty statement: ", whole*1e6, empty*1e6)
	share := 1 - empty/whole
	if share <= 0 {
		return times + "the server's share cannot be told, the machine was not equally fast for both"
	}
	return times + fmt.Sprintf("%.0f %% is the server's work on the statement, and a server that takes 10 %% longer for it shows as %.3f", share*100, 1/(1+share/10))
}

// roundTrip is the mean time of a statement of the operation that the step counts, in seconds; 0: none was counted.
func (c *collector) roundTrip() float64 {
	name, statements := "", c.statements
	if len(c.step.Operations) > 0 {
		name = c.step.Operations[0]
	}
	l := c.hist[name]
	if l == nil || l.service == nil {
		return 0
	}
	if name != "" {
		statements = float64(l.count)
	}
	if statements == 0 {
		return 0
	}
	return l.service.Mean() / 1e9 * float64(l.count) / statements
}
