package block

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/proc"
	"pgpipeline/stages/driver"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/sysstat"
	"pgpipeline/stages/workload"
)

// An arm is one variant at work: its own copy of the data, its own server.
type arm struct {
	Variant
	server *postgres.Server
	usage  *sysstat.Sampler // of the server's processes
	device *sysstat.Device  // that holds the data; nil when unknown
}

// boot restores the data and starts the server.
func (b *block) boot(ctx context.Context, v Variant) (*arm, error) {
	a := &arm{Variant: v}
	account, err := proc.Unprivileged()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(b.Scratch, fmt.Sprintf("data-%x", b.random.Uint32()))
	began := time.Now()
	how, err := postgres.CopyData(ctx, v.Data, data, postgres.CopyOptions{As: account})
	if err != nil {
		return nil, &engine.SideError{Side: "outside", Err: fmt.Errorf("restore the data of %s: %w", v.Name, err)}
	}
	fmt.Fprintf(b.Log, "%s: restored %v in %v\n", v.Name, how, time.Since(began).Round(time.Millisecond))
	began = time.Now()
	a.server, err = postgres.Start(ctx, postgres.Config{Install: v.Install, DataDir: data, Conf: v.Conf, Log: newVariantLog(v.Name, b.Log),
		CPUs: b.ServerCPUs, As: account, Env: v.Env})
	if err != nil {
		return nil, b.blame(a, err)
	}
	fmt.Fprintf(b.Log, "%s: server %s started in %v\n", v.Name, v.Install.Version, time.Since(began).Round(time.Millisecond))
	a.usage = sysstat.ServerTree(a.server.PID())
	if a.device, err = sysstat.DeviceOf(data); err != nil {
		b.Warn("%s: reads and writes of the disk are not known: %v", v.Name, err)
	}
	return a, nil
}

// stop ends the server: cleanly, unless the block has failed. Its data is thrown away, and on a full disk a clean stop would wait
// for a checkpoint that cannot be written.
func (a *arm) stop(failed bool) error {
	if a.server == nil {
		return nil
	}
	a.usage.Close()
	// The context of the run may have ended; the server is stopped all the same.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if failed {
		cancel()
	}
	return a.server.Stop(ctx)
}

// session connects the clients of a step.
func (b *block) session(ctx context.Context, s workload.Step, a *arm) (client, error) {
	if s.Kind.Tool != nil {
		return b.tool(ctx, s, a)
	}
	seed := b.seed(s.Name)
	db := a.server.ConnString(workload.Database)
	if err := s.Prepare(ctx, db); err != nil {
		return nil, b.blame(a, fmt.Errorf("prepare %s on %s: %w", s.Name, a.Name, err))
	}
	session, err := driver.Open(ctx, driver.Options{
		Target:  driver.Target{ConnString: db, ServerPID: a.server.PID()},
		Clients: s.Connections(), CPUs: b.ClientCPUs, Seed: seed, Rate: s.Rate, Program: s.Programs(seed),
	})
	if err != nil {
		return nil, b.blame(a, fmt.Errorf("%s on %s: %w", s.Name, a.Name, err))
	}
	return session, nil
}
