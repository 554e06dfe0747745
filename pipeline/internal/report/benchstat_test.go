package report

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBenchstat has benchstat itself compare the variants.
func TestBenchstat(t *testing.T) {
	s := newSynth(3, 8, 9)
	rec := s.record()
	path := filepath.Join(t.TempDir(), "bench.txt")
	if err := os.WriteFile(path, []byte(render(t, "bench", Input{Record: rec, Verdict: s.verdict(rec)})), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "tool", "benchstat", "-col", "/variant", path)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil || said.Len() > 0 {
		t.Fatalf("benchstat: %v\n%s", err, &said)
	}
	first, rest, _ := strings.Cut(out.String(), "geomean")
	for _, want := range []string{"15.8", "16.4", "17.0", "ops/s", "Pipeline/step=hot-points-8", "Pipeline/step=update-one-8"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first table has no %q:\n%s", want, first)
		}
	}
	for _, line := range strings.Split(first, "\n") { // 2.43 times as fast on 17.0, and no change on 16.4
		if strings.Contains(line, "step=hot-points-8") && (!strings.Contains(line, "+14") || strings.Contains(line, "need >=")) {
			t.Errorf("hot-points: %s", line)
		}
	}
	if !strings.Contains(rest, "server-cpu-sec/op") || !strings.Contains(rest, "p99-sec/op") {
		t.Errorf("costs and response times are not compared:\n%s", rest)
	}
}
