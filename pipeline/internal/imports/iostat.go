package imports

import (
	"fmt"
	"slices"
	"strings"
)

// iostat is the mean of one device in a file of `iostat -kx 1`.
type iostat struct {
	Samples         int
	Reads, Writes   float64 // per second
	ReadKB, WriteKB float64 // per second
}

// iostatMean averages the lines of one device. The columns moved between versions, so their names count. legacy matches devices
// whose name only contains the given one, as the published tables do.
func iostatMean(text, device string, legacy bool) (iostat, error) {
	var m iostat
	at := map[string]int{}
	var seen []string
	for _, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if name := strings.TrimSuffix(fields[0], ":"); name == "Device" {
			for i, f := range fields {
				at[f] = i
			}
			continue
		}
		if len(at) == 0 || strings.HasPrefix(fields[0], "avg-cpu") || isNumber(fields[0]) {
			continue
		}
		if !slices.Contains(seen, fields[0]) {
			seen = append(seen, fields[0])
		}
		if fields[0] != device && !(legacy && strings.Contains(fields[0], device)) {
			continue
		}
		m.Samples++
		m.Reads += column(fields, at["r/s"])
		m.Writes += column(fields, at["w/s"])
		m.ReadKB += column(fields, at["rkB/s"])
		m.WriteKB += column(fields, at["wkB/s"])
	}
	if m.Samples == 0 {
		return m, fmt.Errorf("device %q is not in it; there are %s", device, strings.Join(seen, ", "))
	}
	n := float64(m.Samples)
	m.Reads, m.Writes, m.ReadKB, m.WriteKB = m.Reads/n, m.Writes/n, m.ReadKB/n, m.WriteKB/n
	return m, nil
}
