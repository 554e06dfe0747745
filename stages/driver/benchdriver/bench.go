package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"text/tabwriter"

	"pgpipeline/stages/driver"
	"pgpipeline/stages/postgres"
)

// measurement is one run of one tool.
type measurement struct {
	qps float64
	cpu float64 // microseconds of client CPU per query
	// user is the part of cpu outside of the kernel.
	user float64
}

// setting is what is measured alike for every tool.
type setting struct {
	step    string
	clients int
	cpus    []int // of the client
}

const serverConf = "shared_buffers = 512MB\nmax_connections = 100\njit = off\nmax_wal_size = 4GB\nautovacuum = off\nsynchronous_commit = off\n"

// loadConf is what a load may do without, for both tools alike.
const loadConf = "fsync = off\nfull_page_writes = off\nwal_level = minimal\nmax_wal_senders = 0\n"

// compare runs all settings on one data directory, restarting the server between placements.
func compare(ctx context.Context, c config, out io.Writer) (err error) {
	install, err := postgres.Open(c.server)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "benchdriver")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // the server's account must get through
		return err
	}
	data := filepath.Join(dir, "data")
	if err := install.InitDB(ctx, data, postgres.InitOptions{NoSync: true}); err != nil {
		return err
	}
	if c.load {
		return withServer(ctx, install, data, serverConf+loadConf, nil, func(server *postgres.Server) error {
			return compareLoads(ctx, c, install, server, out)
		})
	}
	return compareClients(ctx, c, install, data, out)
}

// withServer runs f with a server on the data directory.
func withServer(ctx context.Context, install postgres.Install, data, conf string, cpus []int, f func(*postgres.Server) error) (err error) {
	server, err := postgres.Start(ctx, postgres.Config{Install: install, DataDir: data, Conf: conf, CPUs: cpus})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	return f(server)
}

// compareClients loads once and measures under each placement.
func compareClients(ctx context.Context, c config, install postgres.Install, data string, out io.Writer) error {
	if release, err := driver.HoldLatency(); err == nil {
		defer release()
	}
	stop, err := startProfile(c.profile)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(out, "server %s, %d rows, %d rounds of %d s, medians; the order of the tools turns from round to round\n", install.Version, c.rows, c.rounds, c.seconds)
	for i, placement := range c.placements {
		b := bench{config: c, out: out, fresh: i == 0, placement: placement}
		if placement == "same-core" {
			b.cpus = []int{0}
		}
		if err := withServer(ctx, install, data, serverConf, b.cpus, func(server *postgres.Server) error { return b.run(ctx, server) }); err != nil {
			return err
		}
	}
	return nil
}

func startProfile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { pprof.StopCPUProfile(); f.Close() }, nil
}

// bench is the measurements under one placement.
type bench struct {
	config
	out       io.Writer
	fresh     bool // the server has no data yet
	placement string
	cpus      []int
}

func (b bench) run(ctx context.Context, server *postgres.Server) error {
	if b.fresh {
		if err := loadOurs(ctx, server, b.rows); err != nil {
			return err
		}
	}
	t := newTools(b.config, server)
	defer t.close()
	if err := t.calibrate(ctx, b.cpus); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\nplacement %s\n", b.placement)
	table := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "step\tclients\t")
	for _, name := range b.tools {
		fmt.Fprintf(table, "%s qps\tCPU us/q\t", name)
	}
	fmt.Fprintln(table)
	var rows []row
	for _, step := range b.steps {
		for _, clients := range b.clients {
			r, err := b.row(ctx, t, setting{step, clients, b.cpus})
			if err != nil {
				return err
			}
			b.print(table, r)
			rows = append(rows, r)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return b.explain(ctx, t, rows)
}

// row measures one setting with all tools, in an order that turns by one from round to round.
func (b bench) row(ctx context.Context, t *tools, s setting) (row, error) {
	r := row{s, make([][]measurement, len(b.tools))}
	for round := range b.rounds {
		for i := range b.tools {
			i = (i + round) % len(b.tools)
			m, err := t.measure(ctx, b.tools[i], s)
			if err != nil {
				return r, fmt.Errorf("%s, %s, %d clients: %w", b.tools[i], s.step, s.clients, err)
			}
			r.results[i] = append(r.results[i], m)
		}
	}
	return r, nil
}

// print writes the medians of a row.
func (b bench) print(table io.Writer, r row) {
	fmt.Fprintf(table, "%s\t%d\t", r.step, r.clients)
	for _, list := range r.results {
		fmt.Fprintf(table, "%.0f\t%.2f\t", median(list, qps), median(list, cpu))
	}
	fmt.Fprintln(table)
}

func median(list []measurement, of func(measurement) float64) float64 {
	var values []float64
	for _, m := range list {
		values = append(values, of(m))
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
