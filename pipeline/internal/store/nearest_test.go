package store

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	s := newTest(t)
	if _, _, ok := s.Nearest("build", "a\n"); ok {
		t.Error("found something in an empty cache")
	}
	recipes := []string{"stage build\nversion 16\nflags -O2\n", "stage build\nversion 17\nflags -O2\n", "stage build\nversion 17\nflags -O3\nlz4\n"}
	for _, r := range recipes {
		build(t, s, r, Info{Kind: "build"})
	}
	build(t, s, "stage build\nversion 17\nflags -O2 \n", Info{Kind: "load"})
	tests := map[string]string{
		"stage build\nversion 17\nflags -O2 -g\n":       recipes[1],
		"stage build\nversion 17\nflags -O3\nllvm\n":    recipes[2],
		"stage build\nversion 18\nflags -O2\n":          recipes[1], // as near as 16, and younger
		"stage build\nversion 16\nflags -O2\nsomething": recipes[0],
	}
	for want, nearest := range tests {
		for _, opened := range []*Store{s, openTest(t, s.Dir())} {
			k, got, ok := opened.Nearest("build", want)
			if !ok || got != nearest || k != key(nearest) {
				t.Errorf("%q: %q, %v", want, got, ok)
			}
		}
	}
	if err := s.Remove(t.Context(), key(recipes[1])); err != nil {
		t.Fatal(err)
	}
	if _, got, _ := s.Nearest("build", "stage build\nversion 17\nflags -O2 -g\n"); got != recipes[0] && got != recipes[2] {
		t.Errorf("after the nearest was removed: %q", got)
	}
}

// TestIndexIsRebuilt: losing or tearing the index loses explanations until the next GC and nothing else.
func TestIndexIsRebuilt(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"lost":    os.Remove,
		"garbage": func(path string) error { return os.WriteFile(path, []byte("garbage\n"), 0o644) },
		"torn": func(path string) error {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			return os.Truncate(path, info.Size()-5)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTest(t)
			build(t, s, "a\n", Info{Kind: "k"})
			build(t, s, "b\n", Info{Kind: "k"})
			if err := spoil(s.indexPath("k")); err != nil {
				t.Fatal(err)
			}
			build(t, s, "c\n", Info{Kind: "k"})
			if _, got, ok := s.Nearest("k", "c\n"); !ok || got != "c\n" {
				t.Errorf("what was added after the damage: %q, %v", got, ok)
			}
			if _, err := s.GC(t.Context(), GCOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, got, ok := s.Nearest("k", "b\n"); !ok || got != "b\n" {
				t.Errorf("after GC: %q, %v", got, ok)
			}
		})
	}
}

func TestDifference(t *testing.T) {
	removed, added := Difference("a\nb\nb\nc\n", "a\nb\nd\nc")
	if !slices.Equal(removed, []string{"b"}) || !slices.Equal(added, []string{"d"}) {
		t.Errorf("removed %q, added %q", removed, added)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(formatManifest([]node{{kind: 'd', path: ".", mode: 0o555, modTime: 1}, {kind: 'f', path: "a \"b\"\n", mode: 0o444, size: 3},
		{kind: 'l', path: "bin/x", target: "../y z"}}))
	f.Add([]byte(manifestHeader + "\nl \"a\" \"../b\"\n"))
	f.Add([]byte(manifestHeader + "\nf 444 1 2 00 \"b\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		nodes, err := parseManifest(data)
		if err != nil {
			return
		}
		for _, n := range nodes {
			if n.path == "" || strings.HasPrefix(n.path, "/") || slices.Contains(strings.Split(n.path, "/"), "..") {
				t.Errorf("path %q leaves the entry", n.path)
			}
		}
		again, err := parseManifest(formatManifest(nodes))
		if err != nil || !slices.Equal(again, nodes) {
			t.Errorf("printed and read again: %v, %v", again, err)
		}
	})
}

func FuzzMeta(f *testing.F) {
	data, err := formatMeta(&Entry{Key: key("k"), Info: Info{Kind: "k", Facts: map[string]string{"a": "b"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("sha256 " + sumText([]byte("{}")) + "\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parseMeta(data)
		if err == nil && checkKey(e.Key) != nil {
			t.Errorf("accepted key %q", e.Key)
		}
	})
}

func FuzzIndex(f *testing.F) {
	line := formatIndexLine(key("k"), hashLines("a\nb\n"))
	f.Add(append(line, line[:40]...))
	f.Fuzz(func(t *testing.T, data []byte) {
		good := formatIndexLine(key("good"), hashLines("a\nb\n"))
		entries := parseIndex(append(data, good...))
		if n := len(entries); n == 0 || entries[n-1].key != key("good") || !slices.Equal(entries[n-1].lines, hashLines("a\nb\n")) {
			t.Errorf("a whole line after garbage is lost: %v", entries)
		}
		for _, e := range entries {
			if checkKey(e.key) != nil || !slices.IsSorted(e.lines) {
				t.Errorf("accepted %v", e)
			}
		}
	})
}
