package imports

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"pgpipeline/pipeline/engine"
)

// readBench reads the Go benchmark format, that of `report --format bench` included. `step=` and `variant=` in a name say what they
// say; without them the whole name is the step and the file is the variant. A rate (a unit that ends in /s) comes first, else
// ns/op or sec/op. Lines that repeat a name are repetitions.
func readBench(s *Set, src source, _ Options) error {
	files, err := src.files()
	if err != nil {
		return err
	}
	for _, path := range files {
		holder := Variant{Files: map[string]string{}}
		text, err := holder.read(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(text, "\n") {
			if model, ok := strings.CutPrefix(line, "cpu: "); ok {
				s.CPUModel = strings.TrimSpace(model)
			}
			r, ok, err := benchLine(line, src.name())
			if err != nil {
				return fmt.Errorf("%s:%d: %w", filepath.Base(path), i+1, err)
			}
			if ok {
				s.variant(r.Variant).Files[filepath.Base(path)] = holder.Files[filepath.Base(path)]
				s.Results = append(s.Results, r)
			}
		}
	}
	return nil
}

// benchLine reads "BenchmarkName/key=value-8  1000  123 ns/op  456 ops/s".
func benchLine(line, file string) (r Result, ok bool, err error) {
	fields := strings.Fields(line)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") || len(fields)%2 != 0 {
		return r, false, nil // also the bare name that is printed before the benchmark's own output
	}
	iterations, err := strconv.ParseFloat(fields[1], 64)
	if err != nil || iterations <= 0 {
		return r, false, nil
	}
	r = Result{Variant: file, Unit: "operations", Cost: map[string]float64{}, Notes: map[string]string{}, Ops: iterations}
	r.benchName(strings.TrimPrefix(fields[0], "Benchmark"))
	for i := 2; i < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return r, false, fmt.Errorf("%q is not a number", fields[i])
		}
		r.benchValue(v, fields[i+1])
	}
	return r, r.Seconds > 0, nil
}

// benchName takes the name apart; the number behind the last dash is the clients in reports of ours, else the processors.
func (r *Result) benchName(name string) {
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if n, err := strconv.Atoi(name[i+1:]); err == nil {
			name = name[:i]
			r.Clients = n
		}
	}
	var step, facet string
	for _, part := range strings.Split(name, "/") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "step":
			step = value
		case "variant":
			r.Variant = value
		case "facet", "stage":
			facet += " " + value
		}
	}
	if r.Step = step + facet; step == "" {
		r.Step = name
		r.Clients = 0
	}
}

func (r *Result) benchValue(v float64, unit string) {
	switch {
	case v <= 0:
	case strings.HasSuffix(unit, "/s") && unit != "MB/s" && unit != "B/s":
		r.Seconds = r.Ops / v // the first choice, wherever in the line it stands
	case unit == "ns/op" && r.Seconds == 0:
		r.Seconds = r.Ops * v / 1e9
	case unit == "sec/op" && r.Seconds == 0:
		r.Seconds = r.Ops * v
	case unit == "server-cpu-sec/op":
		r.Cost[engine.CostServerCPU] = v * r.Ops
	case strings.HasPrefix(unit, "p") && strings.HasSuffix(unit, "sec/op"):
		r.Notes["latency "+strings.TrimSuffix(unit, "-sec/op")] = fmt.Sprintf("%.3g ms", v*1e3)
	}
}
