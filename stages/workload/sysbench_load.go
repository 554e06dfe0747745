package workload

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pgpipeline/stages/driver"
)

// maxRows is what an id of type integer can number, with room for what the insert step adds.
const maxRows = 2_000_000_000

// loadSysbench fills the tables: COPY first, indexes when a table is complete, vacuum and checkpoint at the end.
func loadSysbench(ctx context.Context, o LoadOptions) (LoadFacts, error) {
	facts := LoadFacts{Rows: o.Rows, Tables: o.Tables}
	if o.Rows > maxRows {
		return facts, fmt.Errorf("load sysbench: %d rows are more than an id of type integer can number; use more tables", o.Rows)
	}
	l := sysbenchLoad{LoadOptions: o, db: o.ConnString(Database), start: time.Now()}
	l.ranges = 1
	if o.Jobs > o.Tables {
		l.ranges = int(max(1, min(int64(o.Jobs/o.Tables), o.Rows/o.RangeRows)))
	}
	err := each(ctx, o.Tables, o.Jobs, func(ctx context.Context, i int) error {
		if err := l.table(ctx, i); err != nil {
			return fmt.Errorf("load %s: %w", tableName(i), err)
		}
		return nil
	})
	if err != nil {
		return facts, err
	}
	facts.Copy = time.Duration(l.copied.Load())
	facts.Index = time.Since(l.start) - facts.Copy
	return facts, finishLoad(ctx, o, sysbenchTables(o.Params), &facts)
}

type sysbenchLoad struct {
	LoadOptions
	db     string
	ranges int // per table
	start  time.Time
	copied atomic.Int64 // ns from the start to the end of the last COPY
	rows   atomic.Int64
}

func createTable(i int) string {
	return "CREATE TABLE " + tableName(i) + " (id SERIAL, k INTEGER DEFAULT 0 NOT NULL, " +
		"c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL)"
}

func (l *sysbenchLoad) table(ctx context.Context, i int) error {
	conn, err := pgconn.Connect(ctx, l.db)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if l.ranges == 1 {
		// In the transaction that creates the table rows can be frozen at once, and with wal_level=minimal they are not logged.
		err = run(ctx, conn, "BEGIN", createTable(i))
		if err == nil {
			err = l.copyRange(ctx, conn, i, 0)
		}
		if err == nil {
			err = run(ctx, conn, "COMMIT")
		}
	} else {
		err = run(ctx, conn, createTable(i))
		if err == nil {
			err = each(ctx, l.ranges, l.ranges, func(ctx context.Context, r int) error { return l.copyInParallel(ctx, i, r) })
		}
	}
	if err != nil {
		return err
	}
	l.copied.Store(max(l.copied.Load(), int64(time.Since(l.start))))
	return l.index(ctx, conn, i)
}

func (l *sysbenchLoad) copyInParallel(ctx context.Context, table, r int) error {
	conn, err := pgconn.Connect(ctx, l.db)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return l.copyRange(ctx, conn, table, r)
}

// copyRange fills the r-th range of a table.
func (l *sysbenchLoad) copyRange(ctx context.Context, conn *pgconn.PgConn, table, r int) error {
	options := "FORMAT binary"
	if l.ranges == 1 {
		options += ", FREEZE"
	}
	first, last := l.Rows*int64(r)/int64(l.ranges)+1, l.Rows*int64(r+1)/int64(l.ranges)
	stream := newRowStream(l.Seed, table, l.Rows, first, last)
	stream.progress = func(rows int64) {
		l.Progress("copy rows", float64(l.rows.Add(rows)), float64(l.Rows*int64(l.Tables)))
	}
	_, err := conn.CopyFrom(ctx, stream, "COPY "+tableName(table)+" (id, k, c, pad) FROM STDIN WITH ("+options+")")
	return err
}

// index builds what the original has: the primary key or a plain index on id, and the index on k; and moves the sequence on.
func (l *sysbenchLoad) index(ctx context.Context, conn *pgconn.PgConn, i int) error {
	name := tableName(i)
	l.Progress("index "+name, 0, 0)
	id := "ALTER TABLE " + name + " ADD PRIMARY KEY (id)"
	if l.NoPrimaryKey {
		id = fmt.Sprintf("CREATE INDEX xid%d ON %s (id)", i+1, name)
	}
	return run(ctx, conn,
		"SET maintenance_work_mem = '512MB'",
		id,
		fmt.Sprintf("CREATE INDEX k_%d ON %s (k)", i+1, name),
		fmt.Sprintf("SELECT setval('%s_id_seq', %d)", name, l.Rows))
}

// rowStream is the data of a range of rows as COPY's binary format. Every row depends on seed, table and id alone.
type rowStream struct {
	seed, table uint64
	rows        int64 // of the table: k is uniform in 1..rows
	next, last  int64
	row         []byte // of the current id; its fixed parts are never written again
	buffer      []byte // what of it (or of header and trailer) was not read yet
	ended       bool
	progress    func(rows int64)
	unreported  int64
}

// copyHeader is the signature, flags and extension length of the format.
const copyHeader = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// Offsets in a row: column count, then for each column a length and its bytes.
const (
	idAt    = 2 + 4
	kAt     = idAt + 4 + 4
	cAt     = kAt + 4 + 4
	padAt   = cAt + cSize + 4
	rowSize = padAt + padSize
)

func newRowStream(seed uint64, table int, rows, first, last int64) *rowStream {
	s := &rowStream{seed: seed, table: uint64(table), rows: rows, next: first, last: last, row: make([]byte, rowSize)}
	binary.BigEndian.PutUint16(s.row, 4)
	binary.BigEndian.PutUint32(s.row[idAt-4:], 4)
	binary.BigEndian.PutUint32(s.row[kAt-4:], 4)
	binary.BigEndian.PutUint32(s.row[cAt-4:], cSize)
	binary.BigEndian.PutUint32(s.row[padAt-4:], padSize)
	s.buffer = []byte(copyHeader)
	return s
}

// reportEvery is the number of rows between two reports of progress.
const reportEvery = 10_000

func (s *rowStream) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(s.buffer) == 0 && !s.refill() {
			if n == 0 {
				return 0, io.EOF
			}
			break
		}
		copied := copy(p[n:], s.buffer)
		s.buffer = s.buffer[copied:]
		n += copied
	}
	return n, nil
}

// refill makes the next row, or the trailer after the last one.
func (s *rowStream) refill() bool {
	if s.next > s.last {
		if s.ended {
			return false
		}
		s.ended = true
		s.report()
		s.buffer = []byte{0xff, 0xff}
		return true
	}
	r := driver.NewRand(s.seed, s.table, uint64(s.next))
	binary.BigEndian.PutUint32(s.row[idAt:], uint32(s.next))
	binary.BigEndian.PutUint32(s.row[kAt:], uint32(r.Between(1, s.rows)))
	fillGroups(&r, s.row[cAt:cAt+cSize])
	fillGroups(&r, s.row[padAt:])
	s.buffer = s.row
	s.next++
	if s.unreported++; s.unreported == reportEvery {
		s.report()
	}
	return true
}

func (s *rowStream) report() {
	if s.progress != nil && s.unreported > 0 {
		s.progress(s.unreported)
	}
	s.unreported = 0
}
