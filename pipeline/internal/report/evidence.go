package report

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"pgpipeline/pipeline/engine"
)

// evidenceText says what the figures of a facet rest on: "9 blocks (9 boots of each server), 2h31m of measuring".
func evidenceText(f Facet) string {
	n := f.CompleteBlocks()
	text := count(n, "block")
	if minutes := f.BlockMinutes() * float64(n); minutes > 0 {
		text += ", " + durationText(minutes*60)
	}
	runs := map[string]bool{}
	for _, b := range f.Blocks {
		if b.Complete {
			runs[b.Run] = true
		}
	}
	if len(runs) > 1 {
		text += fmt.Sprintf(" from %d runs", len(runs))
	}
	if lost := len(f.Blocks) - n; lost > 0 {
		text += fmt.Sprintf(", %d interrupted and not counted", lost)
	}
	return text
}

// hostText names the machine in one line.
func hostText(h engine.HostFacts) string {
	var parts []string
	for _, p := range []string{h.CPUModel, cpusText(h.CPUs), memoryText(h.MemoryBytes), h.OS, h.Kernel, h.Arch} {
		if p != "" {
			parts = append(parts, clean(p))
		}
	}
	return strings.Join(parts, ", ")
}

func cpusText(n int) string {
	if n <= 0 {
		return ""
	}
	return count(n, "CPU")
}

func memoryText(b int64) string {
	if b <= 0 {
		return ""
	}
	return humanize.IBytes(uint64(b)) + " memory"
}
