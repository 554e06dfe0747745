package spec_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/spec"
)

func TestLockRoundTrip(t *testing.T) {
	pins := map[string]engine.Pin{
		"https://github.com/postgres/postgres.git?ref=REL_17_STABLE": {Resolved: "git::https://…?ref=abc", Version: "17.6"},
		"apt::postgresql-17": {Resolved: "apt::postgresql-17=17.6-0+deb13u1", Version: "17.6", Files: map[string]string{"b": "22", "a": "11"}},
		"z: odd # address":   {Resolved: "010", SHA256: "1e5"},
	}
	path := filepath.Join(t.TempDir(), "x.lock.yaml")
	if err := spec.WriteLock(path, pins); err != nil {
		t.Fatal(err)
	}
	got, err := spec.ReadLock[engine.Pin](path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, pins) {
		t.Errorf("got %+v", got)
	}
	text, _ := os.ReadFile(path)
	golden(t, "testdata/lock.golden", string(text))
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("files left behind: %v", left)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o644 {
		t.Errorf("mode is %v", info.Mode())
	}
}

func TestLockErrors(t *testing.T) {
	for text, want := range map[string]string{
		"pins: {}":                                        `key "version" is missing`,
		"version: 2\npins: {}":                            "unknown version 2 of the lock file",
		"version: 1\npins: {a: {resolvd: x}}":             `did you mean "resolved"?`,
		"version: 1\npins: {a: {}}\nextra: 1":             `unknown key "extra"`,
		"version: 1\npins: {a: {resolved: x}, a: {}}":     `duplicate key "a"`,
		"version: 1\n<<<<<<< HEAD\npins: {}\n=======\n":   "x.lock.yaml:2:1: not valid YAML",
		"version: 1\npins: {a: {resolved: x, files: 3}}}": "not valid YAML",
	} {
		if _, err := spec.DecodeLock[engine.Pin]("x.lock.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v, want %q", text, err, want)
		}
	}
	none, err := spec.ReadLock[engine.Pin](filepath.Join(t.TempDir(), "none.lock.yaml"))
	if err != nil || len(none) != 0 {
		t.Errorf("a file that is not there gave %v, %v", none, err)
	}
	empty, err := spec.EncodeLock[engine.Pin](nil)
	if err != nil {
		t.Fatal(err)
	}
	if pins, err := spec.DecodeLock[engine.Pin]("x", empty); err != nil || len(pins) != 0 {
		t.Errorf("no pins came back as %v, %v", pins, err)
	}
}

// A failed write leaves the old file, and nothing beside it.
func TestLockWriteFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.lock.yaml")
	if err := os.Mkdir(path, 0o700); err != nil { // nothing can be renamed over a directory
		t.Fatal(err)
	}
	if err := spec.WriteLock(path, map[string]engine.Pin{}); err == nil || !strings.Contains(err.Error(), "write lock file") {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("files left behind: %v", left)
	}
	if err := spec.WriteLock(filepath.Join(dir, "none", "x.lock.yaml"), map[string]engine.Pin{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory gave %v", err)
	}
}

func TestLockPath(t *testing.T) {
	for in, want := range map[string]string{"a/b.yaml": "a/b.lock.yaml", "b.yml": "b.lock.yaml", "b": "b.lock.yaml"} {
		if got := spec.LockPath(in); got != want {
			t.Errorf("LockPath(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAccept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "accept.yaml")
	load := func(text string) ([]spec.Accepted, error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return spec.LoadAccept(path)
	}
	list, err := load("- {step: hot-points, metric: relqps, size: 0.05, reason: the new planner, until: 2027-01-31, by: Ada}\n")
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if a := list[0]; a.Step != "hot-points" || a.Metric != "relqps" || a.Size != 0.05 || a.Until.Time.Format("2006-01-02") != "2027-01-31" ||
		a.By != "Ada" || a.Reason != "the new planner" || a.Pos.Line != 1 || a.Pos.Col != 3 ||
		a.Ends().Format("2006-01-02") != "2027-02-01" {
		t.Errorf("got %+v", a)
	}
	for text, want := range map[string]string{
		"- {step: a, metric: relqps, size: 0.05, reason: r, until: 2027-01-31}":                `key "by" is missing`,
		"- {step: a, metric: relqps, size: 5 %, reason: r, until: 2027-01-31, by: b}":          `"size" must be a number, not "5 %"`,
		"- {step: a, metric: relqps, size: 0.05, reason: r, until: 2027-02-30, by: b}":         `"2027-02-30" is not a date such as 2027-01-31`,
		"- {step: a, metric: relqps, size: 0.05, reason: r, until: 2027-01-31, by: b, fro: c}": `unknown key "fro"`,
		"step: a": "must be a list, not a mapping",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v, want %q", text, err, want)
		}
	}
	if list, err := spec.LoadAccept(filepath.Join(t.TempDir(), "none")); list != nil || err != nil {
		t.Errorf("a file that is not there gave %v, %v", list, err)
	}
}
