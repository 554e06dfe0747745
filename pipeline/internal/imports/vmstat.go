package imports

import (
	"strconv"
	"strings"
)

// vmstat is the mean of a file of `vmstat 1`.
type vmstat struct {
	Samples  int
	Switches float64 // context switches per second
	CPU      float64 // user and system time, percent of all CPUs
}

// Columns of the file, from 0.
const (
	vmstatSwitches = 11
	vmstatUser     = 12
	vmstatSystem   = 13
)

// vmstatMean averages the samples. The first one is since boot and does not count, nor do the headings, which are repeated.
// legacy averages as the published tables do: of the headings only the line with column names is recognised, so the other one counts
// as a sample of zero, and what is skipped as first is the very first line, a heading, so that the sample since boot counts.
func vmstatMean(text string, legacy bool) vmstat {
	var m vmstat
	first := true
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		fields := strings.Fields(line)
		switch {
		case strings.Contains(line, "swpd"), len(fields) == 0:
			continue
		case legacy && i == 0:
			continue
		case !legacy && !isNumber(fields[0]):
			continue
		case !legacy && first:
			first = false
			continue
		}
		m.Samples++
		m.Switches += column(fields, vmstatSwitches)
		m.CPU += column(fields, vmstatUser) + column(fields, vmstatSystem)
	}
	if m.Samples > 0 {
		m.Switches, m.CPU = m.Switches/float64(m.Samples), m.CPU/float64(m.Samples)
	}
	return m
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// column is a number, or 0 where there is none.
func column(fields []string, i int) float64 {
	if i >= len(fields) {
		return 0
	}
	v, err := strconv.ParseFloat(fields[i], 64)
	if err != nil {
		return 0
	}
	return v
}
