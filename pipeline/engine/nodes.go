package engine

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc/pool"

	"pgpipeline/pipeline/internal/redact"
	"pgpipeline/pipeline/internal/store"
)

// nodes runs every pending node once its inputs are there. Independent ones run side by side, Jobs at a time.
func (x *executor) nodes(ctx context.Context) error {
	for _, n := range x.Nodes {
		x.done[n] = make(chan struct{})
	}
	slots := make(chan struct{}, max(1, x.Jobs))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := pool.New().WithErrors()
	for _, n := range x.Nodes {
		p.Go(func() error {
			defer close(x.done[n])
			err := x.node(ctx, n, slots)
			if err != nil {
				x.mu.Lock()
				x.failed[n] = err
				x.mu.Unlock()
				if !x.KeepGoing {
					cancel()
				}
			}
			return err
		})
	}
	return firstCause(p.Wait())
}

// firstCause drops the cancellations that one failure causes in its neighbours, and the skips of what depends on it.
func firstCause(err error) error {
	var kept []error
	for _, e := range flatten(err) {
		if !errors.Is(e, errSkipped) && !errors.Is(e, context.Canceled) {
			kept = append(kept, e)
		}
	}
	switch len(kept) {
	case 0:
		return err
	case 1:
		return kept[0]
	}
	return errors.Join(kept...)
}

// flatten takes joined errors apart, which the pool joins one by one.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, flatten(e)...)
	}
	return out
}

var errSkipped = errors.New("an input failed")

func (x *executor) node(ctx context.Context, n *Node, slots chan struct{}) error {
	for _, in := range n.Inputs {
		select {
		case <-x.done[in.Node]:
		case <-ctx.Done():
			return x.skip(n, ctx.Err())
		}
		x.mu.Lock()
		failed := x.failed[in.Node]
		x.mu.Unlock()
		if failed != nil {
			return x.skip(n, errSkipped)
		}
	}
	if n.State != Pending {
		return nil
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return x.skip(n, ctx.Err())
	}
	return x.timed(ctx, n)
}

func (x *executor) skip(n *Node, why error) error {
	if n.State == Pending {
		x.update(n.ID, func(r *NodeRecord) { r.Status = "skipped" })
	}
	return why
}

// timed runs a node and writes down what became of it.
func (x *executor) timed(ctx context.Context, n *Node) error {
	began := time.Now()
	x.update(n.ID, func(r *NodeRecord) { r.Status, r.Started = "running", began })
	x.send(Event{Type: NodeStarted, Node: n.ID, Kind: n.Kind.Name, Reason: n.Reason, Expected: n.Expected})
	err := x.make(ctx, n)
	if n.replace != "" {
		x.pinned.Replaced(n.Key)
	}
	status, text := "done", ""
	switch {
	case err != nil && ctx.Err() != nil:
		status = "interrupted"
	case err != nil:
		status, text = "failed", redact.Values(err.Error())
		err = &NodeError{Node: n.ID, Err: err}
	}
	seconds := time.Since(began).Seconds()
	x.update(n.ID, func(r *NodeRecord) { r.Status, r.Seconds, r.Error = status, seconds, text })
	x.send(Event{Type: NodeFinished, Node: n.ID, Kind: n.Kind.Name, Status: status, Seconds: seconds, Message: text})
	if saveErr := x.save(); saveErr != nil && err == nil {
		err = saveErr
	}
	return err
}

// make fills a new entry with what the stage makes.
func (x *executor) make(ctx context.Context, n *Node) error {
	pending, _, err := x.Store.Create(ctx, store.Request{Key: n.Key, Recipe: n.Recipe, Replace: n.replace, Run: x.record.ID, What: n.ID,
		Waiting: func(h store.Holder) { x.waiting(n.ID, n.Kind.Name, h) }})
	if err != nil || pending == nil { // another run made it while we waited
		return err
	}
	defer pending.Abort()
	if n.Kind.Heavy {
		lock, err := x.machine(ctx, n.ID, n.Kind.Name, false)
		if err != nil {
			return err
		}
		defer lock.Unlock()
	}
	log, path, err := x.dir.OpenLog(n.ID)
	if err != nil {
		return err
	}
	defer log.Close()
	x.update(n.ID, func(r *NodeRecord) { r.Log = path })
	said := hiding(log)
	defer said.Close()
	env := x.env(n, pending, said)
	if env.Inputs, err = x.inputsOf(n); err != nil {
		return err
	}
	began := time.Now()
	if !pending.Replaces.OK() {
		x.update(n.ID, func(r *NodeRecord) { r.Reason = pending.Replaces.Text })
	}
	if err := n.Stage.Run(ctx, env); err != nil {
		return pending.Explain(err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	info := x.entryInfo(n)
	info.Seconds = time.Since(began).Seconds()
	_, err = pending.Commit(ctx, info)
	return err
}

// hiding is a log that shows no secrets. Without any, lines are written as they come.
func hiding(log io.Writer) io.WriteCloser {
	if !redact.Hides() {
		return openEnded{log}
	}
	return redact.Writer(log)
}

type openEnded struct{ io.Writer }

func (openEnded) Close() error { return nil }

// machine takes the machine's lock: shared for what would disturb a measurement, exclusive for a measurement.
func (x *executor) machine(ctx context.Context, id, kind string, exclusive bool) (*store.Held, error) {
	return x.Machine.Lock(ctx, store.LockRequest{Exclusive: exclusive, Run: x.record.ID, What: id,
		Waiting: func(h []store.Holder) { x.waiting(id, kind, h...) }})
}

func (x *executor) entryInfo(n *Node) store.Info {
	info := store.Info{Kind: n.Kind.Name, Label: n.ID, Run: x.record.ID, Reason: n.Reason, Facts: map[string]string{}}
	for _, in := range n.Inputs {
		info.Needs = append(info.Needs, in.Node.Key)
	}
	x.update(n.ID, func(r *NodeRecord) {
		maps.Copy(info.Facts, r.Facts)
		info.Warnings = slices.Clone(r.Warnings)
	})
	return info
}

func (x *executor) env(n *Node, pending *store.Pending, log io.Writer) *Env {
	return &Env{
		Dir: pending.Dir, Scratch: pending.Scratch, Host: x.Host, Log: log,
		Progress: func(pr Progress) {
			x.send(Event{Type: NodeProgress, Node: n.ID, Kind: n.Kind.Name, Progress: &pr})
		},
		Warn:   func(format string, args ...any) { x.warn(n, format, args...) },
		Record: func(Measurement) {},
		Fact: func(name, value string) {
			x.update(n.ID, func(r *NodeRecord) {
				if r.Facts == nil {
					r.Facts = map[string]string{}
				}
				r.Facts[name] = redact.Values(value)
			})
		},
	}
}

// inputsOf are the entries that a node's inputs became.
func (x *executor) inputsOf(n *Node) (map[string]Input, error) {
	out := map[string]Input{}
	for _, in := range n.Inputs {
		if _, have := out[in.Take.Kind]; have { // merged cells: any of them is as good
			continue
		}
		input, err := x.input(in.Node)
		if err != nil {
			return nil, err
		}
		out[in.Take.Kind] = input
	}
	return out, nil
}

func (x *executor) input(n *Node) (Input, error) {
	entry, why := x.Store.Lookup(n.Key)
	if entry == nil {
		return Input{}, &store.Error{Kind: store.Vanished, Op: "use what " + n.ID + " made", Path: x.Store.Dir(),
			Err: errors.New("it is gone: " + why.Text), Hint: "something removed it while it was in use; run again"}
	}
	return Input{Kind: n.Kind.Name, Key: n.Key, Dir: entry.Dir(), Params: n.Stage}, nil
}

func (x *executor) waiting(id, kind string, holders ...store.Holder) {
	names := make([]string, len(holders))
	for i, h := range holders {
		names[i] = h.String()
	}
	x.send(Event{Type: NodeWaiting, Node: id, Kind: kind, Message: strings.Join(names, ", ")})
}
