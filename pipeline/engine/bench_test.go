package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"pgpipeline/pipeline/engine"
)

// BenchmarkPlan is the time from the text of an experiment to a fully cached plan: parsing, expanding, keys and look-ups. The
// goal is 20 ms for 50 nodes and 60 ms for 500.
func BenchmarkPlan(b *testing.B) {
	for _, versions := range []int{5, 50} {
		l := newLabFor(b)
		text := manyVersions(versions)
		if _, err := l.run(text, engine.RunOptions{Jobs: 4}); err != nil {
			b.Fatal(err)
		}
		plan, err := l.plan(text, engine.PlanOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("nodes=%d", len(plan.Nodes)), func(b *testing.B) {
			for b.Loop() {
				plan, err := l.plan(text, engine.PlanOptions{})
				if err != nil {
					b.Fatal(err)
				}
				for _, n := range plan.Nodes {
					if n.State != engine.Cached {
						b.Fatalf("%s is %s", n.ID, n.State)
					}
				}
			}
		})
	}
}

// manyVersions has 10 nodes for each version: a source, 8 tunings, the data.
func manyVersions(n int) string {
	versions := make([]string, n)
	for i := range versions {
		versions[i] = fmt.Sprintf("%q", fmt.Sprint(i))
	}
	var tunings strings.Builder
	names := make([]string, 8)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
		fmt.Fprintf(&tunings, "  %s: {settings: {x: \"%d\", shared: 128MB, y: \"${v}\"}}\n", names[i], i)
	}
	return fmt.Sprintf(`version: 1
name: many
matrix:
  v: [%s]
  conf: [%s]
baseline: {conf: c0}
tunings:
%sstages:
  - source: {from: "s${v}"}
  - tuning: {use: "${conf}"}
  - data: {rows: 10k}
`, strings.Join(versions, ", "), strings.Join(names, ", "), tunings.String())
}
