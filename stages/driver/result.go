package driver

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"pgpipeline/pipeline/engine"
)

// Result is what a slice yields, all clients together.
type Result struct {
	Start time.Time // of the counted time
	// Seconds is such that Ops/Seconds is the sum of the clients' rates. Each client counts from the end of its last event before the
	// counted time to the end of its last event, so that no part of an event is cut off.
	Seconds float64
	// Ops is in the step's unit; Events is transactions that succeeded.
	Ops, Events int64
	Statements  int64 // that succeeded
	Rows        int64 // returned to the clients
	Effective   int64 // rows inserted, updated or deleted
	// Errors and Retries by SQLSTATE, over the whole slice. Retries are expected (deadlock, serialization failure, duplicate key);
	// an entry in Errors goes with Fatal.
	Errors, Retries map[string]int64
	ClientCPU       float64 // seconds of CPU of the client threads in the counted time
	MaxSeconds      float64 // worst response time; in a closed loop the worst service time
	// Operations by name; the unnamed operation is "".
	Operations map[string]*OpResult
	// Series has one entry per second of the counted time; a last second that is not full is left out unless it is the only one,
	// in which case its rate is scaled.
	Series []engine.Second
	// Tenths by operation: the events that ended in each whole tenth of a second of the counted time. Of a fixed amount of work they end
	// with the first client that has done its share: that the others go on alone is no stall.
	Tenths map[string]engine.Tenths
	// Fatal is the first unexpected error: a *ServerError or a *ServerDeath. The session cannot be used any more.
	Fatal error
}

// OpResult is the latency of one operation, in nanoseconds.
type OpResult struct {
	Count   int64                   // events
	Ops     int64                   // in the operation's unit: see Program.OpsPerEvent
	Service *hdrhistogram.Histogram // from the actual start to the end, retries included; nil when nothing was counted
	// Response is from the intended start; nil in a closed loop. It holds Backlog too.
	Response   *hdrhistogram.Histogram
	MaxSeconds float64
	// Backlog is the number of events that were due and had not begun when the time was over. They are in Response with the time they had
	// waited by then, a lower bound.
	Backlog int64
}

// merge adds up the clients' tallies.
func merge(s *slice, clients []*Client) Result {
	r := Result{Errors: map[string]int64{}, Retries: map[string]int64{}, Operations: map[string]*OpResult{},
		Start: loaded.Add(time.Duration(s.from))}
	var rate, seconds float64
	for _, c := range clients {
		t := &c.tally
		r.Ops += t.ops
		r.Events += t.events
		r.Statements += t.statements
		r.Rows += t.rows
		r.Effective += t.effective
		r.ClientCPU += t.cpu
		addCounts(r.Errors, t.errors)
		addCounts(r.Retries, t.retries)
		own := float64(t.ended-t.started) / 1e9
		seconds = max(seconds, own)
		if own > 0 {
			rate += float64(t.ops) / own
		}
		if r.Fatal == nil && c.broken != nil && c.broken != errStopped {
			r.Fatal = c.broken
		}
	}
	r.Seconds = seconds
	if rate > 0 && !s.pass && !s.work {
		r.Seconds = float64(r.Ops) / rate
	}
	mergeOperations(&r, clients)
	r.Series = mergeSeries(s, clients)
	r.Tenths = mergeTenths(s, clients)
	return r
}

func addCounts(to, from map[string]int64) {
	for k, n := range from {
		to[k] += n
	}
}

// operationNames of a client's program.
func operationNames(p Program) []string {
	if len(p.Operations) == 0 {
		return []string{""}
	}
	return p.Operations
}

func mergeOperations(r *Result, clients []*Client) {
	service, response := map[string][]*histogram{}, map[string][]*histogram{}
	for _, c := range clients {
		for i, name := range operationNames(c.program) {
			service[name] = append(service[name], c.tally.service[i])
			if c.tally.response != nil {
				response[name] = append(response[name], c.tally.response[i])
			}
			op := r.Operations[name]
			if op == nil {
				op = &OpResult{}
				r.Operations[name] = op
			}
			worst := c.tally.service[i]
			op.Count += worst.total
			for at := i; at < len(c.tally.bins); at += len(c.tally.service) {
				op.Ops += c.tally.bins[at].ops
			}
			if c.tally.response != nil {
				worst = c.tally.response[i]
				op.Backlog += worst.total - c.tally.service[i].total
			}
			op.MaxSeconds = max(op.MaxSeconds, float64(worst.max)/1e9)
		}
	}
	for name, op := range r.Operations {
		op.Service = mergeHistograms(service[name])
		op.Response = mergeHistograms(response[name])
		r.MaxSeconds = max(r.MaxSeconds, op.MaxSeconds)
	}
}

// mergeSeries turns the clients' bins into rates per second.
func mergeSeries(s *slice, clients []*Client) []engine.Second {
	if s.pass {
		return nil
	}
	length := s.until - s.from
	if s.work {
		length = 0
		for _, c := range clients {
			length = max(length, c.tally.ended-s.from)
		}
	}
	full, scale := int(length/1e9), 1.0
	if full == 0 {
		full, scale = 1, 1e9/float64(max(1, length))
	}
	type sums struct{ ops, worst map[string]float64 }
	seconds := make([]sums, full)
	for i := range seconds {
		seconds[i] = sums{map[string]float64{}, map[string]float64{}}
	}
	for _, c := range clients {
		names := operationNames(c.program)
		for i, b := range c.tally.bins {
			if second := i / len(names); second < full {
				name := names[i%len(names)]
				seconds[second].ops[name] += float64(b.ops) * scale
				seconds[second].worst[name] = max(seconds[second].worst[name], float64(b.max)/1e9)
			}
		}
	}
	series := make([]engine.Second, full)
	for i, s := range seconds {
		series[i] = engine.Second{T: float64(i), Ops: engine.NewReadings(s.ops), MaxSeconds: engine.NewReadings(s.worst)}
	}
	return series
}

// mergeTenths adds up the clients' events per tenth of a second.
func mergeTenths(s *slice, clients []*Client) map[string]engine.Tenths {
	if s.pass || s.empty {
		return nil
	}
	until := s.until
	if s.work {
		until = math.MaxInt64
		for _, c := range clients {
			if c.tally.events > 0 {
				until = min(until, c.tally.ended)
			}
		}
		if until == math.MaxInt64 {
			return nil
		}
	}
	whole := int((until - s.from) / 1e8)
	merged := map[string]engine.Tenths{}
	for _, c := range clients {
		names := operationNames(c.program)
		for i, n := range c.tally.tenths[:min(whole*len(names), len(c.tally.tenths))] {
			name := names[i%len(names)]
			if merged[name] == nil {
				merged[name] = make(engine.Tenths, whole)
			}
			merged[name][i/len(names)] += n
		}
	}
	return merged
}

// RoundTrip is the mean time of a statement in seconds, from sending it until the client has its whole response; 0 when
// nothing was counted.
func (r *Result) RoundTrip() float64 {
	total := 0.0
	for _, op := range r.Operations {
		if op.Service != nil {
			total += op.Service.Mean() / 1e9 * float64(op.Count)
		}
	}
	if r.Statements == 0 {
		return 0
	}
	return total / float64(r.Statements)
}

// QueryShare is the share of a round trip that is the server's work on the query: what is left when the round trip of an empty
// statement on the same connections (see Session.Empty) is taken off. A server that works p percent longer on each query shows as p times
// this share in the step's rate; the rest of the round trip, the client's side included, hides the rest.
func QueryShare(step, empty Result) float64 {
	whole := step.RoundTrip()
	if whole == 0 {
		return 0
	}
	return max(0, 1-empty.RoundTrip()/whole)
}
