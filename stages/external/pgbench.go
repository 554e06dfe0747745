package external

import (
	"regexp"
	"strings"
)

var (
	pgbenchVersion  = regexp.MustCompile(`^pgbench \((?:PostgreSQL\) )?([0-9][^ )]*)`)
	pgbenchInterval = regexp.MustCompile(`^progress: ([0-9.]+) s, ([0-9.]+) tps, lat ([0-9.]+|NaN) ms stddev ([0-9.]+|NaN)(?:, lag [0-9.]+ ms)?(?:, (\d+) failed)?`)
	pgbenchTPS      = regexp.MustCompile(`^tps = ([0-9.]+)(?: \((.*)\))?`)
	pgbenchScript   = regexp.MustCompile(`^SQL script \d+: (.*)$`)
	pgbenchShare    = regexp.MustCompile(`^- (\d+) transactions \([0-9.]+% of total(?:, tps = ([0-9.]+))?\)`)
	pgbenchLatency  = regexp.MustCompile(`^(?:- )?latency (average|stddev) (?:= |: )([0-9.]+) ms`)
	pgbenchRetry    = regexp.MustCompile(`^number of (failed transactions|serialization failures|deadlock failures|transactions retried|transactions skipped): (\d+)`)
)

// parsePgbench reads the report of a run: stdout, with or without the progress lines that go to stderr.
func parsePgbench(text string) (*Output, error) {
	o := &Output{Tool: "pgbench", Retries: map[string]int64{}, Latency: map[string]float64{}, Options: map[string]string{}}
	for _, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "statement latencies") {
			break // the statements of the script follow, which may look like anything
		}
		if m := pgbenchScript.FindStringSubmatch(trimmed); m != nil {
			o.Scripts = append(o.Scripts, ScriptShare{Name: m[1], Latency: map[string]float64{}})
			continue
		}
		o.pgbenchLine(trimmed)
	}
	return o.check()
}

func (o *Output) pgbenchLine(line string) {
	if m := pgbenchVersion.FindStringSubmatch(line); m != nil {
		o.Version = m[1]
	} else if m := pgbenchInterval.FindStringSubmatch(line); m != nil {
		o.Progress = append(o.Progress, o.pgbenchProgress(m))
	} else if m := pgbenchTPS.FindStringSubmatch(line); m != nil {
		o.pgbenchRate(m)
	} else if m := pgbenchLatency.FindStringSubmatch(line); m != nil {
		o.pgbenchLatency(m)
	} else if m := pgbenchShare.FindStringSubmatch(line); m != nil && len(o.Scripts) > 0 {
		s := &o.Scripts[len(o.Scripts)-1]
		s.Transactions, _ = leading(m[1])
		s.TPS, _ = leading(m[2])
	} else if m := pgbenchRetry.FindStringSubmatch(line); m != nil {
		if n, _ := leading(m[2]); n > 0 {
			o.Retries[m[1]] = int64(n)
		}
	} else if name, value, ok := strings.Cut(line, ": "); ok {
		o.pgbenchField(name, value)
	}
}

func (o *Output) pgbenchProgress(m []string) Interval {
	i := Interval{Latency: map[string]float64{}}
	from := 0.0
	if n := len(o.Progress); n > 0 {
		from = o.Progress[n-1].End
	}
	i.End, _ = leading(m[1])
	i.TPS, _ = leading(m[2])
	if ms, ok := leading(m[3]); ok {
		i.Latency["avg"] = ms * millisecond
	}
	if failed, _ := leading(m[5]); i.End > from {
		i.Failed = failed / (i.End - from)
	}
	return i
}

// pgbenchRate prefers the rate without the time that connecting took; versions before 14 print both.
func (o *Output) pgbenchRate(m []string) {
	if strings.HasPrefix(m[2], "including") && o.TPS > 0 {
		return
	}
	o.TPS, _ = leading(m[1])
}

func (o *Output) pgbenchLatency(m []string) {
	to := o.Latency
	if n := len(o.Scripts); n > 0 {
		to = o.Scripts[n-1].Latency
	}
	name := map[string]string{"average": "avg", "stddev": "stddev"}[m[1]]
	if ms, ok := leading(m[2]); ok {
		to[name] = ms * millisecond
	}
}

func (o *Output) pgbenchField(name, value string) {
	switch name {
	case "transaction type":
		o.Script = value
	case "number of clients":
		v, _ := leading(value)
		o.Clients = int(v)
	case "number of transactions actually processed":
		o.Transactions, _ = leading(value)
	case "query mode", "scaling factor", "rate limit schedule lag":
		o.Options[name] = value
	}
}
