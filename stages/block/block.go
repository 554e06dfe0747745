// Package block measures one block: it restores the data of every variant, boots their servers, passes once over the steps and
// stops everything again.
//
// Read block.go first, then in the order of the work:
//
//	arm.go     one variant: its copy of the data and its server
//	warmup.go  alternate short slices until there is no trend
//	steady.go  steps that only read: slices of the variants alternate in random order
//	whole.go   steps that write: one uninterrupted stretch per variant, in random order
//	settle.go  rest between a step that wrote and the next measurement
//	sample.go  one slice with everything that is measured around it
//	collect.go samples -> measurements
//	notes.go   what a measurement says about itself: stalls, missed targets, the share of a round trip that is the server's
//	tool.go    steps that another load generator runs
//	profile.go a few seconds more under perf
//	bottleneck.go  was it the client
//	cached.go  bring the data to where the experiment says, and look whether it was there
//	fault.go   whose fault is it
package block

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/driver"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/workload"
)

// Options is what a block depends on.
type Options struct {
	Steps    []workload.Step
	Variants []Variant // base first
	Seed     uint64
	Timing   Timing
	// ServerCPUs and ClientCPUs that the servers and the clients may use, alike for every variant; nil: all.
	ServerCPUs, ClientCPUs []int
	// Serial runs one server at a time, because all of them do not fit into memory together.
	Serial  bool
	Cached  string // "postgres", "os", "none" or "": which case the experiment means to measure
	Scratch string // for the copies of the data
	Log     io.Writer
	Number  int // of the block
	// Profiles is the folder for folded stacks of the servers, one file per step and variant; "" for none.
	Profiles string

	Progress func(engine.Progress)
	Warn     func(format string, args ...any)
	Record   func(engine.Measurement)
}

// Variant is one server to measure.
type Variant struct {
	Name    string
	Base    bool
	Install postgres.Install
	Conf    string // text of postgresql.conf
	Data    string // data directory of the load, read-only
	// Env are extra variables of the server process.
	Env []string
}

// Timing of slices and warm-ups.
type Timing struct {
	Slice     time.Duration // of a steady step
	Discard   time.Duration // at the start of each slice: caches refill after the other variant ran
	Warmup    time.Duration // at least, per variant
	WarmupCap time.Duration // at most, per variant
	Settle    time.Duration // at most, after writing
}

// Run measures one block. An error that one variant caused is an *engine.SideError.
func Run(ctx context.Context, o Options) error {
	release, err := driver.HoldLatency()
	if err != nil {
		fmt.Fprintf(o.Log, "CPU idle states stay on: %v\n", err)
	} else {
		defer func() { _ = release() }()
	}
	b := &block{Options: o, random: rand.New(rand.NewPCG(o.Seed, 0x626c6f636b))}
	if !o.Serial {
		return b.together(ctx, o.Variants)
	}
	for _, i := range b.random.Perm(len(o.Variants)) {
		if err := b.together(ctx, o.Variants[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

type block struct {
	Options
	random *rand.Rand
	wrote  map[*arm]bool // servers that may still be busy with what a step wrote
}

// together boots the servers of some variants, measures all steps on them and stops them.
func (b *block) together(ctx context.Context, variants []Variant) (err error) {
	var arms []*arm
	defer func() {
		for _, a := range arms {
			if stopErr := a.stop(err != nil && ctx.Err() == nil); stopErr != nil && err == nil {
				err = b.blame(a, stopErr)
			}
		}
	}()
	for _, i := range b.random.Perm(len(variants)) {
		b.Progress(engine.Progress{What: "boot " + variants[i].Name})
		a, err := b.boot(ctx, variants[i])
		if err != nil {
			return err
		}
		arms = append(arms, a)
		if err := b.bringAbout(ctx, a); err != nil {
			return err
		}
	}
	b.wrote = map[*arm]bool{}
	for _, s := range b.Steps {
		if err := b.step(ctx, s, arms); err != nil {
			return err
		}
	}
	return nil
}

func (b *block) step(ctx context.Context, s workload.Step, arms []*arm) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case s.Maintenance != "":
		return b.maintain(ctx, s, arms)
	}
	if err := b.dropCaches(ctx, arms); err != nil {
		return err
	}
	if s.Class == workload.Steady {
		return b.steady(ctx, s, arms)
	}
	return b.whole(ctx, s, arms)
}

// maintain runs an action between steps on every server, one after the other.
func (b *block) maintain(ctx context.Context, s workload.Step, arms []*arm) error {
	for _, a := range arms {
		b.Progress(engine.Progress{What: s.Maintenance + " on " + a.Name})
		b.writeBack(ctx, time.Now().Add(settleBudget)) // left alone, the kernel takes half a minute
		facts, err := workload.Maintain(ctx, workload.MaintainOptions{ConnString: a.server.ConnString(workload.Database), Tables: b.tables(),
			Vacuum: true, Checkpoint: true, Settle: settleBudget})
		if err != nil {
			return b.blame(a, fmt.Errorf("%s: %w", s.Maintenance, err))
		}
		fmt.Fprintf(b.Log, "%s: %s: vacuum %v, checkpoint %v, settle %v\n", a.Name, s.Maintenance, facts.Vacuum, facts.Checkpoint, facts.Settle)
		for _, unmet := range facts.Unmet {
			b.Warn("%s on %s: %s", s.Maintenance, a.Name, unmet)
		}
	}
	return nil
}

// settleBudget is how long the machine may take to become quiet after the maintenance.
const settleBudget = time.Minute

// tables that the steps use; nil means all of the database: nobody knows what a step of the user's own touches.
func (b *block) tables() []string {
	var tables []string
	for _, s := range b.Steps {
		switch {
		case s.Maintenance != "":
		case s.Workload == nil:
			return nil
		default:
			tables = s.Workload.Tables(s.Params)
		}
	}
	return tables
}

// seed of a step's clients: the same for every variant, so that all of them are asked for the same keys in the same order.
func (b *block) seed(step string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s", b.Seed, step)
	return h.Sum64()
}
