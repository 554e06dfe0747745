package gate

import (
	"fmt"
	"testing"

	"pgpipeline/pipeline/engine"
)

// BenchmarkJudge judges the largest record that a report has to show: 42 steps, 6 variants, 10 blocks.
func BenchmarkJudge(b *testing.B) {
	l := newLab()
	l.facet.Steps = nil
	for i := range 42 {
		l.facet.Steps = append(l.facet.Steps, engine.StepInfo{Name: fmt.Sprintf("step%d", i), Class: "steady", Groups: []string{"reads"}})
	}
	for i := range 4 {
		l.facet.Variants = append(l.facet.Variants, engine.VariantInfo{Name: fmt.Sprintf("c%d", i)})
	}
	for range 10 {
		l.block()
	}
	rec := l.record(`relqps("step1") > 0.95`, `geomean("reads") > 0.98`)
	g, err := Compile(rec.Experiment.Asserts, rec.Facets, nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		g.Judge(rec)
	}
}
