package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReferenceIsWritten: docs/formats.md is what the program says of its formats.
func TestReferenceIsWritten(t *testing.T) {
	got, err := Reference()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "..", "docs", "formats.md")
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s is not what `pipeline report --formats` prints (%v): make docs\n%s", path, err, firstDifference(got, string(want)))
	}
}

// TestReferenceIsComplete: every format, column and field is in it, with a meaning.
func TestReferenceIsComplete(t *testing.T) {
	text, err := Reference()
	if err != nil {
		t.Fatal(err)
	}
	names, _ := Formats()
	for _, c := range csvColumns {
		names = append(names, c.name)
	}
	for _, name := range append(names, "verdict.outcome", "verdict.exit_code", "naive_value", "minutes_needed", "sentinel") {
		if !strings.Contains(text, "| `"+name+"` | ") {
			t.Errorf("%s is not described", name)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "| `") && strings.HasSuffix(line, "|  |") {
			t.Errorf("no meaning: %s", line)
		}
	}
}
