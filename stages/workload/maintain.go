package workload

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// MaintainOptions say how to bring a database back into a settled state.
type MaintainOptions struct {
	ConnString string // of the workload's database
	// Tables to vacuum; nil: all of the database that are not the server's own, for steps that belong to no known workload.
	Tables []string
	Jobs   int // tables vacuumed at the same time; 0: one per CPU
	// Vacuum runs VACUUM ANALYZE on the tables (with INDEX_CLEANUP from version 12 on), Checkpoint a checkpoint.
	Vacuum, Checkpoint bool
	// Settle waits until the server's autovacuum is idle and the machine's dirty pages are few, at most so long; 0 does not wait.
	Settle time.Duration
}

// MaintainFacts is what maintenance took and what it could not achieve.
type MaintainFacts struct {
	Vacuum, Checkpoint, Settle time.Duration
	// Unmet says which conditions did not hold when the budget was spent.
	Unmet []string
}

// dirtyLimitKB is what a quiet machine has: below, write-back is not seen in measurements.
const dirtyLimitKB = 16 << 10

// Maintain is the "postwrite" of the published runs: vacuum all tables at the same time, then checkpoint, then let the disk
// settle. The published scripts sleep for 60 s and a second per million rows; here the conditions themselves are waited for.
func Maintain(ctx context.Context, o MaintainOptions) (MaintainFacts, error) {
	var facts MaintainFacts
	if o.Jobs == 0 {
		o.Jobs = runtime.NumCPU()
	}
	start := time.Now()
	if o.Vacuum {
		tables, err := o.Tables, error(nil)
		if tables == nil {
			tables, err = userTables(ctx, o.ConnString)
		}
		if err == nil {
			err = vacuum(ctx, o.ConnString, tables, o.Jobs)
		}
		if err != nil {
			return facts, err
		}
		facts.Vacuum = time.Since(start)
	}
	start = time.Now()
	if o.Checkpoint {
		if err := execute(ctx, o.ConnString, "CHECKPOINT"); err != nil {
			return facts, err
		}
		facts.Checkpoint = time.Since(start)
	}
	start = time.Now()
	if o.Settle > 0 {
		unmet, err := settle(ctx, o)
		if err != nil {
			return facts, err
		}
		facts.Settle, facts.Unmet = time.Since(start), unmet
	}
	return facts, nil
}

// vacuum vacuums and analyzes tables, several at a time.
func vacuum(ctx context.Context, connString string, tables []string, jobs int) error {
	version, err := queryInt(ctx, connString, "SHOW server_version_num")
	if err != nil {
		return err
	}
	options := "ANALYZE"
	if version >= 120000 {
		options += ", INDEX_CLEANUP ON"
	}
	return each(ctx, len(tables), jobs, func(ctx context.Context, i int) error {
		return execute(ctx, connString, "VACUUM ("+options+") "+tables[i])
	})
}

// userTables are the tables and materialized views of the database, ready to stand in a statement. Partitions are left to their
// tables, whose statistics an autovacuum never makes.
func userTables(ctx context.Context, connString string) ([]string, error) {
	conn, err := pgconn.Connect(ctx, connString)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	const sql = `SELECT format('%I.%I', nspname, relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
		WHERE relkind IN ('r', 'p', 'm') AND NOT relispartition AND relpersistence <> 't'
		AND nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY 1`
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	var names []string
	for _, row := range results[0].Rows {
		names = append(names, string(row[0]))
	}
	return names, nil
}

// settle polls until nothing is left to wait for, and returns what was left when the time was over.
func settle(ctx context.Context, o MaintainOptions) (unmet []string, err error) {
	conn, err := pgconn.Connect(ctx, o.ConnString)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(o.Settle)
	for {
		if unmet, err = unsettled(ctx, conn); err != nil || len(unmet) == 0 {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-deadline:
			return unmet, nil
		case <-tick.C:
		}
	}
}

// unsettled says which conditions do not hold now.
func unsettled(ctx context.Context, conn *pgconn.PgConn) ([]string, error) {
	var unmet []string
	workers, err := selectInt(ctx, conn, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'")
	if err != nil {
		return nil, err
	}
	if workers > 0 {
		unmet = append(unmet, "autovacuum idle ("+strconv.FormatInt(workers, 10)+" workers run)")
	}
	if kB, known := dirtyKB(); known && kB > dirtyLimitKB {
		unmet = append(unmet, "dirty pages written ("+strconv.FormatInt(kB>>10, 10)+" MB are left)")
	}
	return unmet, nil
}

// dirtyKB is the size of the machine's pages that wait for write-back or are in it.
func dirtyKB() (kB int64, known bool) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) >= 2 && (f[0] == "Dirty:" || f[0] == "Writeback:") {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return 0, false
			}
			kB += n
			known = true
		}
	}
	return kB, known
}
