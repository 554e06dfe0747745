package imports

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fixture is a public set of results, beside the repository. It may be absent, except on a build machine of this project.
func fixture(t *testing.T) string {
	t.Helper()
	shared := filepath.Join("..", "..", "..", "..", "shared")
	dir := filepath.Join(shared, "fixtures", "sysbench-pg-10-11-17")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if _, err := os.Stat(shared); err == nil && os.Getenv("CI") != "" {
		t.Fatalf("%s is missing", dir)
	}
	t.Skipf("%s is not on this machine", dir)
	return ""
}

func readFixture(t *testing.T, opt Options) (*Set, string) {
	t.Helper()
	dir := fixture(t)
	folders, err := filepath.Glob(filepath.Join(dir, "pg*"))
	if err != nil || len(folders) != 3 {
		t.Fatalf("folders: %v, %v", folders, err)
	}
	opt.Format = "sysbench"
	s, err := Read(folders, opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Warnings) > 0 {
		t.Errorf("warnings: %q", s.Warnings)
	}
	return s, dir
}

// cells are the lines of a table behind its heading.
func cells(t *testing.T, text string) []string {
	t.Helper()
	var out []string
	in := bufio.NewScanner(strings.NewReader(text))
	for in.Scan() {
		if line := in.Text(); strings.Contains(line, "_range=") {
			out = append(out, strings.TrimRight(line, " "))
		}
	}
	return out
}

func TestPublishedTables(t *testing.T) {
	s, dir := readFixture(t, Options{})
	var abs, rel bytes.Buffer
	if err := s.WriteAbsolute(&abs); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteRelative(&rel); err != nil {
		t.Fatal(err)
	}
	for file, got := range map[string]string{"qps.abs.tsv": abs.String(), "qps.rel.tsv": rel.String()} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		want, have := cells(t, string(text)), cells(t, got)
		if len(want) != 36 || len(have) != len(want) {
			t.Fatalf("%s: %d lines, want %d (of 36 published)", file, len(have), len(want))
		}
		for i := range want {
			if have[i] != want[i] {
				t.Errorf("%s: %q, want %q", file, have[i], want[i])
			}
		}
	}
}

// Every published cpu/o, cs/o and number of samples comes out again with the mistake, and a higher figure without it.
func TestPublishedCosts(t *testing.T) {
	legacy, dir := readFixture(t, Options{Legacy: true})
	correct, _ := readFixture(t, Options{})
	right := map[string]*Published{}
	for _, r := range correct.Results {
		right[r.Variant+" "+r.Step] = r.Published
	}
	compared := 0
	for _, r := range legacy.Results {
		samples, switches, cpu := publishedCosts(t, dir, r)
		p := r.Published
		got := fmt.Sprintf("%d %.3f %.6f", p.VMSamples, p.SwitchesPerOp, p.CPUPerOp)
		if want := strings.Join([]string{samples, switches, cpu}, " "); got != want {
			t.Errorf("%s %s: %s, published %s", r.Variant, r.Step, got, want)
		}
		c := right[r.Variant+" "+r.Step]
		if ratio := c.CPUPerOp / p.CPUPerOp; ratio < 1.02 || ratio > 1.08 {
			t.Errorf("%s %s: corrected cpu/o is %.3f of the published one", r.Variant, r.Step, ratio)
		}
		compared++
	}
	if compared != 3*38 {
		t.Errorf("%d steps compared, want 114", compared)
	}
}

// publishedCosts are the last line of a sb.met file: samples, cs/s, cpu/s, cs/o, cpu/o.
func publishedCosts(t *testing.T, dir string, r Result) (samples, switches, cpu string) {
	t.Helper()
	step, rng, _ := strings.Cut(r.Step, "_range=")
	text, err := os.ReadFile(filepath.Join(dir, r.Variant, "sb.met."+step+".range"+rng+".pk1.dop40"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	f := strings.Fields(lines[len(lines)-1])
	if len(f) != 5 {
		t.Fatalf("%s: last line %q", r.Step, lines[len(lines)-1])
	}
	return f[0], f[3], f[4]
}

// The two steps with iostat samples: the published figures of the device.
func TestPublishedDisk(t *testing.T) {
	dir := fixture(t)
	for variant, want := range map[string]string{
		"pg174_o2nofp.x10a_wm4_c32r128": "635 1.1 0.0 2709.2 275.4",
	} {
		text, err := os.ReadFile(filepath.Join(dir, variant, "sb.io.update-index.range100.pk1.dop40"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := iostatMean(string(text), "md2", false)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%d %.1f %.1f %.1f %.1f", m.Samples, m.Reads, m.ReadKB/1024, m.Writes, m.WriteKB/1024); got != want {
			t.Errorf("%s: %s, published %s", variant, got, want)
		}
	}
}
