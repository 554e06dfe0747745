package report

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"pgpipeline/pipeline/engine"
)

// HardwareMetric is one cost per operation: what is shown of it and where it comes from.
type HardwareMetric struct {
	Title string
	Short string // column heads of the published reports
	cost  string // engine.Cost...
	write func(float64) string
}

var hardwareMetrics = []HardwareMetric{
	{"server CPU time", "cpu/o", engine.CostServerCPU, secondsText},
	{"context switches of the server", "cs/o", engine.CostSwitches, rateText},
	{"CPU time of the whole machine", "machine cpu/o", engine.CostMachineCPU, secondsText},
	{"context switches of the whole machine", "machine cs/o", engine.CostMachineSwitches, rateText},
	{"reads from the device", "r/o", engine.CostReads, rateText},
	{"bytes read from the device", "rKB/o", engine.CostReadBytes, bytesText},
	{"writes to the device", "w/o", engine.CostWrites, rateText},
	{"bytes written to the device", "wKB/o", engine.CostWriteBytes, bytesText},
	{"write-ahead log", "wal/o", engine.CostWALBytes, bytesText},
	{"full-page images in it", "fpi/o", engine.CostWALImages, rateText},
	{"pages found in shared_buffers", "hit/o", engine.CostBuffersHit, rateText},
	{"pages asked of the operating system", "read/o", engine.CostBuffersRead, rateText},
	{"temporary bytes", "temp/o", engine.CostTempBytes, bytesText},
	{"client CPU time", "client cpu/o", engine.CostClientCPU, secondsText},
}

func bytesText(v float64) string {
	if v < 1000 {
		return rateText(v) + " B"
	}
	return humanize.IBytes(uint64(v))
}

// HardwareTable is one metric over the steps of a facet.
type HardwareTable struct {
	Metric HardwareMetric
	Rows   []HardwareRow
}

// HardwareRow has a cell per variant.
type HardwareRow struct {
	Step  string
	Cells []HardwareCell
}

// HardwareCell is a cost per operation, absolute and relative to the base.
type HardwareCell struct {
	Variant  Variant
	Absolute string // "" when it was not measured
	Relative string // "" for the base and where it says nothing
	Ratio    float64
}

// hardware lists the metrics that say something: those that are not zero everywhere.
func hardware(f Facet, merged map[mergeKey]*Merged) []HardwareTable {
	var tables []HardwareTable
	for _, m := range hardwareMetrics {
		t := HardwareTable{Metric: m}
		some := false
		for _, r := range f.Rows() {
			row, any := hardwareRow(f, r, m, merged)
			some = some || any
			t.Rows = append(t.Rows, row)
		}
		if some {
			tables = append(tables, t)
		}
	}
	return tables
}

func hardwareRow(f Facet, r Row, metric HardwareMetric, merged map[mergeKey]*Merged) (row HardwareRow, some bool) {
	row = HardwareRow{Step: r.Name}
	base, baseKnown := perOperation(merged[mergeKey{r.Name, f.BaseName()}], metric.cost)
	for _, v := range f.Variants {
		c := HardwareCell{Variant: v}
		if value, ok := perOperation(merged[mergeKey{r.Name, v.Name}], metric.cost); ok {
			c.Absolute = metric.write(value)
			some = some || value != 0
			if baseKnown && !v.Base {
				c.Ratio, c.Relative = relative(value, base)
			}
		}
		row.Cells = append(row.Cells, c)
	}
	return row, some
}

// relative divides as the published reports do: 1 for 0 by 0, inf for anything by 0.
func relative(value, base float64) (float64, string) {
	switch {
	case base == 0 && value == 0:
		return 1, "1"
	case base == 0:
		return 0, "inf"
	}
	return value / base, fmt.Sprintf("%.2f", value/base)
}

// perOperation divides a total by the operations that it belongs to.
func perOperation(m *Merged, cost string) (float64, bool) {
	if m == nil {
		return 0, false
	}
	total, ok := m.Cost[cost]
	ops := m.Cost[engine.CostOperations]
	for _, r := range m.Rates {
		if _, counted := m.Cost[engine.CostOperations]; !counted {
			ops += r.Ops
		}
		if cost == engine.CostServerCPU && !ok {
			total += r.CPU
		}
	}
	if cost == engine.CostServerCPU && total > 0 {
		ok = true
	}
	return total / max(ops, 1), ok && ops > 0
}
