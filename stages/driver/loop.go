package driver

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"
)

// slice is an order to all clients: run events from now until a time.
type slice struct {
	start int64 // clients begin; intended starts count from here
	from  int64 // counting begins
	until int64
	pass  bool // one event per client, whatever the time
	work  bool // until every client has reached its limit
	empty bool // run the empty statement instead of the program's event
	think time.Duration
	stop  atomic.Bool
	done  chan *Client
}

// seconds is the number of whole and partial seconds that are counted; of work, whose end is not known, what to begin with.
func (s *slice) seconds() int {
	if s.work {
		return 60
	}
	return int((s.until-s.from)/1e9) + 1
}

// work is a client's life after it has connected: a slice at a time, asleep in between, on a thread of its own that ends with it.
func (c *Client) work(cpus []int, ready chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread's affinity must not leak into the pool
	err := setUpThread(cpus)
	bell, noAlarm := newAlarm()
	defer bell.end()
	if noAlarm != nil && err == nil {
		err = setTimeouts(c.conn.fd)
	}
	ready <- err
	if err != nil {
		return
	}
	for s := range c.orders {
		bell.start()
		c.tally.reset(s.seconds())
		if c.broken == nil && !(s.empty && c.program.Background) {
			c.run(s)
		}
		bell.stop()
		s.done <- c
	}
}

// run does one slice.
func (c *Client) run(s *slice) {
	body, perEvent := c.program.Event, c.program.OpsPerEvent
	if s.empty {
		body, perEvent = emptyEvent, 0
	}
	c.tally.background = c.program.Background && !s.empty
	p := pace{client: c, slice: s, interval: c.interval(s)}
	counting := false
	for {
		e, more, err := p.next()
		if err != nil {
			c.fail(err, s)
		}
		if !more {
			break
		}
		c.ran++
		if !counting && e.began >= s.from {
			counting = true
			c.beginCounting(e.began, &p)
		}
		before := c.tally.statements
		if err := c.attempt(body, s); err != nil {
			c.fail(err, s)
			break
		}
		e.ended = now()
		if counting {
			ops := perEvent
			if ops == 0 {
				ops = c.tally.statements - before
			}
			c.tally.add(c.op, e, ops, s.from)
		}
		p.last = e
	}
	if !counting && p.interval > 0 {
		counting = true // nothing was due, or what was due still waits
		c.beginCounting(s.from, &p)
	}
	if counting {
		c.finishCounting(s, &p)
	}
}

// beginCounting starts the counted time: of a closed loop with its first event, of an open loop with the slice's.
func (c *Client) beginCounting(at int64, p *pace) {
	c.tally.begin(at)
	if p.interval > 0 {
		c.tally.started = p.slice.from
	}
}

func (c *Client) finishCounting(s *slice, p *pace) {
	t := &c.tally
	t.cpu = threadCPU() - t.cpu
	t.ended = max(p.last.ended, t.started)
	if p.interval > 0 && !s.pass && !s.work && !s.stop.Load() {
		t.ended = max(t.ended, s.until)
		c.countBacklog(s, p)
	}
}

// countBacklog records the events that should have begun by now and have not: to leave them out would hide the very waits that an open
// loop is there to show. They enter with the time they have waited so far, which is less than their response time.
func (c *Client) countBacklog(s *slice, p *pace) {
	for at := p.intended; at < s.until; at += p.interval {
		c.tally.response[c.op].record(c.tally.ended - at)
	}
}

var rollback = []byte("ROLLBACK")

// attempt runs the event until it succeeds or fails for good.
func (c *Client) attempt(body func(*Client) error, s *slice) error {
	for {
		err := body(c)
		if err != errRetry { //nolint:errorlint // the contract of Program.Event: passed on unchanged
			return err
		}
		if c.conn.parser.status != 'I' {
			n := c.tally.statements
			if err := c.Query(rollback); err != nil {
				return err
			}
			c.tally.statements = n
		}
		if s.stop.Load() {
			return errStopped
		}
	}
}

// fail notes an error that ends the slice for all clients.
func (c *Client) fail(err error, s *slice) {
	if !errors.Is(err, errStopped) && c.broken == nil {
		c.broken = err
	}
	s.stop.Store(true)
}

// interval is the time between intended starts in ns; 0 in a closed loop.
func (c *Client) interval(s *slice) int64 {
	if c.rate <= 0 || s.pass || s.empty {
		return 0
	}
	return max(1, int64(1e9/c.rate))
}

func emptyEvent(c *Client) error {
	t := &c.conn.empty
	c.conn.out = append(c.conn.out[:0], t.prefix...)
	c.suffix = t.suffix
	return c.Exec()
}
