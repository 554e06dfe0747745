package engine

import "context"

// derive runs the stages that only read what was measured, such as compare.
func (x *executor) derive(ctx context.Context) error {
	for _, n := range x.Derived {
		if err := x.timedDerived(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (x *executor) timedDerived(ctx context.Context, n *Node) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	log, _, err := x.dir.OpenLog(n.ID)
	if err != nil {
		return err
	}
	defer log.Close()
	env := &Env{Dir: x.dir.Dir, Host: x.Host, Log: log, Facets: x.record.Facets, Blocks: x.record.Blocks,
		Progress: func(Progress) {},
		Warn:     func(format string, args ...any) { x.warn(n, format, args...) },
		Fact:     func(name, value string) {}, Record: func(Measurement) {}}
	x.send(Event{Type: NodeStarted, Node: n.ID, Kind: n.Kind.Name})
	err = n.Stage.Run(ctx, env)
	status, text := "done", ""
	if err != nil {
		status, text = "failed", err.Error()
		err = &NodeError{Node: n.ID, Err: err}
	}
	x.update(n.ID, func(r *NodeRecord) { r.Status, r.Error = status, text })
	x.send(Event{Type: NodeFinished, Node: n.ID, Kind: n.Kind.Name, Status: status, Message: text})
	return err
}
