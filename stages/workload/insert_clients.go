package workload

import (
	"math"
	"strconv"
	"sync/atomic"

	"pgpipeline/stages/driver"
)

// A crew is the clients of one step on one server. Each of the step's clients has up to three connections, as in the original: one
// queries, one inserts, one deletes. Connections are numbered by role: first all that the step is named for, then the inserters of a query step,
// then the deleters.
type crew struct {
	insertKind
	Build
	n     int // clients
	pairs []pair
}

// pair is what the inserter, the deleter and the queries of one client know of each other.
type pair struct {
	tables            []string
	inserted, deleted atomic.Int64   // statements
	oldest            []atomic.Int64 // by table: the smallest id that may still exist
}

// maxAhead is how many statements the inserter may be ahead of the deleter in a closed loop.
const maxAhead = 8

func newCrew(k insertKind, b Build) *crew {
	c := &crew{insertKind: k, Build: b, n: b.Clients, pairs: make([]pair, b.Clients)}
	if b.Insert.RowsPerCommit > 0 {
		c.commit = b.Insert.RowsPerCommit
	}
	if c.perSec > 0 {
		c.commit = min(c.commit, int(c.perSec))
	}
	for i := range c.pairs {
		p := &c.pairs[i]
		p.tables = tablesOf(b.Params, i)
		p.oldest = make([]atomic.Int64, len(p.tables))
	}
	return c
}

// tablesOf a client: the table with its number. Where there are more tables than clients a client takes every n-th, in turn.
func tablesOf(p Params, client int) []string {
	all := insertTables(p)
	if p.Clients >= len(all) {
		return []string{all[client%len(all)]}
	}
	var own []string
	for i := client; i < len(all); i += p.Clients {
		own = append(own, all[i])
	}
	return own
}

func (k insertKind) deletes(p Params) bool { return p.Insert.DeletePerInsert && !k.empty }

// connections of the step.
func (k insertKind) connections(p Params) int {
	roles := 1
	if k.queries != "" {
		roles++
	}
	if k.deletes(p) {
		roles++
	}
	return roles * p.Clients
}

// program of one connection.
func (c *crew) program(client int) driver.Program {
	p := &c.pairs[client%c.n]
	role := client / c.n
	if c.queries == "" {
		role++
	}
	switch {
	case role == 1:
		return c.inserter(p)
	case role == 2:
		return c.deleter(p)
	case c.queries == rangeQueries:
		return c.ranger(p)
	}
	return c.pointer(p)
}

// pacing of an inserter or deleter: statements per second, 0 in a closed loop.
func (c *crew) pacing() float64 {
	rate := c.Rate / float64(c.n) // rows per second of a client, for a load
	if c.queries != "" {
		rate = c.perSec
	}
	return rate / float64(c.commit)
}

// limit is the number of statements of a fixed amount of work.
func (c *crew) limit() int64 {
	rows := c.Insert.Work
	if c.empty {
		rows = c.Rows
	}
	if rows == 0 {
		return 0
	}
	total := rows * int64(insertTableCount(c.Params))
	per := int64(c.n) * int64(c.commit)
	return (total + per - 1) / per
}

// inserter sends multi-row INSERTs as text, a commit each.
func (c *crew) inserter(p *pair) driver.Program {
	pacing := c.pacing()
	waits := c.deletes(c.Params) && pacing == 0
	s := statementMaker{tables: p.tables, schema: c.Insert.Schema, commit: c.commit, day: c.day, text: make([]byte, 0, 128*c.commit+256)}
	return driver.Program{
		Operations: []string{opInsert}, OpsPerEvent: int64(c.commit), Rate: pacing, Limit: c.limit(), Background: c.queries != "",
		Before: func(client *driver.Client) (bool, error) {
			if waits && p.inserted.Load()-p.deleted.Load() >= maxAhead {
				return false, nil
			}
			s.make(&client.Rand)
			return true, nil
		},
		Event: func(client *driver.Client) error {
			err := client.Query(s.text)
			if err == nil {
				p.inserted.Add(1)
			}
			return err
		},
	}
}

// statementMaker makes the text of one INSERT after another.
type statementMaker struct {
	tables []string
	schema string
	commit int
	day    int
	turn   int64 // statements made
	text   []byte
	stamp  []byte
	row    sale
}

func (s *statementMaker) make(r *driver.Rand) {
	table := s.tables[s.turn%int64(len(s.tables))]
	s.text = append(append(append(s.text[:0], "INSERT INTO "...), table...),
		" (dateandtime,cashregisterid,customerid,productid,price,data) VALUES "...)
	s.stamp = saleTime(s.day, s.turn*int64(s.commit)).AppendFormat(s.stamp[:0], "2006-01-02 15:04:05")
	for i := range s.commit {
		if i > 0 {
			s.text = append(s.text, ',')
		}
		s.row.draw(r, s.schema)
		s.text = s.row.appendText(s.text, s.stamp)
	}
	s.turn++
}

// rereadOldest is after how many statements the deleter asks for the smallest id again: gaps in the sequence make it fall behind.
const rereadOldest = 1000

// deleter removes the oldest rows, as many as an insert adds, as text.
func (c *crew) deleter(p *pair) driver.Program {
	pacing := c.pacing()
	d := deleteMaker{pair: p, commit: int64(c.commit), plain: c.Insert.Schema == Schema2023}
	program := driver.Program{
		Operations: []string{opDelete}, OpsPerEvent: d.commit, Rate: pacing, Limit: c.limit(), Background: true,
		Before: func(client *driver.Client) (bool, error) {
			if pacing == 0 && p.deleted.Load() >= p.inserted.Load() {
				return false, nil
			}
			return true, d.make(client)
		},
		Event: func(client *driver.Client) error {
			err := client.Query(d.text)
			if err == nil {
				d.done()
			}
			return err
		},
	}
	for _, t := range p.tables {
		program.Statements = append(program.Statements, driver.Statement{SQL: "SELECT min(transactionid) FROM " + t})
	}
	return program
}

// deleteMaker makes the text of one DELETE after another.
type deleteMaker struct {
	*pair
	commit int64
	plain  bool // the statement of 2023
	turn   int64
	text   []byte
}

func (d *deleteMaker) make(c *driver.Client) error {
	table := int(d.turn % int64(len(d.tables)))
	if d.turn/int64(len(d.tables))%rereadOldest == 0 {
		if err := c.Bind(table).Exec(); err != nil {
			return err
		}
		if oldest, ok := c.Value(); ok {
			d.oldest[table].Store(oldest)
		}
	}
	from := d.oldest[table].Load()
	d.text = append(append(append(d.text[:0], "DELETE FROM "...), d.tables[table]...), " WHERE transactionid "...)
	if d.plain {
		d.text = strconv.AppendInt(append(d.text, ">= "...), from, 10)
		d.text = strconv.AppendInt(append(d.text, " AND transactionid < "...), from+d.commit, 10)
		return nil
	}
	d.text = append(append(append(d.text, "IN (SELECT transactionid FROM "...), d.tables[table]...), " WHERE transactionid >= "...)
	d.text = append(strconv.AppendInt(d.text, from, 10), " ORDER BY transactionid LIMIT "...)
	d.text = append(strconv.AppendInt(d.text, d.commit, 10), ')')
	return nil
}

func (d *deleteMaker) done() {
	d.oldest[d.turn%int64(len(d.tables))].Add(d.commit)
	d.turn++
	d.deleted.Add(1)
}

// float4 is the type of the price of 2023.
const float4 uint32 = 700

// ranger runs range queries, one of the three kinds at random.
func (c *crew) ranger(p *pair) driver.Program {
	old := c.Insert.Schema == Schema2023
	program := driver.Program{Operations: []string{opQuery}, OpsPerEvent: 1, Rate: c.Rate / float64(c.n)}
	types := []uint32{driver.Int4, driver.Int4, driver.Int4}
	limits := []int64{products, registers, prices}
	if old {
		types[0], types[2] = float4, float4
	}
	for _, t := range p.tables {
		for i, sql := range rangeSQL(t, c.Insert.Schema) {
			program.Statements = append(program.Statements, driver.Statement{SQL: sql, Params: types[i : i+1]})
		}
	}
	program.Event = func(client *driver.Client) error {
		r := &client.Rand
		kind := int(r.Below(3))
		statement := int(r.Below(int64(len(p.tables))))*3 + kind
		if types[kind] == float4 {
			price := float32(r.Below(prices)+r.Below(customers)) / 100
			return client.Bind(statement).Int4(int32(math.Float32bits(price))).Exec()
		}
		return client.Bind(statement).Int4(int32(r.Below(limits[kind]))).Exec()
	}
	return program
}

// rereadNewest is after how many queries a point query asks for the largest id again.
const rereadNewest = 100

// pointer runs point queries: ten ids between the oldest and the newest, some of which may be missing.
func (c *crew) pointer(p *pair) driver.Program {
	program := driver.Program{Operations: []string{opQuery}, OpsPerEvent: 1, Rate: c.Rate / float64(c.n)}
	for _, t := range p.tables {
		program.Statements = append(program.Statements, driver.Statement{SQL: pointSQL(t), Params: repeat(driver.Int8, pointsPerQuery)},
			driver.Statement{SQL: "SELECT max(transactionid) FROM " + t})
	}
	newest := make([]int64, len(p.tables))
	turn := 0
	program.Before = func(client *driver.Client) (bool, error) {
		if turn%rereadNewest != 0 {
			return true, nil
		}
		for i := range p.tables {
			if err := client.Bind(2*i + 1).Exec(); err != nil {
				return false, err
			}
			if v, ok := client.Value(); ok {
				newest[i] = v
			}
		}
		return true, nil
	}
	program.Event = func(client *driver.Client) error {
		table := turn % len(p.tables)
		oldest := p.oldest[table].Load()
		client.Bind(2 * table)
		for range pointsPerQuery {
			client.Int8(oldest + client.Rand.Below(max(1, newest[table]-oldest)))
		}
		err := client.Exec()
		if err == nil {
			turn++
		}
		return err
	}
	return program
}

// rowsBeforeIndex is the number of rows that l.x inserts into each table before it builds the indexes.
const rowsBeforeIndex = 100

// indexPrograms are the clients of l.x, which is one pass: each builds the indexes of its tables, one after another.
func indexPrograms(b Build) func(client int) driver.Program {
	b.Clients = min(b.Clients, insertTableCount(b.Params))
	return func(client int) driver.Program {
		tables := tablesOf(b.Params, client)
		s := statementMaker{tables: tables, schema: b.Insert.Schema, commit: rowsBeforeIndex, day: 59}
		return driver.Program{OpsPerEvent: int64(len(tables)) * (b.Rows + rowsBeforeIndex), Event: func(c *driver.Client) error {
			for _, t := range tables {
				s.make(&c.Rand)
				if err := c.Query(s.text); err != nil {
					return err
				}
				for _, sql := range createInsertIndexes(t, b.Insert.Schema) {
					if err := c.Query([]byte(sql)); err != nil {
						return err
					}
				}
			}
			return nil
		}}
	}
}
