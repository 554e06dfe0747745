package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// seed puts n entries with recipes of 60 lines into a store.
func seed(b *testing.B, s *Store, n int) (keys, recipes []string) {
	b.Helper()
	for i := range n {
		recipe := benchRecipe(i)
		p, _, err := s.Create(b.Context(), Request{Key: key(recipe), Recipe: recipe})
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.Dir, "f"), []byte(recipe), 0o644); err != nil {
			b.Fatal(err)
		}
		if _, err := p.Commit(b.Context(), Info{Kind: "build", Facts: map[string]string{"version": "17.0", "cflags": "-O2 -g"}}); err != nil {
			b.Fatal(err)
		}
		keys, recipes = append(keys, key(recipe)), append(recipes, recipe)
	}
	return keys, recipes
}

func benchRecipe(i int) string {
	var text strings.Builder
	for line := range 60 {
		value := line
		if line%20 == 0 {
			value = i
		}
		fmt.Fprintf(&text, "parameter.%d = value %d\n", line, value)
	}
	return text.String()
}

// BenchmarkLookup500 is the store's share of planning 500 nodes that are all cached.
func BenchmarkLookup500(b *testing.B) {
	s := newTest(b)
	keys, _ := seed(b, s, 500)
	for b.Loop() {
		for _, k := range keys {
			if _, reason := s.Lookup(k); !reason.OK() {
				b.Fatal(reason)
			}
		}
	}
}

// BenchmarkNearest is one explained miss among 10,000 entries, the index read anew each time or not.
func BenchmarkNearest(b *testing.B) {
	s := newTest(b)
	var index []byte
	keys, _ := seed(b, s, 1)
	for i := range 10_000 {
		recipe := benchRecipe(i)
		index = append(index, formatIndexLine(key(recipe), hashLines(recipe))...)
	}
	if err := os.WriteFile(s.indexPath("build"), index, 0o644); err != nil {
		b.Fatal(err)
	}
	want := strings.Replace(benchRecipe(0), "value 7\n", "value seven\n", 1)
	for name, cold := range map[string]bool{"cold": true, "warm": false} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if cold {
					s.nearest.kinds = nil
				}
				if k, _, ok := s.Nearest("build", want); !ok || k != keys[0] {
					b.Fatal(k, ok)
				}
			}
		})
	}
}

// tree writes files of a size into a directory, 100 in each subdirectory.
func tree(b *testing.B, dir string, files, size int) {
	b.Helper()
	data := []byte(strings.Repeat("0123456789abcdef", size/16))
	for i := range files {
		sub := filepath.Join(dir, fmt.Sprint(i/100))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprint(i)), data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommit is the cost of making an entry durable: a source tree has 7,000 files, an install tree 1,500.
func BenchmarkCommit(b *testing.B) {
	for _, files := range []int{10, 1500, 7000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			dir := b.TempDir() // a disk, where there is one
			b.Cleanup(func() { _ = removeTree(filepath.Join(dir, "cache")) })
			s, err := Open(filepath.Join(dir, "cache"), Options{})
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				b.StopTimer()
				k := key(fmt.Sprint(files, n))
				n++
				p, _, err := s.Create(b.Context(), Request{Key: k})
				if err != nil {
					b.Fatal(err)
				}
				tree(b, p.Dir, files, 16<<10)
				b.StartTimer()
				if _, err := p.Commit(b.Context(), Info{Kind: "fetch"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCheck compares the two levels on an install tree (1,500 files) and on loaded data (1 GiB).
func BenchmarkCheck(b *testing.B) {
	for _, shape := range []struct {
		name        string
		files, size int
	}{{"install", 1500, 40 << 10}, {"data", 64, 16 << 20}} {
		s := newTest(b)
		p, _, err := s.Create(b.Context(), Request{Key: key("k")})
		if err != nil {
			b.Fatal(err)
		}
		tree(b, p.Dir, shape.files, shape.size)
		e, err := p.Commit(b.Context(), Info{})
		if err != nil {
			b.Fatal(err)
		}
		for level, name := range []string{"ByStat", "ByContent"} {
			b.Run(shape.name+"/"+name, func(b *testing.B) {
				b.SetBytes(e.Bytes)
				for b.Loop() {
					if reason, err := s.Check(b.Context(), e, Level(level)); err != nil || !reason.OK() {
						b.Fatal(reason, err)
					}
				}
			})
		}
	}
}
