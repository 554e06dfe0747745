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
	ready <- err
	if err != nil {
		return
	}
	for s := range c.orders {
		c.tally.reset(s.seconds())
		if c.broken == nil {
			c.run(s)
		}
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
			c.tally.begin(e.began)
			if p.interval > 0 {
				c.tally.started = s.from
			}
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
		c.tally.begin(s.from) // nothing was due, or what was due still waits
		counting = true
	}
	if counting {
		c.finishCounting(s, &p)
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

// pace says when the next event starts.
type pace struct {
	client   *Client
	slice    *slice
	interval int64 // ns; 0: closed loop
	intended int64 // next intended start of the open loop
	begun    bool
	last     event
}

// next waits for the start of the next event and reports whether there is one.
func (p *pace) next() (e event, more bool, err error) {
	s, program := p.slice, &p.client.program
	if s.stop.Load() || s.pass && p.begun || program.Limit > 0 && p.client.ran >= program.Limit && !s.empty {
		return event{}, false, nil
	}
	held := program.Before != nil && !s.empty
	if held {
		if more, err := p.ready(program.Before); !more {
			return event{}, false, err
		}
	}
	if p.interval > 0 {
		e, more = p.nextOpen()
	} else {
		e, more = p.nextClosed(held)
	}
	return e, more, nil
}

// beforePause is how long a client rests that must not begin yet.
const beforePause = 50_000 // ns

// ready asks until the event may begin, and reports whether it ever may in this slice.
func (p *pace) ready(before func(*Client) (bool, error)) (bool, error) {
	for {
		ok, err := before(p.client)
		if ok || err != nil {
			return ok, err
		}
		at := now()
		if at >= p.slice.until || p.slice.stop.Load() {
			return false, nil
		}
		sleepUntil(at + beforePause)
	}
}

func (p *pace) nextClosed(held bool) (event, bool) {
	s := p.slice
	at := p.last.ended
	if !p.begun || held {
		p.begun = true
		at = now()
	} else if s.think > 0 {
		at = p.wait(at + int64(s.think))
	}
	// A slow event may outlast the slice: each client counts at least one.
	over := at >= s.until && (p.client.tally.events > 0 || s.stop.Load())
	return event{intended: at, began: at}, !over || s.pass
}

func (p *pace) nextOpen() (event, bool) {
	s, c := p.slice, p.client
	if !p.begun {
		p.begun = true
		// Clients start one after another within the first interval, so that the schedule of all together is even.
		p.intended = s.start + int64(float64(p.interval)*c.phase)
	}
	if p.intended >= s.until {
		return event{}, false
	}
	at := p.wait(p.intended)
	if at >= s.until || s.stop.Load() {
		return event{}, false
	}
	e := event{intended: p.intended, began: at}
	p.intended += p.interval
	return e, true
}

// wait sleeps until t unless the slice is stopped, and returns the time.
func (p *pace) wait(t int64) int64 {
	at := now()
	for at < t && !p.slice.stop.Load() {
		sleepUntil(t)
		at = now()
	}
	return at
}
