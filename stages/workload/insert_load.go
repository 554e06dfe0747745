package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pgpipeline/stages/driver"
)

// loadInsert makes the data as it is after a step of the sequence. Rows of l.i0 come by COPY and the primary key is built afterwards,
// which leaves the same pages as inserts in key order do, and the indexes of l.x are built as l.x does. What l.i1 and l.i2 leave
// depends on how it came about, so they really run. A load ends with vacuum and checkpoint, which the original has only before its queries.
func loadInsert(ctx context.Context, o LoadOptions) (LoadFacts, error) {
	if o.Through == "" {
		o.Through = "l.x"
	}
	facts := LoadFacts{Rows: o.Rows, Tables: insertTableCount(o.Params)}
	at := slices.Index(InsertOrder, o.Through)
	if at < 0 {
		return facts, fmt.Errorf("load insert: through: unknown step %q; use one of %v", o.Through, InsertOrder)
	}
	tables := insertTables(o.Params)
	if at == 0 {
		facts.Rows, facts.Tables, tables = 0, 0, nil
		return facts, finishLoad(ctx, o, tables, &facts)
	}
	l := insertLoad{LoadOptions: o, db: o.ConnString(Database), start: time.Now(), indexes: at >= slices.Index(InsertOrder, "l.x")}
	err := each(ctx, len(tables), o.Jobs, func(ctx context.Context, i int) error {
		if err := l.table(ctx, i, tables[i]); err != nil {
			return fmt.Errorf("load %s: %w", tables[i], err)
		}
		return nil
	})
	if err != nil {
		return facts, err
	}
	facts.Copy = time.Duration(l.copied.Load())
	facts.Index = time.Since(l.start) - facts.Copy
	for _, more := range []struct {
		step  string
		kind  insertKind
		parts int64 // fifths of the additional rows
	}{{"l.i1", i1, 4}, {"l.i2", i2, 1}} {
		if at < slices.Index(InsertOrder, more.step) {
			break
		}
		l.Progress(more.step, 0, 0)
		if err := l.insertMore(ctx, more.kind, o.Insert.MoreRows*more.parts/5); err != nil {
			return facts, fmt.Errorf("load %s: %w", more.step, err)
		}
	}
	return facts, finishLoad(ctx, o, tables, &facts)
}

type insertLoad struct {
	LoadOptions
	db      string
	start   time.Time
	indexes bool
	copied  atomic.Int64 // ns from the start to the end of the last COPY
	rows    atomic.Int64
}

func (l *insertLoad) table(ctx context.Context, i int, name string) error {
	conn, err := pgconn.Connect(ctx, l.db)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	create := createInsertTable(name, l.Params)
	key := name + "_pkey"
	// The key is built after the rows.
	if err := run(ctx, conn, slices.Concat([]string{"SET maintenance_work_mem = '512MB'", "BEGIN"}, create,
		[]string{"ALTER TABLE " + name + " DROP CONSTRAINT " + key})...); err != nil {
		return err
	}
	options := "FORMAT binary"
	if l.Insert.Partitions == 0 {
		options += ", FREEZE" // partitioned tables take no frozen rows
	}
	stream := newSaleStream(l.Seed, i, l.Insert.Schema, l.Rows)
	stream.progress = func(n int64) {
		l.Progress("copy rows", float64(l.rows.Add(n)), float64(l.Rows*int64(insertTableCount(l.Params))))
	}
	if _, err := conn.CopyFrom(ctx, stream, "COPY "+name+" ("+saleColumns+") FROM STDIN WITH ("+options+")"); err != nil {
		return err
	}
	if err := run(ctx, conn, "COMMIT"); err != nil {
		return err
	}
	l.copied.Store(max(l.copied.Load(), int64(time.Since(l.start))))
	l.Progress("index "+name, 0, 0)
	sql := []string{"ALTER TABLE " + name + " ADD CONSTRAINT " + key + " PRIMARY KEY (transactionid)",
		fmt.Sprintf("SELECT setval('%s_transactionid_seq', %d)", name, l.Rows)}
	if l.indexes {
		sql = append(sql, createInsertIndexes(name, l.Insert.Schema)...)
	}
	return run(ctx, conn, sql...)
}

// insertMore inserts a number of rows into each table as a step does that is measured.
func (l *insertLoad) insertMore(ctx context.Context, k insertKind, rows int64) error {
	if rows <= 0 {
		return fmt.Errorf("%d more rows are too few to be inserted by two steps", l.Insert.MoreRows)
	}
	b := Build{Params: l.Params, Seed: l.Seed}
	b.Insert.Work = rows
	session, err := driver.Open(ctx, driver.Options{Target: driver.Target{ConnString: l.db}, Clients: k.connections(b.Params), Seed: l.Seed,
		Program: k.programs(b)})
	if err != nil {
		return err
	}
	_, err = session.Work(ctx, MaxWork)
	return errors.Join(err, session.Close())
}
