package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pgpipeline/stages/postgres"
	"pgpipeline/stages/workload"
)

// sysbenchDatabase is where sysbench prepares its tables.
const sysbenchDatabase = "prepared"

// compareLoads loads the same table with ours and with `sysbench prepare`, in turn, and prints the median rows per second of both.
// Ours includes the vacuum and the checkpoint that sysbench leaves to the user.
func compareLoads(ctx context.Context, c config, install postgres.Install, server *postgres.Server, out io.Writer) error {
	if _, err := fmt.Fprintf(out, "loading on server %s\n", install.Version); err != nil {
		return err
	}
	t := newTools(c, server)
	var ours, theirs []measurement
	for range c.rounds {
		start := time.Now()
		if err := loadOurs(ctx, server, c.rows); err != nil {
			return err
		}
		ours = append(ours, measurement{qps: float64(c.rows) / time.Since(start).Seconds()})
		if err := run(ctx, server, "postgres", "DROP DATABASE "+workload.Database, "CREATE DATABASE "+sysbenchDatabase); err != nil {
			return err
		}
		start = time.Now()
		if _, _, err := t.child(ctx, "sysbench", append(t.sysbenchArgs(setting{step: "read-only", clients: 1}),
			"--pgsql-db="+sysbenchDatabase, "prepare"), nil); err != nil {
			return err
		}
		theirs = append(theirs, measurement{qps: float64(c.rows) / time.Since(start).Seconds()})
		if err := run(ctx, server, "postgres", "DROP DATABASE "+sysbenchDatabase); err != nil {
			return err
		}
	}
	rate := func(m measurement) float64 { return m.qps }
	a, b := median(ours, rate), median(theirs, rate)
	_, err := fmt.Fprintf(out, "%d rows, %d rounds, medians: ours %.0f rows/s, sysbench prepare %.0f rows/s, %.1f times\n",
		c.rows, c.rounds, a, b, a/b)
	return err
}

func loadOurs(ctx context.Context, server *postgres.Server, rows int64) error {
	_, err := workload.Load(ctx, workload.LoadOptions{ConnString: server.ConnString, Workload: "sysbench", Seed: 1,
		Params: workload.Params{Tables: 1, Rows: rows}})
	return err
}

// run executes statements on a connection of their own.
func run(ctx context.Context, server *postgres.Server, db string, statements ...string) error {
	conn, err := pgconn.Connect(ctx, server.ConnString(db))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}
