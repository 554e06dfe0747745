package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pgpipeline/pipeline/internal/redact"
	"pgpipeline/pipeline/internal/store"
)

// RunOptions is what running a plan depends on besides the plan.
type RunOptions struct {
	Store   *store.Store
	Runs    *store.Runs
	Machine *store.Machine
	Judge   Judge
	Sink    func(Event) // called from any goroutine, one call at a time
	Tool    string      // the tool's version, for the record
	Set     []string    // --set, for the record

	Jobs      int  // nodes at once
	KeepGoing bool // go on with what does not depend on a failed node
	Resume    *Record
	Fresh     map[string]bool
	AddBlocks int           // measure exactly so many more blocks
	Budget    time.Duration // replaces the time of the experiment's budget
	Blocks    int           // replaces its number of blocks; 0: does not
	Only      []string      // step globs
	Skip      []string
}

// NodeError is the failure of one node.
type NodeError struct {
	Node string
	Err  error
}

func (e *NodeError) Error() string { return e.Node + ": " + e.Err.Error() }
func (e *NodeError) Unwrap() error { return e.Err }

// Run executes the plan: first the nodes that are not cached, in dependency order, then block after block until every
// assertion is decided or the budget is spent. The record is on disk at every moment; it is returned also with an error.
func (p *Plan) Run(ctx context.Context, opt RunOptions) (*Record, error) {
	x := &executor{Plan: p, RunOptions: opt, done: map[*Node]chan struct{}{}, failed: map[*Node]error{}}
	if err := x.open(); err != nil {
		return nil, err
	}
	defer x.dir.Close()
	err := x.run(ctx)
	x.finish(ctx, err)
	return x.record, err
}

type executor struct {
	*Plan
	RunOptions
	dir    *store.Run
	record *Record
	pinned *store.Pins // entries in use, kept from the garbage collector

	mu     sync.Mutex // record, failed
	sinkMu sync.Mutex
	done   map[*Node]chan struct{}
	failed map[*Node]error
}

func (x *executor) open() error {
	var err error
	if x.Resume != nil {
		x.dir, err = x.Runs.Resume(x.Resume.ID)
	} else {
		x.dir, err = x.Runs.Create()
	}
	if err != nil {
		return err
	}
	if x.record, err = x.newRecord(); err != nil {
		return err
	}
	return x.save()
}

func (x *executor) run(ctx context.Context) error {
	if err := x.confirm(ctx); err != nil {
		return err
	}
	x.send(Event{Type: PlanReady, Nodes: x.record.Nodes})
	nodesErr := x.nodes(ctx)
	if nodesErr != nil && !x.KeepGoing {
		return nodesErr
	}
	return errors.Join(nodesErr, x.measure(ctx), x.derive(ctx))
}

// confirm checks every cached entry that will be used. A damaged one is a miss, and what it was made from is wanted again.
func (x *executor) confirm(ctx context.Context) error {
	if err := x.pin(ctx); err != nil {
		return err
	}
	for _, n := range x.Nodes {
		if n.State != Cached {
			continue
		}
		why, err := x.check(ctx, n)
		if err != nil {
			return err
		}
		if !why.OK() {
			n.State, n.Reason = Pending, "the cached entry is "+why.Text
			x.warn(n, "%s", n.Reason)
			x.revive(n)
		}
	}
	x.updateNodes()
	return x.save()
}

// pin keeps the entries of all nodes. What --fresh makes again must not vanish under another run that uses it: this run waits.
func (x *executor) pin(ctx context.Context) (err error) {
	byKey := map[string]*Node{}
	r := store.PinRequest{Run: x.record.ID, Waiting: func(key string, h store.Holder) {
		x.waiting(byKey[key].ID, byKey[key].Kind.Name, h)
	}}
	for _, n := range x.Nodes {
		byKey[n.Key] = n
		r.Keys = append(r.Keys, n.Key)
		if n.State == Pending && n.replace != "" {
			r.Replace = append(r.Replace, n.Key)
		}
	}
	x.pinned, err = x.Store.PinFor(ctx, r)
	return err
}

// check looks at the files of a cached entry and remembers which one it is, so that a damaged one is replaced and no other.
func (x *executor) check(ctx context.Context, n *Node) (store.Reason, error) {
	entry, why := x.Store.Lookup(n.Key)
	if entry == nil {
		return why, nil
	}
	// What programs are run from, and data that is measured, is compared byte by byte: hashing costs a second or two per GB, and
	// a flipped bit in either would be measured as if it were true.
	level := store.ByStat
	if n.Kind.Scope == Host {
		level = store.ByContent
	}
	why, err := x.Store.Check(ctx, entry, level)
	if !why.OK() {
		n.replace = entry.ID
	}
	return why, err
}

// revive makes the inputs of a node that has to run after all pending, where they have no entry.
func (x *executor) revive(n *Node) {
	for _, in := range n.Inputs {
		if in.Node.State == Unneeded {
			in.Node.State, in.Node.Reason = Pending, "needed to make "+n.ID+" again"
			x.revive(in.Node)
		}
	}
}

// finish writes the last word of the record.
func (x *executor) finish(ctx context.Context, err error) {
	x.mu.Lock()
	x.record.Ended = time.Now()
	switch {
	case ctx.Err() != nil:
		x.record.Status = "interrupted"
	case err != nil:
		x.record.Status, x.record.Error = "failed", redact.Values(err.Error())
	default:
		x.record.Status = "done"
	}
	x.mu.Unlock()
	if saveErr := x.save(); saveErr != nil && err == nil {
		x.send(Event{Type: Warning, Message: "the record could not be written: " + saveErr.Error()})
	}
	if x.pinned != nil {
		x.pinned.Close()
	}
	x.send(Event{Type: RunFinished, Status: x.record.Status, Message: x.record.Error})
}

func (x *executor) send(e Event) {
	if x.Sink == nil {
		return
	}
	x.sinkMu.Lock()
	defer x.sinkMu.Unlock()
	e.Time, e.Run, e.Message = time.Now(), x.record.ID, redact.Values(e.Message)
	x.Sink(e)
}

// update changes one node's part of the record under the lock.
func (x *executor) update(id string, change func(*NodeRecord)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range x.record.Nodes {
		if x.record.Nodes[i].ID == id {
			change(&x.record.Nodes[i])
			return
		}
	}
}

func (x *executor) warn(n *Node, format string, args ...any) {
	text := redact.Values(fmt.Sprintf(format, args...))
	x.update(n.ID, func(r *NodeRecord) { r.Warnings = append(r.Warnings, text) })
	x.send(Event{Type: Warning, Node: n.ID, Kind: n.Kind.Name, Message: text})
}
