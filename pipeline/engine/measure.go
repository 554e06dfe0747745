package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"pgpipeline/pipeline/internal/redact"
	"pgpipeline/pipeline/internal/store"
)

// measure runs blocks, one facet after the other and round again, so that the blocks of one facet lie as far apart in time as
// the budget allows, until the judge wants no more.
func (x *executor) measure(ctx context.Context) error {
	var open []*facetRun
	var errs []error
	for _, f := range x.Facets {
		fr, err := x.openFacet(f)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		open = append(open, fr)
	}
	for len(open) > 0 && ctx.Err() == nil {
		still := open[:0]
		for _, f := range open {
			more, err := f.next(ctx)
			if err != nil {
				errs = append(errs, err)
				if !x.KeepGoing {
					return errors.Join(errs...)
				}
				continue
			}
			if more {
				still = append(still, f)
			}
		}
		open = still
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// A facetRun is the measuring of one facet in this run.
type facetRun struct {
	*executor
	*FacetPlan
	evidence []BlockRecord // complete blocks of the current series
	measured int           // by this process
	earlier  int           // by this run before it was resumed
	spent    time.Duration
	variants []Variant
}

func (x *executor) openFacet(f *FacetPlan) (*facetRun, error) {
	fr := &facetRun{executor: x, FacetPlan: f}
	for _, n := range f.nodes() {
		if err := x.failed[n]; err != nil {
			return nil, fmt.Errorf("%s cannot be measured: %w", f.ID(), errSkipped)
		}
	}
	for i, info := range f.Facet.Variants {
		v := Variant{Name: info.Name, Base: info.Base, Cell: info.Cell, Inputs: map[string]Input{}}
		for kind, n := range f.inputs[i] {
			in, err := x.input(n)
			if err != nil {
				return nil, err
			}
			v.Inputs[kind] = in
		}
		fr.variants = append(fr.variants, v)
	}
	return fr, fr.gather()
}

// gather finds the blocks that this run and earlier ones measured of the same thing.
func (f *facetRun) gather() error {
	series := f.Facet.Series
	for _, b := range f.record.Blocks {
		if b.EvidenceKey == f.Facet.EvidenceKey && b.Complete && b.Series == series {
			f.evidence = append(f.evidence, b)
		}
		if b.Run == f.record.ID && b.EvidenceKey == f.Facet.EvidenceKey && b.Complete {
			f.spent += b.Ended.Sub(b.Started)
			f.earlier++
		}
	}
	return nil
}

// next measures one more block if it is wanted.
func (f *facetRun) next(ctx context.Context) (more bool, err error) {
	steps, why := f.wanted()
	if len(steps) == 0 {
		f.send(Event{Type: BlockFinished, Node: f.ID(), Message: why, Block: len(f.evidence), Blocks: f.Facet.MaxBlocks, Status: "decided"})
		return false, nil
	}
	block := f.newBlock()
	f.send(Event{Type: BlockStarted, Node: f.ID(), Kind: f.Kind.Name, Block: block.Number, Blocks: f.Facet.MaxBlocks, Steps: steps,
		Expected: f.forecast(steps), TimeLeft: f.timeLeft()})
	err = f.block(ctx, block, steps)
	block.Ended = time.Now()
	block.Complete = err == nil && ctx.Err() == nil
	if saveErr := f.keep(block); saveErr != nil {
		return false, saveErr
	}
	f.measured++
	f.spent += block.Ended.Sub(block.Started)
	_, why = f.wanted()
	f.send(Event{Type: BlockFinished, Node: f.ID(), Kind: f.Kind.Name, Block: block.Number, Blocks: f.Facet.MaxBlocks, Message: why,
		Seconds: block.Ended.Sub(block.Started).Seconds(), Status: blockStatus(block)})
	if err == nil || ctx.Err() != nil {
		return true, ctx.Err()
	}
	var side *SideError
	switch known := errors.As(err, &side); {
	case known && side.Side == "outside": // the measurement is invalid; the stage is as good as it was
		return false, fmt.Errorf("%s: %w", f.ID(), err)
	case known: // a verdict, not a broken stage: the judge says what it means
		f.send(Event{Type: Warning, Node: f.ID(), Kind: f.Kind.Name, Message: side.Error()})
		return false, nil
	}
	return false, &NodeError{Node: f.ID(), Err: err}
}

func blockStatus(b *BlockRecord) string {
	if b.Complete {
		return "done"
	}
	return "interrupted"
}

// wanted says which steps the next block measures. Every run measures at least one block, before or after it was resumed.
func (f *facetRun) wanted() (steps []string, why string) {
	judged, why := f.Judge.Wanted(f.Facet, f.evidence)
	if f.AddBlocks > 0 {
		if f.measured >= f.AddBlocks {
			return nil, fmt.Sprintf("%d blocks were added", f.measured)
		}
		return f.chosen(func(string) bool { return true }), why
	}
	begun := f.measured+f.earlier > 0
	if begun {
		if spent := f.overBudget(); spent != "" {
			return nil, why + "; " + spent
		}
	}
	counts := f.blocksByStep()
	want := func(step string) bool {
		asked, asserted := judged[step]
		return asserted && asked || !asserted && counts[step] < f.Facet.MinBlocks
	}
	steps = f.chosen(want)
	if len(steps) == 0 && !begun {
		steps = f.chosen(func(string) bool { return true })
	}
	return steps, why
}

// limits are the budget of the experiment, or what the command line says in its place.
func (f *facetRun) limits() Budget {
	limit := f.Stage.Limits()
	if f.Budget > 0 {
		limit.Time = f.Budget
	}
	if f.Blocks > 0 {
		limit.MaxBlocks = f.Blocks
	}
	return limit
}

// timeLeft is what the time budget still has, in seconds; 0: there is no limit.
func (f *facetRun) timeLeft() float64 {
	limit := f.limits().Time
	if limit <= 0 || f.AddBlocks > 0 {
		return 0
	}
	return max(0.001, (limit - f.spent).Seconds())
}

func (f *facetRun) overBudget() string {
	limit := f.limits()
	switch {
	case len(f.evidence) >= limit.MaxBlocks:
		return fmt.Sprintf("the budget of %d blocks is spent", limit.MaxBlocks)
	case limit.Time > 0 && f.spent >= limit.Time:
		return fmt.Sprintf("the budget of %v is spent", limit.Time)
	}
	return ""
}

func (f *facetRun) newBlock() *BlockRecord {
	number := 1
	for _, b := range f.record.Blocks {
		if b.EvidenceKey == f.Facet.EvidenceKey && b.Series == f.Facet.Series && b.Number >= number {
			number = b.Number + 1
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%s/%d", f.record.ID, f.Facet.Stage, f.Facet.Name, number))
	return &BlockRecord{Run: f.record.ID, Facet: f.Facet.Name, Stage: f.Facet.Stage, EvidenceKey: f.Facet.EvidenceKey,
		Series: f.Facet.Series, Number: number, Seed: binary.BigEndian.Uint64(sum[:8]), Started: time.Now()}
}

// block runs the measured stage once. It has the machine to itself.
func (f *facetRun) block(ctx context.Context, b *BlockRecord, steps []string) error {
	lock, err := f.machine(ctx, f.ID(), f.Kind.Name, true)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	b.Started = time.Now()
	if err := f.announce(b); err != nil {
		return err
	}
	// A pending entry that is never committed: private, beside the data it is copied from, and swept up if we are killed.
	pending, _, err := f.Store.Create(ctx, store.Request{Key: keyOf(fmt.Sprint("block ", b.Seed)), Run: f.record.ID, What: f.ID()})
	if err != nil {
		return err
	}
	defer pending.Abort()
	log, _, err := f.dir.OpenLog(f.ID())
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Fprintf(log, "--- block %d, %s\n", b.Number, b.Started.Format(time.RFC3339))
	said := hiding(log)
	defer said.Close()
	err = pending.Explain(f.Stage.Run(ctx, f.blockEnv(b, steps, pending.Scratch, said)))
	if err != nil {
		b.Error = redact.Values(err.Error())
		var side *SideError
		var infra *store.Error
		// What the user stopped, or the disk, is no fault of what is measured: the block is measured again.
		if errors.As(err, &side) && ctx.Err() == nil && !errors.As(err, &infra) {
			b.ErrorSide = side.Side
		}
	}
	return err
}

func (f *facetRun) blockEnv(b *BlockRecord, steps []string, scratch string, log io.Writer) *Env {
	local := make([]string, len(steps))
	for i, s := range steps {
		local[i] = f.localStep(s)
	}
	return &Env{
		Dir: f.dir.Dir, Scratch: scratch, Variants: f.variants, Host: f.Host, Log: log,
		Block: Block{Number: b.Number, Seed: b.Seed, Steps: local},
		Progress: func(pr Progress) {
			f.send(Event{Type: NodeProgress, Node: f.ID(), Kind: f.Kind.Name, Progress: &pr, Block: b.Number})
		},
		Warn: func(format string, args ...any) {
			text := redact.Values(fmt.Sprintf(format, args...))
			f.mu.Lock()
			b.Warnings = append(b.Warnings, text)
			f.mu.Unlock()
			f.send(Event{Type: Warning, Node: f.ID(), Kind: f.Kind.Name, Message: text})
		},
		Record: func(m Measurement) {
			m.Step = f.qualified(m.Step)
			f.mu.Lock()
			b.Measurements = append(b.Measurements, m)
			f.mu.Unlock()
		},
		Fact: func(name, value string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if name == "serial" {
				b.Serial = value == "true"
			}
		},
	}
}

// keep writes a block down and counts it.
func (f *facetRun) keep(b *BlockRecord) error {
	f.mu.Lock()
	f.record.Blocks = append(f.record.Blocks, *b)
	f.mu.Unlock()
	if b.Complete {
		f.evidence = append(f.evidence, *b)
	}
	if err := f.saveBlock(b); err != nil {
		return err
	}
	f.mu.Lock()
	f.record.Open = nil
	f.mu.Unlock()
	return f.save()
}

// announce writes down that a block begins, so that it is known also when the process is killed meanwhile.
func (f *facetRun) announce(b *BlockRecord) error {
	open := *b
	f.mu.Lock()
	f.record.Open = &open
	f.mu.Unlock()
	return f.save()
}

// forecast is how long a block will take, from the last one or from what the steps say.
func (f *facetRun) forecast(steps []string) float64 {
	if n := len(f.evidence); n > 0 {
		last := f.evidence[n-1]
		return last.Ended.Sub(last.Started).Seconds()
	}
	return f.FacetPlan.Forecast(steps)
}

// Forecast is how many seconds one block with these steps takes at least; nil means all steps.
func (f *FacetPlan) Forecast(steps []string) float64 {
	want := map[string]bool{}
	for _, s := range steps {
		want[s] = true
	}
	const bootSeconds = 3 // copying the data and starting one server, small data
	seconds := 0.0
	for _, s := range f.Facet.Steps {
		if steps == nil || want[s.Name] {
			seconds += s.Seconds
		}
	}
	return (seconds + bootSeconds) * float64(len(f.Facet.Variants))
}

// SideError is an error of a measured block that has a culprit: the base, a candidate, or something outside.
type SideError struct {
	Side string // "base", "candidate:NAME" or "outside"
	Err  error
}

func (e *SideError) Error() string { return e.Err.Error() }
func (e *SideError) Unwrap() error { return e.Err }
