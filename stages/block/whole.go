package block

import (
	"context"
	"errors"
	"fmt"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/workload"
)

// whole measures a step that writes: one uninterrupted stretch per variant, in random order, while the other servers idle.
// Slicing it would erase what it measures: autovacuum and checkpoints of one variant would catch up while another runs.
func (b *block) whole(ctx context.Context, s workload.Step, arms []*arm) error {
	runs := make([]*collector, len(arms))
	var err error
	for order, i := range b.random.Perm(len(arms)) {
		if runs[i], err = b.stretch(ctx, s, arms, i, order); err != nil {
			break
		}
	}
	var made []*collector
	for _, r := range runs {
		if r != nil {
			made = append(made, r)
		}
	}
	return b.give(made, err)
}

func (b *block) stretch(ctx context.Context, s workload.Step, arms []*arm, i, order int) (r *collector, err error) {
	a := arms[i]
	b.Progress(engine.Progress{What: fmt.Sprintf("%s on %s", s.Name, a.Name), Total: s.Duration.Seconds(), Unit: "s"})
	unmet, err := b.settle(ctx, arms, a)
	if err != nil {
		return nil, err
	}
	b.wrote[a] = true
	session, err := b.session(ctx, s, a)
	if err != nil {
		return nil, err
	}
	r = newCollector(b, s, a, session)
	r.unsettled(unmet)
	defer func() { err = errors.Join(err, session.Close()) }()
	r.begin(ctx)
	_, err = r.take(ctx, 0, order, s.Duration)
	r.end(ctx)
	if err == nil {
		err = r.compareEmpty(ctx)
	}
	if err == nil {
		err = r.profile(ctx)
	}
	return r, err
}
