package workload

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"
)

// LoadOptions say what to load and where.
type LoadOptions struct {
	// ConnString returns how to connect to a database of the server.
	ConnString func(db string) string
	Workload   string // name
	Params
	// Seed of all data: the same seed gives the same rows, whatever Jobs is.
	Seed uint64
	// Jobs is the number of connections that fill tables and build indexes; 0: one per CPU.
	Jobs int
	// RangeRows is the number of rows from which on a part of a table may have a connection of its own, when there are more jobs
	// than tables; 0: 250,000. Below, the one connection that also creates the table is quicker, because it may skip the log and
	// freeze the rows.
	RangeRows int64
	// Progress is called from several goroutines; nil: nobody wants to know.
	Progress func(what string, done, total float64)
	// Through is the step up to which data is made, for workloads whose load is a sequence of steps; "" makes all of it.
	Through string
}

// LoadFacts is what a load reports.
type LoadFacts struct {
	Rows   int64         `json:"rows"`
	Tables int           `json:"tables"`
	Copy   time.Duration `json:"copy_ns"`   // until the last row was there
	Index  time.Duration `json:"index_ns"`  // building indexes, after the last row
	Vacuum time.Duration `json:"vacuum_ns"` // vacuum, analyze, checkpoint
	Bytes  int64         `json:"bytes"`     // size of the database
}

// Load makes a new database and fills it. What a failed load leaves behind is of no use.
func Load(ctx context.Context, o LoadOptions) (LoadFacts, error) {
	w, err := byName(o.Workload)
	if err != nil {
		return LoadFacts{}, err
	}
	if o.Tables < 1 || o.Rows < 1 {
		return LoadFacts{}, fmt.Errorf("load %s: %d tables of %d rows: both must be positive", w.Name, o.Tables, o.Rows)
	}
	if o.RangeRows == 0 {
		o.RangeRows = 250_000
	}
	if o.Jobs == 0 {
		o.Jobs = runtime.NumCPU()
	}
	if o.Progress == nil {
		o.Progress = func(string, float64, float64) {}
	}
	if err := execute(ctx, o.ConnString("postgres"), "CREATE DATABASE "+Database); err != nil {
		return LoadFacts{}, err
	}
	return w.Load(ctx, o)
}

func byName(name string) (*Workload, error) {
	var names []string
	for _, w := range All {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	return nil, fmt.Errorf("unknown workload %q; there are %v", name, names)
}

// finishLoad brings the statistics and the files of the tables into a settled state.
func finishLoad(ctx context.Context, o LoadOptions, tables []string, facts *LoadFacts) error {
	start := time.Now()
	db := o.ConnString(Database)
	if err := vacuum(ctx, db, tables, o.Jobs); err != nil {
		return err
	}
	if err := execute(ctx, db, "CHECKPOINT"); err != nil {
		return err
	}
	facts.Vacuum = time.Since(start)
	var err error
	facts.Bytes, err = queryInt(ctx, db, "SELECT pg_database_size(current_database())")
	return err
}

// execute runs statements on a connection of their own.
func execute(ctx context.Context, connString string, statements ...string) error {
	conn, err := pgconn.Connect(ctx, connString)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return run(ctx, conn, statements...)
}

// run executes statements one after another.
func run(ctx context.Context, conn *pgconn.PgConn, statements ...string) error {
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
			return fmt.Errorf("%q: %w", sql, err)
		}
	}
	return nil
}

// queryInt returns the single number that a query yields.
func queryInt(ctx context.Context, connString, sql string) (int64, error) {
	conn, err := pgconn.Connect(ctx, connString)
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return selectInt(ctx, conn, sql)
}

func selectInt(ctx context.Context, conn *pgconn.PgConn, sql string) (int64, error) {
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return 0, fmt.Errorf("%q: %w", sql, err)
	}
	var n int64
	if len(results) != 1 || len(results[0].Rows) != 1 {
		return 0, fmt.Errorf("%q: one row expected", sql)
	}
	if _, err := fmt.Sscan(string(results[0].Rows[0][0]), &n); err != nil {
		return 0, fmt.Errorf("%q: %w", sql, err)
	}
	return n, nil
}

// each runs f for 0 to n-1, at most jobs at a time, until one fails.
func each(ctx context.Context, n, jobs int, f func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, jobs))
	for i := range n {
		g.Go(func() error { return f(ctx, i) })
	}
	return g.Wait()
}
