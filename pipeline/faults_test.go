package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryFaultHasATest reads docs/faults.md: every row names tests, and every test that it names exists.
func TestEveryFaultHasATest(t *testing.T) {
	table, err := os.ReadFile("../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := allTests(t)
	name := regexp.MustCompile("`(Test\\w+)((?:/[^`]+)?)`")
	rows := 0
	for line := range strings.Lines(string(table)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| fault |") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		named := name.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(named) == 0 {
			t.Errorf("no test is named: %s", line)
		}
		for _, n := range named {
			if !strings.Contains(tests, "func "+n[1]+"(") {
				t.Errorf("there is no %s: %s", n[1], line)
			}
			for part := range strings.SplitSeq(strings.TrimPrefix(n[2], "/"), "/") {
				if part != "" && !strings.Contains(tests, `t.Run("`+strings.ReplaceAll(part, "_", " ")+`"`) {
					t.Errorf("there is no part %q of %s%s", part, n[1], n[2])
				}
			}
		}
	}
	if rows < 30 {
		t.Errorf("%d rows", rows)
	}
}

// allTests is the text of all test files.
func allTests(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, root := range []string{".", "../stages", "../builder"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
