package external

import (
	"path"
	"regexp"
	"strings"
)

var (
	sysbenchVersion  = regexp.MustCompile(`^sysbench ([0-9][^ ]*)`)
	sysbenchCommand  = regexp.MustCompile(`(\S+\.lua)\b`)
	sysbenchRate     = regexp.MustCompile(`^(\d+)\s+\(\s*([0-9.]+) per sec\.\)`)
	sysbenchInterval = regexp.MustCompile(`^\[ *([0-9.]+)s ?\] thds: (\d+) tps: ([0-9.]+) qps: ([0-9.]+) .*lat \(ms, ?([0-9.]+)%\): ([0-9.]+)(?: err/s:? ([0-9.]+))?`)
	sysbenchBucket   = regexp.MustCompile(`^([0-9.]+) \|\**\s+(\d+)$`)
	sysbenchRestart  = regexp.MustCompile(`^\[ *([0-9.]+)s ?\] Checkpoint report:$`)
	sysbenchQuantile = regexp.MustCompile(`^(\d+)(?:st|nd|rd|th) percentile$`)
)

// parseSysbench reads the report of a run. What stands before "Threads started!" may be anything (scripts print plans there)
// and is only searched for the options.
func parseSysbench(text string) (*Output, error) {
	o := &Output{Tool: "sysbench", Retries: map[string]int64{}, Latency: map[string]float64{}, Options: map[string]string{}}
	section := ""
	for _, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if m := sysbenchVersion.FindStringSubmatch(trimmed); m != nil && o.Version == "" {
			o.Version = m[1]
			continue
		}
		if m := sysbenchInterval.FindStringSubmatch(trimmed); m != nil {
			o.Progress = append(o.Progress, sysbenchProgress(m))
			continue
		}
		if m := sysbenchRestart.FindStringSubmatch(trimmed); m != nil {
			o.Lost, _ = leading(m[1])
			continue
		}
		name, value, ok := strings.Cut(trimmed, ":")
		if !ok {
			o.sysbenchBare(trimmed)
			continue
		}
		if name == "SQL statistics" { // the second time after a checkpoint, where all figures start anew
			o.Retries, o.Latency = map[string]int64{}, map[string]float64{}
		}
		if value = strings.TrimSpace(value); value == "" {
			section = name
			continue
		}
		o.sysbenchLine(section, name, value)
	}
	return o.check()
}

func sysbenchProgress(m []string) Interval {
	var i Interval
	i.End, _ = leading(m[1])
	i.TPS, _ = leading(m[3])
	i.QPS, _ = leading(m[4])
	i.Failed, _ = leading(m[7])
	if ms, ok := leading(m[6]); ok {
		i.Latency = map[string]float64{"p" + m[5]: ms * millisecond}
	}
	return i
}

// sysbenchBare takes a line of the histogram, or the script from a command line that stands before the output, as result folders have it.
func (o *Output) sysbenchBare(line string) {
	if m := sysbenchBucket.FindStringSubmatch(line); m != nil {
		ms, _ := leading(m[1])
		n, _ := leading(m[2])
		o.Histogram = append(o.Histogram, Bucket{ms * millisecond, int64(n)})
		return
	}
	if m := sysbenchCommand.FindStringSubmatch(line); m != nil && o.Script == "" && strings.Contains(line, " run") {
		o.Script = path.Base(m[1])
	}
}

func (o *Output) sysbenchLine(section, name, value string) {
	switch name {
	case "Number of threads":
		v, _ := leading(value)
		o.Clients = int(v)
	case "Target transaction rate", "Warmup time":
		o.Options[strings.ToLower(name)] = value
	case "transactions":
		o.Transactions, o.TPS = sysbenchCount(value)
	case "queries":
		o.Queries, o.QPS = sysbenchCount(value)
	case "ignored errors":
		if n, _ := sysbenchCount(value); n > 0 {
			o.Retries["ignored errors"] = int64(n)
		}
	case "reconnects":
		if n, _ := sysbenchCount(value); n > 0 {
			o.Retries["reconnects"] = int64(n)
		}
	case "time elapsed", "total time":
		if o.Seconds, _ = leading(value); o.Lost > 0 {
			o.Seconds = 0 // of the whole run, which the other figures are not about: see check
		}
	default:
		if strings.HasPrefix(section, "Latency") {
			o.sysbenchLatency(name, value)
		} else {
			o.sysbenchBare(name + ":" + value) // a command line may have colons
		}
	}
}

func (o *Output) sysbenchLatency(name, value string) {
	key := name
	if m := sysbenchQuantile.FindStringSubmatch(name); m != nil {
		key = "p" + m[1]
	}
	switch v, ok := leading(value); {
	case !ok || v == 0:
	case key == "min" || key == "avg" || key == "max" || strings.HasPrefix(key, "p"):
		o.Latency[key] = v * millisecond
	}
}

// sysbenchCount reads "222436230 (353072.00 per sec.)".
func sysbenchCount(value string) (count, rate float64) {
	m := sysbenchRate.FindStringSubmatch(value)
	if m == nil {
		return 0, 0
	}
	count, _ = leading(m[1])
	rate, _ = leading(m[2])
	return count, rate
}
