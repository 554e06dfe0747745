package block

import (
	"context"
	"fmt"
	"time"

	"pgpipeline/pipeline/proc"
	"pgpipeline/stages/driver"
	"pgpipeline/stages/external"
	"pgpipeline/stages/workload"
)

// client is who sends a step's statements: our own driver, or another load generator.
type client interface {
	Slice(ctx context.Context, d, discard time.Duration) (driver.Result, error)
	Pass(ctx context.Context) (driver.Result, error)
	Work(ctx context.Context, most time.Duration) (driver.Result, error)
	Empty(ctx context.Context, d, discard time.Duration) (driver.Result, error)
	Close() error
}

// tool opens a session of another load generator.
func (b *block) tool(ctx context.Context, s workload.Step, a *arm) (client, error) {
	account, err := proc.Unprivileged()
	if err != nil {
		return nil, err
	}
	session, err := external.Open(ctx, external.Options{Tool: s.Kind.Tool, ConnString: a.server.ConnString(workload.Database), Clients: s.Clients,
		Rate: s.Rate, Seed: b.seed(s.Name), CPUs: b.ClientCPUs, As: account, Scratch: b.Scratch, Log: b.Log, Tables: s.Params.Tables, Rows: s.Params.Rows})
	if err != nil {
		return nil, b.blame(a, fmt.Errorf("%s on %s: %w", s.Name, a.Name, err))
	}
	return session, nil
}

// Slices of a load generator are long: each is a program that starts, connects and prepares anew, and its first seconds do not count.
const (
	toolSliceTime = 10 * time.Second
	toolLost      = 3 * time.Second
)

// toolSlice is how long a load generator runs at a time, and how much of that is lost. A whole step keeps its length.
func toolSlice(s workload.Step, slice, discard time.Duration) (time.Duration, time.Duration) {
	if s.Class != workload.Steady {
		return slice, discard
	}
	slice = min(toolSliceTime, max(s.Duration, 2*time.Second))
	return slice, min(toolLost, slice/2)
}

// maxKept bounds one output in the record; the node's log has all of it.
const maxKept = 64 << 10

// keepOutput keeps what a load generator printed, and says what its figures are.
func (c *collector) keepOutput() {
	s, ok := c.session.(*external.Session)
	if !ok {
		return
	}
	text := s.Output()
	if len(text) > maxKept {
		text = text[:maxKept/2] + "\n[...]\n" + text[len(text)-maxKept/2:]
	}
	c.m.Outputs = append(c.m.Outputs, text)
	c.notes["measured by"] = c.step.Kind.Tool.Name + ", which is part of every figure; latencies " + s.LatencyNote()
	for _, name := range []string{"avg", "p95", "p99", "max"} {
		if out, err := external.Parse(c.step.Kind.Tool.Name, s.Output()); err == nil && out.Latency[name] > 0 {
			c.notes["latency "+name+" (of "+out.Tool+", last slice)"] = fmt.Sprintf("%.3f ms", out.Latency[name]*1e3)
		}
	}
	if note := s.Note(); note != "" {
		c.notes["start"] = note
	}
}
