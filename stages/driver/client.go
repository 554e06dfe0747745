package driver

import (
	"encoding/binary"
	"errors"
	"math"
	"sync/atomic"
)

// Client is one connection and the thread that uses it. An event calls Bind, then one method for each parameter, then Exec:
//
//	c.Bind(stmt).Int4(id)
//	if err := c.Exec(); err != nil {
//		return err
//	}
type Client struct {
	// Rand is the client's own generator, seeded by the session's seed and the client's number.
	Rand Rand
	// ID counts from 0.
	ID int

	conn    *conn
	pid     int // of the postmaster
	program Program
	rate    float64 // events per second; 0: closed loop
	phase   float64 // of the schedule, as a share of the interval
	suffix  []byte
	op      int
	tally   tally
	orders  chan *slice
	stopped atomic.Bool // the session wants the client to return at once
	broken  error       // the connection cannot be used any more
	ran     int64       // events since the session was opened
}

var errHungUp = errors.New("connection closed by the server")

// Bind starts the message that executes a statement of the program.
func (c *Client) Bind(statement int) *Client {
	t := &c.conn.stmts[statement]
	c.conn.out = append(c.conn.out[:0], t.prefix...)
	c.suffix = t.suffix
	return c
}

// Int4 adds an integer parameter.
func (c *Client) Int4(v int32) *Client {
	c.conn.out = append(c.conn.out, 0, 0, 0, 4, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	return c
}

// Int8 adds a bigint parameter.
func (c *Client) Int8(v int64) *Client {
	c.conn.out = binary.BigEndian.AppendUint32(c.conn.out, 8)
	c.conn.out = binary.BigEndian.AppendUint64(c.conn.out, uint64(v))
	return c
}

// Float8 adds a double precision parameter.
func (c *Client) Float8(v float64) *Client { return c.Int8(int64(math.Float64bits(v))) }

// Text adds a parameter of a character type, or of any type when the statement has TextParams.
func (c *Client) Text(v []byte) *Client {
	c.conn.out = binary.BigEndian.AppendUint32(c.conn.out, uint32(len(v)))
	c.conn.out = append(c.conn.out, v...)
	return c
}

// Null adds a parameter without a value.
func (c *Client) Null() *Client {
	c.conn.out = append(c.conn.out, 0xff, 0xff, 0xff, 0xff)
	return c
}

// Exec sends the bound statement and waits for its response.
func (c *Client) Exec() error {
	out := c.conn.out
	binary.BigEndian.PutUint32(out[1:], uint32(len(out)-1+resultFormatSize))
	c.conn.out = append(out, c.suffix...)
	return c.finish()
}

// Query sends one statement as text, by the simple protocol.
func (c *Client) Query(sql []byte) error {
	out := append(c.conn.out[:0], 'Q', 0, 0, 0, 0)
	out = append(append(out, sql...), 0)
	binary.BigEndian.PutUint32(out[1:], uint32(len(out)-1))
	c.conn.out = out
	return c.finish()
}

// Operation chooses the latency series of the event that is running: an index into Program.Operations. It stays chosen.
func (c *Client) Operation(i int) { c.op = i }

// Rows is the number of rows that the last statement returned.
func (c *Client) Rows() int64 { return c.conn.parser.rows }

// Value is the integer (binary, eight bytes) in the first column of the last row of the last response. It is false when that is null, when
// there was no row, and when the response did not come in one piece, which a short one does: ask again then.
func (c *Client) Value() (v int64, ok bool) {
	for rest := c.conn.in; len(rest) >= 5; {
		size, err := messageSize(rest)
		if err != nil || size > len(rest) {
			return 0, false
		}
		switch body := rest[5:size]; {
		case rest[0] == 'Z':
			return v, ok
		case rest[0] == 'D' && len(body) >= 14 && binary.BigEndian.Uint32(body[2:]) == 8:
			v, ok = int64(binary.BigEndian.Uint64(body[6:])), true
		}
		rest = rest[size:]
	}
	return 0, false
}

// Affected is the number of rows that the last statement inserted, updated or deleted.
func (c *Client) Affected() int64 { return c.conn.parser.affected }

func (c *Client) finish() error {
	if err := c.conn.roundTrip(); err != nil {
		if c.stopped.Load() {
			c.broken = errStopped
		} else {
			c.broken = c.death(err)
		}
		return c.broken
	}
	p := &c.conn.parser
	if p.failed {
		return c.failure()
	}
	c.tally.statements++
	c.tally.rows += p.rows
	c.tally.effective += p.affected
	return nil
}

// failure turns an ErrorResponse into the error that the loop acts on.
func (c *Client) failure() error {
	problem := c.conn.parser.problem
	if problem.Severity == "FATAL" || problem.Severity == "PANIC" {
		c.broken = c.death(errHungUp)
		return c.broken
	}
	if retryable(problem.Code) {
		c.tally.retries[problem.Code]++
		return errRetry
	}
	c.tally.errors[problem.Code]++
	return &problem
}
