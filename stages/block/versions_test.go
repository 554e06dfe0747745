package block_test

import (
	"strings"
	"testing"

	"pgpipeline/pipeline/engine"
)

// A step that writes and one that reads on every server version from 11 to 18: views of statistics moved in 14, 16, 17 and 18, and
// what a version does not count is said, not zero.
func TestCostsOnEveryVersion(t *testing.T) {
	for _, version := range []string{"11.21", "12.22", "13.23", "14.20", "15.8", "16.4", "17.0", "18.1"} {
		t.Run(version, func(t *testing.T) {
			r := newRig(t, version, "point-query", "update-index")
			r.options.Variants = r.options.Variants[:1]
			if err := r.run(); err != nil {
				t.Fatalf("%v\n%s", err, r.log.String())
			}
			reads, writes := r.of("point-query", "a"), r.of("update-index", "a")
			wants := []string{engine.CostServerCPU, engine.CostClientCPU, engine.CostSwitches, engine.CostBuffersHit, engine.CostBuffersRead,
				engine.CostCheckpoints, engine.CostTempFiles, engine.CostDeadlocks, engine.CostWALBytes, engine.CostOperations}
			since14 := []string{engine.CostWALImages, engine.CostWALRecords}
			if version >= "14" {
				wants = append(wants, since14...)
			}
			for _, m := range []engine.Measurement{reads, writes} {
				for _, name := range wants {
					if _, ok := m.Cost[name]; !ok {
						t.Errorf("%s: %s is missing: %v", m.Step, name, m.Notes)
					}
				}
				for _, name := range since14 {
					if _, ok := m.Cost[name]; ok == (m.Notes["not measured: "+name] != "") {
						t.Errorf("%s: %s: present %v, and %q", m.Step, name, ok, m.Notes["not measured: "+name])
					}
				}
				if m.Cost[engine.CostServerCPU] <= 0 || m.Cost[engine.CostOperations] <= 0 || m.Ops[""].Service == "" || len(m.Tenths[""]) == 0 {
					t.Errorf("%s: costs %v, %d tenths", m.Step, m.Cost, len(m.Tenths[""]))
				}
			}
			// An update of an indexed column logs some hundred bytes; a lookup nothing, but for what runs beside it.
			ops := writes.Cost[engine.CostOperations]
			if per := writes.Cost[engine.CostWALBytes] / ops; per < 50 || per > 10_000 {
				t.Errorf("%.0f bytes of log per update", per)
			}
			if strings.Contains(strings.Join(reads.Warnings, " "), "writes:") {
				t.Errorf("warnings of a step that reads: %q", reads.Warnings)
			}
		})
	}
}
