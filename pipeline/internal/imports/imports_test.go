package imports

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
	"pgpipeline/pipeline/internal/report"
)

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// vmstatFile has a sample since boot, two samples, the headings again, and one more.
const vmstatFile = `procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 1  0      0      0      0      0    0    0     0     0    0  900 90  9  1  0  0
 1  0      0      0      0      0    0    0     0     0    0  100 10  5 85  0  0
 1  0      0      0      0      0    0    0     0     0    0  200 20  5 75  0  0
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 1  0      0      0      0      0    0    0     0     0    0  300 30  5 65  0  0
`

func TestVmstatMean(t *testing.T) {
	if m := vmstatMean(vmstatFile, false); m != (vmstat{Samples: 3, Switches: 200, CPU: 25}) {
		t.Errorf("correct: %+v", m)
	}
	// Five samples: the one since boot, three real ones and a heading.
	if m := vmstatMean(vmstatFile, true); m.Samples != 5 || m.Switches != 1500.0/5 || math.Abs(m.CPU-174.0/5) > 1e-9 {
		t.Errorf("legacy: %+v", m)
	}
}

func TestIostatLayouts(t *testing.T) {
	for name, text := range map[string]string{
		"old": "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz\nmd2 0 0 1 2 30 40 9\nmd20 0 0 9 9 9 9 9\n",
		"new": "Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s\nmd2 1 30 0 0 0 0 2 40\nmd20 9 9 9 9 9 9 9 9\n",
	} {
		m, err := iostatMean(text, "md2", false)
		if err != nil || m != (iostat{Samples: 1, Reads: 1, Writes: 2, ReadKB: 30, WriteKB: 40}) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		if m, _ := iostatMean(text, "md2", true); m.Samples != 2 {
			t.Errorf("%s: legacy takes %d lines, want those of md20 as well", name, m.Samples)
		}
		if _, err := iostatMean(text, "sda", false); err == nil || !strings.Contains(err.Error(), "md2, md20") {
			t.Errorf("%s: unknown device: %v", name, err)
		}
	}
}

func TestCSVAndBench(t *testing.T) {
	dir := t.TempDir()
	long := put(t, filepath.Join(dir, "r.csv"), "step,variant,qps,clients,base\nhot,17,300,8,\nhot,15,200,8,1\nhot,17,310,8,\nhot,15,210,8,1\n")
	timed := put(t, filepath.Join(dir, "t.csv"), "Step,Ops,Seconds,unit\nl.i0,1000,4,inserts\n")
	bench := put(t, filepath.Join(dir, "b.txt"), "goos: linux\ncpu: Some CPU\nBenchmarkPipeline/step=hot/variant=15-8\t100\t50 ops/s\t0.02 p99-sec/op\n"+
		"BenchmarkPipeline/step=hot/variant=15-8\t100\t25 ops/s\nBenchmarkScan-2\nBenchmarkScan-2\t10\t1000000 ns/op\t5 B/op\n")
	s, err := Read([]string{long}, Options{Format: "csv"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Variants[0].Name != "15" || len(s.Results) != 4 || s.Results[3].Repeat != 1 || s.Results[3].rate() != 210 || s.Results[0].Clients != 8 {
		t.Errorf("long form: %+v", s)
	}
	if s, err = Read([]string{"mine=" + timed}, Options{Format: "csv"}); err != nil {
		t.Fatal(err)
	}
	if r := s.Results[0]; r.Variant != "mine" || r.rate() != 250 || r.Unit != "inserts" {
		t.Errorf("ops and seconds: %+v", r)
	}
	if s, err = Read([]string{bench}, Options{Format: "bench"}); err != nil {
		t.Fatal(err)
	}
	if len(s.Results) != 3 || s.CPUModel != "Some CPU" {
		t.Fatalf("bench: %+v", s)
	}
	if r := s.Results[1]; r.Step != "hot" || r.Variant != "15" || r.Repeat != 1 || r.rate() != 25 || r.Clients != 8 {
		t.Errorf("bench line: %+v", r)
	}
	if r := s.Results[2]; r.Step != "Scan" || r.Variant != "b" || r.rate() != 1000 {
		t.Errorf("plain bench line: %+v", r)
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	empty := put(t, filepath.Join(dir, "x.txt"), "nothing\n")
	for _, c := range []struct{ format, text, want string }{
		{"csv", "a,b\n1,2\n", `no column "step"`},
		{"csv", "step,variant\nx,y\n", `no column "rate"`},
		{"csv", "step,rate\nx,fast\n", `line 2: rate: "fast" is not a positive number`},
		{"csv", "step,rate,clients\nx,1,many\n", `line 2: clients: "many" is not a whole number`},
		{"csv", "step,rate\n", "nothing in it is a result"},
		{"bench", "BenchmarkX-2 10 fast ns/op\n", `x.txt:1: "fast" is not a number`},
		{"pgbench", "hello\n", "no result in the output"},
		{"sysbench", "hello\n", "no result in the output"},
		{"excel", "", `unknown format "excel"; there are bench, csv, pgbench, sysbench`},
	} {
		put(t, empty, c.text)
		_, err := Read([]string{empty}, Options{Format: c.format})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.format, c.text, err, c.want)
		}
	}
	if _, err := Read([]string{filepath.Join(dir, "absent")}, Options{Format: "csv"}); err == nil {
		t.Error("a file that is absent was imported")
	}
}

// Plain outputs, in folders and alone, and what is made of them: a record that is judged and reported like any other.
func TestOutputsToRecord(t *testing.T) {
	const outputs = "../../../stages/external/testdata"
	base, cand := filepath.Join(t.TempDir(), "15.8"), filepath.Join(t.TempDir(), "17.0")
	for _, dir := range []string{base, cand} {
		for _, f := range []string{"sysbench-ro.out", "sysbench-rw.out"} {
			text, err := os.ReadFile(filepath.Join(outputs, f))
			if err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(dir, f), string(text))
		}
	}
	put(t, filepath.Join(base, "README"), "not an output\n")
	opt := Options{Format: "sysbench", Name: "two folders"}
	s, err := Read([]string{base, cand}, opt)
	if err != nil {
		t.Fatal(err)
	}
	rec := s.Record("20260101-000000-abcd", opt)
	if len(rec.Blocks) != 1 || len(rec.Blocks[0].Measurements) != 4 || len(rec.Facets[0].Variants) != 2 {
		t.Fatalf("record: %+v", rec)
	}
	if !strings.Contains(strings.Join(rec.Warnings, "\n"), "one measurement per variant") {
		t.Errorf("warnings: %q", rec.Warnings)
	}
	verdict := judge(t, rec, `relqps("sysbench-ro") > 0.95`)
	if verdict.Outcome != "inconclusive" {
		t.Errorf("one measurement per side gives %q", verdict.Outcome)
	}
	var text bytes.Buffer
	if err := report.Render("text", report.Input{Record: rec, Verdict: verdict, Width: 100}, &text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sysbench-ro", "17.0", "two folders", "not measured side by side"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
}

func judge(t *testing.T, rec *engine.Record, expr string) gate.Verdict {
	t.Helper()
	g, err := gate.Compile([]engine.Assertion{{Expr: expr, Severity: "fail", File: "x", Line: 1, Column: 1}}, rec.Facets, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g.Judge(rec)
}
