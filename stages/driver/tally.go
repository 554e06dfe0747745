package driver

// tally is what one client counts during one slice.
type tally struct {
	statements int64 // that succeeded
	rows       int64 // returned
	effective  int64 // changed
	events     int64
	ops        int64
	errors     map[string]int64 // by SQLSTATE
	retries    map[string]int64

	service  []*histogram // by operation
	response []*histogram // by operation; nil in a closed loop
	bins     []bin        // second*operations + operation
	tenths   []uint32     // events that ended in a tenth of a second: tenth*operations + operation

	background bool // events are counted by operation and second only

	started, ended int64 // of the counted time
	cpu            float64
}

// bin is one second of one operation.
type bin struct {
	ops int64
	max int64 // ns, worst response time
}

func newTally(operations int, open bool) tally {
	t := tally{errors: map[string]int64{}, retries: map[string]int64{}}
	for range operations {
		t.service = append(t.service, newHistogram())
		if open {
			t.response = append(t.response, newHistogram())
		}
	}
	return t
}

// reset empties the tally and makes room for a slice of so many seconds.
func (t *tally) reset(seconds int) {
	size := (seconds + 1) * len(t.service)
	bins, tenths := t.bins, t.tenths
	if cap(bins) < size || cap(tenths) < 10*size {
		bins, tenths = make([]bin, size), make([]uint32, 10*size)
	}
	bins, tenths = bins[:size], tenths[:10*size]
	clear(bins)
	clear(tenths)
	clear(t.errors)
	clear(t.retries)
	for _, h := range t.service {
		h.reset()
	}
	for _, h := range t.response {
		h.reset()
	}
	*t = tally{errors: t.errors, retries: t.retries, service: t.service, response: t.response, bins: bins, tenths: tenths}
}

// begin starts the counted time at t: what was counted before is forgotten, errors are not.
func (t *tally) begin(at int64) {
	t.statements, t.rows, t.effective = 0, 0, 0
	t.started, t.ended = at, at
	t.cpu = threadCPU()
}

// event is one event that succeeded: when it was to start, when it did, and when it ended.
type event struct{ intended, began, ended int64 }

// add counts an event of an operation that did so many ops. from is the start of the first bin.
func (t *tally) add(op int, e event, ops, from int64) {
	t.events++
	if !t.background {
		t.ops += ops
	}
	t.service[op].record(e.ended - e.began)
	worst := e.ended - e.began
	if t.response != nil {
		worst = e.ended - e.intended
		t.response[op].record(worst)
	}
	tenth, operations := int((e.ended-from)/1e8), len(t.service)
	for tenth*operations+op >= len(t.tenths) { // once in a long while, of work whose end was not known
		t.bins = append(t.bins, make([]bin, len(t.bins))...)
		t.tenths = append(t.tenths, make([]uint32, len(t.tenths))...)
	}
	t.tenths[tenth*operations+op]++
	b := &t.bins[tenth/10*operations+op]
	b.ops += ops
	b.max = max(b.max, worst)
}
