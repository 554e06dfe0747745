package workload

import (
	"fmt"
	"strings"

	"pgpipeline/stages/driver"
)

// programFunc makes the program of one client.
type programFunc func(Build) driver.Program

// event is Program.Event's type.
type event = func(*driver.Client) error

// draw has the random choices that nearly all steps make.
type draw struct {
	tables int64
	rows   int64
}

func drawsOf(b Build) draw { return draw{int64(b.Tables), b.Rows} }

func (d draw) table(c *driver.Client) int { return int(c.Rand.Below(d.tables)) }
func (d draw) key(c *driver.Client) int32 { return int32(c.Rand.Between(1, d.rows)) }

// script collects the statements of a program; each is prepared once per table.
type script struct {
	tables     int
	statements []driver.Statement
}

// perTable adds a statement for every table and returns the index of the first one. %s stands for the table's name.
func (s *script) perTable(sql string, params ...uint32) int {
	first := len(s.statements)
	for i := range s.tables {
		s.statements = append(s.statements, driver.Statement{SQL: fmt.Sprintf(sql, tableName(i)), Params: params})
	}
	return first
}

// single adds a statement without a table.
func (s *script) single(sql string) int {
	s.statements = append(s.statements, driver.Statement{SQL: sql})
	return len(s.statements) - 1
}

// placeholders is "$from,...,$to".
func placeholders(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		if i > from {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "$%d", i)
	}
	return b.String()
}

// repeat is a list of n equal types.
func repeat(oid uint32, n int) []uint32 {
	types := make([]uint32, n)
	for i := range types {
		types[i] = oid
	}
	return types
}

func pointQuery(b Build) driver.Program {
	s, d := script{tables: b.Tables}, drawsOf(b)
	s.perTable("SELECT c FROM %s WHERE id=$1", driver.Int4)
	return driver.Program{Statements: s.statements, Event: func(c *driver.Client) error {
		return c.Bind(d.table(c)).Int4(d.key(c)).Exec()
	}}
}

// inListSize is the number of keys of the steps that have IN lists; only random-points takes it as a parameter, and the others have it as
// their only published range.
func inList(columns, key string) programFunc {
	return func(b Build) driver.Program {
		s, d := script{tables: b.Tables}, drawsOf(b)
		s.perTable(columns+" FROM %s WHERE "+key+" IN ("+placeholders(1, b.Range)+")", repeat(driver.Int4, b.Range)...)
		return driver.Program{Statements: s.statements, Event: func(c *driver.Client) error {
			c.Bind(d.table(c))
			for range b.Range {
				c.Int4(d.key(c))
			}
			return c.Exec()
		}}
	}
}

func hotPoints(b Build) driver.Program {
	s, d := script{tables: b.Tables}, drawsOf(b)
	s.perTable("SELECT c FROM %s WHERE id IN ("+placeholders(1, b.Range)+")", repeat(driver.Int4, b.Range)...)
	first := int32(b.Rows / 2)
	return driver.Program{Statements: s.statements, Event: func(c *driver.Client) error {
		c.Bind(d.table(c))
		for i := range int32(b.Range) {
			c.Int4(first + i + 1)
		}
		return c.Exec()
	}}
}

// between reads a range of N+1 keys, as the original does.
func between(columns, key string) programFunc {
	return func(b Build) driver.Program {
		s, d := script{tables: b.Tables}, drawsOf(b)
		s.perTable(columns+" FROM %s WHERE "+key+" BETWEEN $1 AND $2", driver.Int4, driver.Int4)
		return driver.Program{Statements: s.statements, Event: func(c *driver.Client) error {
			x := d.key(c)
			return c.Bind(d.table(c)).Int4(x).Int4(x + int32(b.Range)).Exec()
		}}
	}
}

// The four kinds of range queries of a read-only transaction.
const (
	simpleRange   = "SELECT c FROM %s WHERE id BETWEEN $1 AND $2"
	sumRange      = "SELECT SUM(k) FROM %s WHERE id BETWEEN $1 AND $2"
	orderRange    = "SELECT c FROM %s WHERE id BETWEEN $1 AND $2 ORDER BY c"
	distinctRange = "SELECT DISTINCT c FROM %s WHERE id BETWEEN $1 AND $2 ORDER BY c"
)

var allRanges = []string{simpleRange, sumRange, orderRange, distinctRange}

// pointsPerTransaction is the number of point queries of a read-only or read-write transaction; they share one random table.
const pointsPerTransaction = 10

// readOnly is BEGIN, ten point queries, one range query of each kind, COMMIT.
func readOnly(ranges ...string) programFunc {
	return func(b Build) driver.Program {
		s := &script{tables: b.Tables}
		return transaction(s, readBody(s, b, ranges))
	}
}

// transaction puts BEGIN and COMMIT around the bodies.
func transaction(s *script, bodies ...event) driver.Program {
	begin, commit := s.single("BEGIN"), s.single("COMMIT")
	return driver.Program{Statements: s.statements, Event: func(c *driver.Client) error {
		if err := c.Bind(begin).Exec(); err != nil {
			return err
		}
		for _, body := range bodies {
			if err := body(c); err != nil {
				return err
			}
		}
		return c.Bind(commit).Exec()
	}}
}

// readBody is what a read-only transaction does. Each range query has its own random table.
func readBody(s *script, b Build, ranges []string) event {
	d := drawsOf(b)
	point := s.perTable("SELECT c FROM %s WHERE id=$1", driver.Int4)
	var first []int
	for _, sql := range ranges {
		first = append(first, s.perTable(sql, driver.Int4, driver.Int4))
	}
	return func(c *driver.Client) error {
		table := d.table(c)
		for range pointsPerTransaction {
			if err := c.Bind(point + table).Int4(d.key(c)).Exec(); err != nil {
				return err
			}
		}
		for _, r := range first {
			x := d.key(c)
			if err := c.Bind(r + d.table(c)).Int4(x).Int4(x + int32(b.Range) - 1).Exec(); err != nil {
				return err
			}
		}
		return nil
	}
}

func readCount(b Build) driver.Program {
	s, d := script{tables: b.Tables}, drawsOf(b)
	s.perTable("SELECT COUNT(c) FROM %s WHERE id BETWEEN $1 AND $2", driver.Int4, driver.Int4)
	return driver.Program{Statements: s.statements, Event: func(c *driver.Client) error {
		x := d.key(c)
		return c.Bind(d.table(c)).Int4(x).Int4(x + int32(b.Range) - 1).Exec()
	}}
}

// scan reads the whole table of the client's number and returns nothing; it is sent as text.
func scan(b Build) driver.Program {
	sql := []byte("SELECT * FROM " + tableName(b.Client%b.Tables) + " WHERE LENGTH(c) < 0")
	return driver.Program{OpsPerEvent: b.Rows, Event: func(c *driver.Client) error { return c.Query(sql) }}
}
