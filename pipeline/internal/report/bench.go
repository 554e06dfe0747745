package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// writeBench writes the Go benchmark format. Each block is one sample of each step and variant, as boots are the outer samples:
//
//	BenchmarkPipeline/step=hot-points/variant=17.0-8  224690  11234 ops/s  712e-6 p99-sec/op
//
// so that `benchstat -col /variant FILE` compares the variants. The number behind the name's last dash is the clients.
// benchstat knows nothing of pairs: expect wider intervals than the report's own.
func writeBench(v *View, _ Input, w io.Writer) error {
	var b strings.Builder
	for _, line := range [][2]string{{"os", v.Record.Host.OS}, {"goarch", v.Record.Host.Arch}, {"cpu", v.Record.Host.CPUModel},
		{"experiment", v.Name}, {"run", v.Record.ID}} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", line[0], clean(line[1]))
		}
	}
	b.WriteString("Unit ops/s better=higher assume=nothing\nUnit server-cpu-sec/op better=lower assume=nothing\n")
	for _, f := range v.Facets {
		benchFacet(&b, f, len(v.Facets))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func benchFacet(b *strings.Builder, f Facet, facets int) {
	merged := merge(f)
	for _, r := range f.Rows() {
		for _, v := range f.Variants {
			m := merged[mergeKey{r.Name, v.Name}]
			if m == nil {
				continue
			}
			name := benchName(f, facets, r, v)
			for _, rate := range m.Rates {
				fmt.Fprintf(b, "%s\t%.0f\t%s\n", name, max(1, rate.Ops), benchValues(rate))
			}
		}
	}
}

func benchName(f Facet, facets int, r Row, v Variant) string {
	name := "BenchmarkPipeline/step=" + benchPart(r.Name)
	if facets > 1 {
		if f.Info.Stage != "" && f.Info.Stage != "run" {
			name += "/stage=" + benchPart(f.Info.Stage)
		}
		if f.Info.Name != "" {
			name += "/facet=" + benchPart(f.Info.Name)
		}
	}
	return fmt.Sprintf("%s/variant=%s-%d", name, benchPart(v.Name), max(1, r.Step.Clients))
}

// benchPart replaces what would end a name or a part of it.
func benchPart(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '+'
		}
		return r
	}, clean(s))
}

// benchValues lists a block's figures with their units.
func benchValues(r BlockRate) string {
	parts := []string{fmt.Sprintf("%.6g ops/s", r.Rate)}
	if r.CPU > 0 && r.Ops > 0 {
		parts = append(parts, fmt.Sprintf("%.6g server-cpu-sec/op", r.CPU/r.Ops))
	}
	for _, op := range sortedKeys(r.Op) {
		unit := "sec/op"
		if op != "" {
			unit = benchPart(op) + "-sec/op"
		}
		o := MergedOp{}
		o.add(r.Op[op])
		if h := o.Best(); h != nil && h.TotalCount() > 0 {
			parts = append(parts, benchLatency(h, unit)...)
		}
	}
	return strings.Join(parts, "\t")
}

func benchLatency(h *hdrhistogram.Histogram, unit string) []string {
	var parts []string
	for _, p := range []float64{50, 99} {
		parts = append(parts, fmt.Sprintf("%.6g p%.0f-%s", float64(h.ValueAtQuantile(p))/1e9, p, unit))
	}
	return parts
}
