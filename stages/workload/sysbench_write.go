package workload

import (
	"strconv"

	"pgpipeline/stages/driver"
)

// Groups of eleven digits in the columns c and pad, joined by dashes.
const (
	groupDigits = 11
	cGroups     = 10
	padGroups   = 5
	cSize       = cGroups*(groupDigits+1) - 1
	padSize     = padGroups*(groupDigits+1) - 1
)

// fillGroups writes groups of random digits, joined by dashes, over dst.
func fillGroups(r *driver.Rand, dst []byte) {
	r.Digits(dst)
	for i := groupDigits; i < len(dst); i += groupDigits + 1 {
		dst[i] = '-'
	}
}

func updateIndex(b Build) driver.Program {
	s := &script{tables: b.Tables}
	return single(s, updateK(s, b))
}

func single(s *script, body event) driver.Program {
	return driver.Program{Statements: s.statements, Event: body}
}

func updateK(s *script, b Build) event {
	d := drawsOf(b)
	first := s.perTable("UPDATE %s SET k=k+1 WHERE id=$1", driver.Int4)
	return func(c *driver.Client) error { return c.Bind(first + d.table(c)).Int4(d.key(c)).Exec() }
}

// updateC updates the column without an index; key draws the row.
func updateC(s *script, b Build, key func(*driver.Client) int32) event {
	d := drawsOf(b)
	first := s.perTable("UPDATE %s SET c=$1 WHERE id=$2", driver.BPChar, driver.Int4)
	value := make([]byte, cSize)
	return func(c *driver.Client) error {
		fillGroups(&c.Rand, value)
		return c.Bind(first + d.table(c)).Text(value).Int4(key(c)).Exec()
	}
}

func updateNonIndex(b Build) driver.Program {
	s := &script{tables: b.Tables}
	return single(s, updateC(s, b, drawsOf(b).key))
}

func updateOne(b Build) driver.Program {
	s := &script{tables: b.Tables}
	return single(s, updateC(s, b, func(*driver.Client) int32 { return 1 }))
}

// zipfExponent is sysbench's default.
const zipfExponent = 0.8

func updateZipf(b Build) driver.Program {
	s, z := &script{tables: b.Tables}, driver.NewZipf(b.Rows, zipfExponent)
	return single(s, updateC(s, b, func(c *driver.Client) int32 { return int32(z.Draw(&c.Rand)) }))
}

func updateInList(b Build) driver.Program {
	s, d := &script{tables: b.Tables}, drawsOf(b)
	types := append([]uint32{driver.BPChar}, repeat(driver.Int4, b.Range)...)
	s.perTable("UPDATE %s SET c=$1 WHERE id IN ("+placeholders(2, b.Range+1)+")", types...)
	value := make([]byte, cSize)
	return single(s, func(c *driver.Client) error {
		fillGroups(&c.Rand, value)
		c.Bind(d.table(c)).Text(value)
		for range b.Range {
			c.Int4(d.key(c))
		}
		return c.Exec()
	})
}

func writeOnly(b Build) driver.Program {
	s := &script{tables: b.Tables}
	return transaction(s, writeBody(s, b))
}

func readWrite(b Build) driver.Program {
	s := &script{tables: b.Tables}
	return transaction(s, readBody(s, b, allRanges), writeBody(s, b))
}

// writeBody is what a write-only transaction does: each update has its own table and id, delete and insert share theirs.
func writeBody(s *script, b Build) event {
	d := drawsOf(b)
	index, nonIndex := updateK(s, b), updateC(s, b, d.key)
	del := s.perTable("DELETE FROM %s WHERE id=$1", driver.Int4)
	ins := s.perTable("INSERT INTO %s (id, k, c, pad) VALUES ($1, $2, $3, $4)", driver.Int4, driver.Int4, driver.BPChar, driver.BPChar)
	text, pad := make([]byte, cSize), make([]byte, padSize)
	return func(c *driver.Client) error {
		if err := index(c); err != nil {
			return err
		}
		if err := nonIndex(c); err != nil {
			return err
		}
		table, id := d.table(c), d.key(c)
		if err := c.Bind(del + table).Int4(id).Exec(); err != nil {
			return err
		}
		fillGroups(&c.Rand, text)
		fillGroups(&c.Rand, pad)
		return c.Bind(ins + table).Int4(id).Int4(d.key(c)).Text(text).Text(pad).Exec()
	}
}

// deleteStep deletes by random id and puts nothing back, so that most deletes find nothing after a while; Result.Effective tells how many
// did.
func deleteStep(b Build) driver.Program {
	s, d := &script{tables: b.Tables}, drawsOf(b)
	s.perTable("DELETE FROM %s WHERE id=$1", driver.Int4)
	return single(s, func(c *driver.Client) error { return c.Bind(d.table(c)).Int4(d.key(c)).Exec() })
}

// insertStep sends plain SQL text, as the original does: the server parses and plans each one.
func insertStep(b Build) driver.Program {
	d := drawsOf(b)
	var heads [][]byte
	for i := range b.Tables {
		heads = append(heads, []byte("INSERT INTO "+tableName(i)+" (k, c, pad) VALUES ("))
	}
	text, pad := make([]byte, cSize), make([]byte, padSize)
	sql := make([]byte, 0, 512)
	return driver.Program{Event: func(c *driver.Client) error {
		fillGroups(&c.Rand, text)
		fillGroups(&c.Rand, pad)
		sql = append(sql[:0], heads[d.table(c)]...)
		sql = strconv.AppendInt(sql, int64(d.key(c)), 10)
		sql = append(append(sql, ", '"...), text...)
		sql = append(append(sql, "', '"...), pad...)
		sql = append(sql, "')"...)
		return c.Query(sql)
	}}
}
