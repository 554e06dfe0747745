package driver

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
