package workload

import (
	"context"
	"fmt"
	"slices"

	"pgpipeline/stages/driver"
)

// insertBench is the insert benchmark: tables pi1..N that only grow at one end (and, with deletes, shrink at the other), three secondary
// indexes in random order, loads as fast as possible and then queries beside a fixed rate of inserts. Read on in insert_schema.go (tables
// and indexes), insert_data.go (rows), insert_clients.go (what each connection does), insert_load.go (snapshots).
//
// What differs from the scripts that it follows is said here:
//
//   - rates follow a schedule with intended starts, one statement at a time at even distances, and what a stall delayed is made up for;
//     the original releases each second's rows at once and never makes up. Response times count from the intended start;
//   - the same seed sends the same rows, timestamps included: those advance by a second per 1000 rows of a client;
//   - l.i1 and l.i2 run for the step's duration, or until `rows` are inserted when the step says so, as the original always does;
//   - queries are prepared by the protocol; the original uses PREPARE and EXECUTE as text. Inserts and deletes are text there and here;
//   - a client's rows are made between its statements: their cost is in the rate of a closed loop, as always, and in no latency.
var insertBench = &Workload{
	Name: "insert",
	Doc:  "tables pi1..N of the insert benchmark, its loads and its queries beside inserts",
	Kinds: slices.Concat(
		[]Kind{
			loadKind("l.i0", "INSERT in key order into empty tables that only have a primary key", i0),
			indexKind(),
			loadKind("l.i1", "INSERT as fast as possible, 50 rows per commit, secondary indexes in place", i1),
			loadKind("l.i2", "INSERT as fast as possible, 5 rows per commit", i2),
		},
		queryKinds(),
	),
	Lists: map[string]func(Params) []StepRef{
		"insert": func(Params) []StepRef {
			return refs(slices.Concat(insertLoads, []string{"l.i2", Postwrite}, queryOrder)...)
		},
		"insert-2023": func(Params) []StepRef {
			return refs(slices.Concat(insertLoads, []string{Postwrite, "q100", "q500", "q1000"})...)
		},
	},
	Tables: insertTables,
	Load:   loadInsert,
	Check:  checkInsert,
}

var (
	insertLoads = []string{"l.i0", "l.x", "l.i1"}
	// queryOrder is that of the scripts since 2024: range, then point queries, at rising insert rates.
	queryOrder = []string{"qr100.L1", "qp100.L2", "qr500.L3", "qp500.L4", "qr1000.L5", "qp1000.L6"}
)

// Operations of the insert benchmark's steps. Inserts and deletes are counted in rows.
const (
	opInsert = "insert"
	opDelete = "delete"
	opQuery  = "query"
)

// Insert says how the insert benchmark is run. The zero value is today's schema, a table per client, without deletes.
type Insert struct {
	Schema     string `json:"schema,omitempty"`     // "today" or "" (since December 2023), "2023" (before)
	Shared     bool   `json:"shared,omitempty"`     // all clients use table pi1
	Partitions int    `json:"partitions,omitempty"` // range partitions of each table; 0: none
	// MoreRows is the number of rows of each table that l.i1 (four fifths) and l.i2 insert when they are part of a load.
	MoreRows int64 `json:"more_rows,omitempty"`
	// DeletePerInsert deletes the oldest rows at the rate of the inserts, after l.x.
	DeletePerInsert bool `json:"delete_per_insert,omitempty"`
	// RowsPerCommit of the inserts; 0: the step's own.
	RowsPerCommit int `json:"rows_per_commit,omitempty"`
	// Work is the number of rows of each table that the step inserts; 0: as many as its duration allows.
	Work int64 `json:"-"`
}

// Schemas of the insert benchmark.
const (
	SchemaToday = "today"
	Schema2023  = "2023"
)

// insertKind is what distinguishes the steps that insert.
type insertKind struct {
	commit  int     // rows per commit
	perSec  float64 // rows per second and client beside the queries
	queries string  // rangeQueries, pointQueries or "": none
	day     int     // of the timestamps, so that later steps insert later times
	empty   bool    // begins with empty tables, and no deletes
}

// The loads.
var (
	i0 = insertKind{commit: 100, day: 0, empty: true}
	i1 = insertKind{commit: 50, day: 60}
	i2 = insertKind{commit: 5, day: 120}
)

const (
	rangeQueries = "range"
	pointQueries = "point"
)

func loadKind(name, doc string, s insertKind) Kind {
	k := Kind{Name: name, Doc: doc, Class: Whole, Writes: true, Unit: "inserts", Operations: []string{opInsert, opDelete},
		Connections: s.connections, Programs: s.programs, TakesRows: !s.empty, FixedWork: s.empty,
		Target: func(p Params) float64 { return p.Rate }}
	if s.empty {
		k.Operations = []string{opInsert}
		k.Prepare = createInsertTables
	}
	return k
}

func indexKind() Kind {
	return Kind{Name: "l.x", Doc: "100 more rows per table, then create the secondary indexes; counts all rows of the tables", Class: Whole,
		Writes: true, Unit: "rows", Pass: true, Prepare: dropInsertIndexes, Programs: indexPrograms,
		Connections: func(p Params) int { return min(p.Clients, insertTableCount(p)) }}
}

// queryKinds are qr100.L1 and so on, and the names of the posts of 2023, which only had range queries.
func queryKinds() []Kind {
	var kinds []Kind
	day := 180
	for i, rate := range []int{100, 500, 1000} {
		ranges := queryKind(fmt.Sprintf("qr%d", rate), insertKind{perSec: float64(rate), queries: rangeQueries, day: day})
		ranges.Tags = []string{fmt.Sprintf("L%d", 2*i+1)}
		points := queryKind(fmt.Sprintf("qp%d", rate), insertKind{perSec: float64(rate), queries: pointQueries, day: day + 10})
		points.Tags = []string{fmt.Sprintf("L%d", 2*i+2)}
		plain := queryKind(fmt.Sprintf("q%d", rate), insertKind{perSec: float64(rate), queries: rangeQueries, day: day})
		kinds = append(kinds, ranges, points, plain)
		day += 20
	}
	return kinds
}

func queryKind(name string, s insertKind) Kind {
	s.commit = 50
	return Kind{Name: name, Doc: fmt.Sprintf("%s queries beside %g inserts/s of each client", s.queries, s.perSec), Class: Whole, Writes: true,
		Unit: "queries", Operations: []string{opQuery, opInsert, opDelete}, Connections: s.connections, Programs: s.programs,
		Target: func(p Params) float64 { return s.perSec * float64(p.Clients) }}
}

// insertTableCount is the number of tables: one per client of the load, or one for all.
func insertTableCount(p Params) int {
	if p.Insert.Shared {
		return 1
	}
	return p.Tables
}

func insertTable(i int) string { return fmt.Sprintf("pi%d", i+1) }

func insertTables(p Params) []string {
	var names []string
	for i := range insertTableCount(p) {
		names = append(names, insertTable(i))
	}
	return names
}

// InsertOrder is the sequence in which the data is made; a load may end after any of them.
var InsertOrder = []string{"none", "l.i0", "l.x", "l.i1", "l.i2"}

// checkInsert says when steps do not fit the data that they would find.
func checkInsert(steps []Step, through string) error {
	if through == "" {
		through = "l.x"
	}
	at := slices.Index(InsertOrder, through)
	if at < 0 {
		return fmt.Errorf("through: unknown step %q; use one of %v", through, InsertOrder)
	}
	for _, s := range steps {
		if s.Kind == nil {
			continue
		}
		needs := slices.Index(InsertOrder, "l.x")
		switch s.Kind.Name {
		case "l.i0":
			at, needs = slices.Index(InsertOrder, "l.i0"), 0
		case "l.x":
			needs = slices.Index(InsertOrder, "l.i0")
		}
		if at < needs {
			return fmt.Errorf("step %s needs data that is not there: the load goes through %s; list %s before it, or load through it",
				s.Name, InsertOrder[at], InsertOrder[needs])
		}
		if s.Kind.Name == "l.x" {
			at = max(at, needs+1)
		}
		if p := s.Params; p.Insert.DeletePerInsert && !s.Kind.Pass && !s.Kind.FixedWork && p.Clients > insertTableCount(p) {
			return fmt.Errorf("step %s: %d clients would delete from the same ends of %d tables; delete_per_insert needs a table per client",
				s.Name, p.Clients, insertTableCount(p))
		}
	}
	return nil
}

// createInsertTables is what l.i0 begins with.
func createInsertTables(ctx context.Context, connString string, p Params) error {
	var sql []string
	for _, t := range insertTables(p) {
		sql = append(sql, "DROP TABLE IF EXISTS "+t)
		sql = append(sql, createInsertTable(t, p)...)
	}
	return execute(ctx, connString, sql...)
}

// dropInsertIndexes lets l.x build what a load through l.x has already.
func dropInsertIndexes(ctx context.Context, connString string, p Params) error {
	var sql []string
	for _, t := range insertTables(p) {
		for _, x := range secondaryIndexes(p.Insert.Schema) {
			sql = append(sql, "DROP INDEX IF EXISTS "+t+x.suffix)
		}
	}
	return execute(ctx, connString, sql...)
}

// programs makes the clients of a step; they share what they have to know of each other.
func (s insertKind) programs(b Build) func(client int) driver.Program {
	return newCrew(s, b).program
}
