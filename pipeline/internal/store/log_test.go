package store

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLogOfManyBlocks opens one log as often as a run of weeks does: its beginning and its end stay, and it does not grow.
func TestLogOfManyBlocks(t *testing.T) {
	runs := newRuns(t)
	runs.logs = logLimits{part: 1000, added: 5000}
	run := newRun(t, runs)
	largest := int64(0)
	for block := range 300 {
		log, rel, err := run.OpenLog("run")
		if err != nil {
			t.Fatal(err)
		}
		for line := range 20 {
			fmt.Fprintf(log, "block %d, line %d\n", block, line)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(run.Dir, rel))
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, info.Size())
	}
	if largest > 4000 {
		t.Errorf("it grew to %d bytes", largest)
	}
	data, err := os.ReadFile(filepath.Join(run.Dir, "logs", "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, want := range []string{"block 0, line 0\n", "block 1, line 19\n", "block 298, line 0\n", "block 299, line 19\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q", want)
		}
	}
	if n := strings.Count(text, "of the log were left out here"); n != 1 {
		t.Errorf("%d notes of what was left out:\n%s", n, text)
	}
	for line := range strings.Lines(text) {
		var block, number int
		if _, err := fmt.Sscanf(line, "block %d, line %d\n", &block, &number); err != nil && !strings.HasPrefix(line, "[") {
			t.Errorf("a broken line: %q", line)
		}
	}
}

func TestLogFlood(t *testing.T) {
	runs := newRuns(t)
	runs.logs = logLimits{part: 1000, added: 5000}
	run := newRun(t, runs)
	log, rel, err := run.OpenLog("build")
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if n, err := io.WriteString(log, strings.Repeat("x", 99)+"\n"); n != 100 || err != nil {
			t.Fatal(n, err)
		}
	}
	log.Close()
	data, err := os.ReadFile(filepath.Join(run.Dir, rel))
	if err != nil || len(data) < 5000 || len(data) > 5100 || !strings.HasSuffix(string(data), "the rest is dropped]\n") {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}
