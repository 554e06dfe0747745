package external

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Output is what a load generator said about one run.
type Output struct {
	Tool    string // "sysbench" or "pgbench"
	Version string // "1.0.20", "15.18"
	Script  string // what it ran, when the output says so
	Clients int
	// Seconds is the measured time: Transactions / TPS.
	Seconds float64
	// Transactions that succeeded. Queries are 0 when the tool does not count them.
	Transactions, Queries float64
	// TPS and QPS as printed; QPS is 0 when the tool does not count queries.
	TPS, QPS float64
	// Retries are transactions that failed and were expected to, by the tool's own name for the reason. Over the whole run.
	Retries map[string]int64
	// Latency in seconds by "min", "avg", "max", "stddev" and "pNN", as the tool computed it over the whole run.
	Latency map[string]float64
	// Options are further facts that the output states: query mode, rate limit, schedule lag.
	Options map[string]string
	Scripts []ScriptShare
	// Histogram of the latencies, when the tool printed one.
	Histogram []Bucket `json:"-"`
	// Lost is how many seconds at the start the figures are without, because the tool began to count anew after them.
	Lost float64 `json:",omitempty"`
	// Progress is the intermediate reports, in order.
	Progress []Interval
}

// Bucket is one line of a histogram.
type Bucket struct {
	Seconds float64 // in its middle
	Count   int64
}

// ScriptShare is one of several scripts that pgbench chose from.
type ScriptShare struct {
	Name         string
	Transactions float64
	TPS          float64
	Latency      map[string]float64 // as in Output
}

// Interval is one intermediate report.
type Interval struct {
	End float64 // seconds since the start
	// TPS and QPS over the time since the report before; QPS is 0 when the tool does not count queries.
	TPS, QPS float64
	Latency  map[string]float64 // as in Output
	// Failed per second: ignored errors, failed transactions.
	Failed float64
}

// ErrNoResult says that a text has no rate in it: it is no output of the tool, or the run did not get so far.
var ErrNoResult = errors.New("no result in the output")

// Parse reads the output of a tool; tool "" means whichever it looks like.
func Parse(tool, text string) (*Output, error) {
	switch {
	case tool == "sysbench", tool == "" && strings.Contains(text, "SQL statistics:"):
		return parseSysbench(text)
	case tool == "pgbench", tool == "" && strings.Contains(text, "number of transactions actually processed"):
		return parsePgbench(text)
	case tool == "":
		return nil, fmt.Errorf("%w of sysbench or pgbench", ErrNoResult)
	}
	return nil, fmt.Errorf("unknown tool %q; there are sysbench and pgbench", tool)
}

// check fills in what follows from the rest.
func (o *Output) check() (*Output, error) {
	if o.TPS <= 0 || o.Transactions <= 0 {
		return nil, fmt.Errorf("%s: %w", o.Tool, ErrNoResult)
	}
	if o.Seconds <= 0 {
		o.Seconds = o.Transactions / o.TPS
	}
	return o, nil
}

// After returns the rate over the intermediate reports that begin after `lost` seconds: the part of a run in which it had got
// going. ok is false when there are none.
func (o *Output) After(lost float64) (part Interval, seconds float64, ok bool) {
	from := 0.0
	part.Latency = map[string]float64{}
	for _, i := range o.Progress {
		began, length := from, i.End-from
		from = i.End
		if began < lost-0.01 || length <= 0 {
			continue
		}
		seconds += length
		part.End = i.End
		part.TPS += i.TPS * length
		part.QPS += i.QPS * length
		part.Failed += i.Failed * length
	}
	if seconds == 0 {
		return Interval{}, 0, false
	}
	part.TPS, part.QPS, part.Failed = part.TPS/seconds, part.QPS/seconds, part.Failed/seconds
	return part, seconds, true
}

// leading reads the number at the beginning of a text, such as "353072.00 per sec.)".
func leading(text string) (float64, bool) {
	text = strings.TrimLeft(text, " \t(")
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && !strings.ContainsRune(".+-eE", r) })
	if end < 0 {
		end = len(text)
	}
	v, err := strconv.ParseFloat(text[:end], 64)
	if err != nil { // "5s" stops before the s; "3e" of "3 each" has no exponent
		v, err = strconv.ParseFloat(strings.TrimRight(text[:end], "eE+-"), 64)
	}
	return v, err == nil
}

const millisecond = 1e-3
