package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// key returns a valid key that says what it is for.
func key(text string) string { return sumText([]byte(text)) }

// unsynced spares tests the waiting for the disk.
type unsynced struct{ osFS }

func (unsynced) Sync(string) error    { return nil }
func (unsynced) SyncAll(string) error { return nil }

func openTest(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{FS: unsynced{}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tempDir is in memory where the machine has that: the tests make tens of thousands of files, and none needs to last.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "pipeline-store-")
	if err != nil {
		dir, err = os.MkdirTemp("", "pipeline-store-")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeTree(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func newTest(t testing.TB) *Store {
	t.Helper()
	return openTest(t, filepath.Join(tempDir(t), "cache"))
}

// fill writes a small tree with everything that an entry may hold.
func fill(t testing.TB, dir, content string) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(dir, "bin"), 0o755))
	must(os.MkdirAll(filepath.Join(dir, "share", "empty"), 0o700))
	must(os.WriteFile(filepath.Join(dir, "bin", "postgres"), []byte("#!"+content), 0o755))
	must(os.WriteFile(filepath.Join(dir, "share", "odd \"name\"\n"), []byte(content), 0o644))
	must(os.WriteFile(filepath.Join(dir, "secret"), []byte("password"), 0o600))
	must(os.Link(filepath.Join(dir, "bin", "postgres"), filepath.Join(dir, "bin", "second name")))
	must(os.Symlink("postgres", filepath.Join(dir, "bin", "postmaster")))
}

// build makes an entry of the key of a recipe.
func build(t testing.TB, s *Store, recipe string, info Info) *Entry {
	t.Helper()
	p, e, err := s.Create(t.Context(), Request{Key: key(recipe), Recipe: recipe})
	if err != nil {
		t.Fatal(err)
	}
	if e != nil {
		t.Fatalf("key of %q is there already", recipe)
	}
	fill(t, p.Dir, recipe)
	if e, err = p.Commit(t.Context(), info); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEntryLife(t *testing.T) {
	s, err := Open(filepath.Join(tempDir(t), "cache"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	recipe := "stage build\ncflags -O2\n"
	if e, reason := s.Lookup(key(recipe)); e != nil || reason.Text != "not in the cache" {
		t.Fatalf("before: %v, %q", e, reason)
	}
	if exists(s.Dir()) {
		t.Error("Lookup made the cache directory")
	}
	made := build(t, s, recipe, Info{Kind: "build", Label: "build[pg=17]", Facts: map[string]string{"version": "17.0"}, Reason: "first"})
	e, reason := openTest(t, s.Dir()).Lookup(key(recipe))
	if !reason.OK() {
		t.Fatalf("after: %s", reason)
	}
	if e.ID != made.ID || e.Facts["version"] != "17.0" || e.Reason != "first" || e.Files != 9 {
		t.Errorf("meta came back as %+v", e)
	}
	if text, err := e.Recipe(); err != nil || text != recipe {
		t.Errorf("recipe: %q, %v", text, err)
	}
	for _, level := range []Level{ByStat, ByContent} {
		if reason, err := s.Check(t.Context(), e, level); err != nil || !reason.OK() {
			t.Errorf("level %d: %s, %v", level, reason, err)
		}
	}
	p, again, err := s.Create(t.Context(), Request{Key: key(recipe), Recipe: recipe})
	if p != nil || err != nil || again.ID != made.ID {
		t.Errorf("Create of a present key: %v, %v, %v", p, again, err)
	}
	left, _ := filepath.Glob(filepath.Join(s.Dir(), "{pending,locks,aside}", "*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestModesAreSealed(t *testing.T) {
	s := newTest(t)
	e := build(t, s, "r", Info{Kind: "build"})
	want := map[string]os.FileMode{".": 0o555, "bin": 0o555, "bin/postgres": 0o555, "share/empty": 0o555,
		"share/odd \"name\"\n": 0o444, "secret": 0o400}
	for name, mode := range want {
		info, err := os.Stat(filepath.Join(e.Dir(), name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), mode)
		}
	}
}

func TestCommitRefuses(t *testing.T) {
	tests := map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"pipe":            {func(dir string) error { return mkfifo(filepath.Join(dir, "p")) }, "p is a pipe"},
		"link to pending": {func(dir string) error { return os.Symlink(filepath.Join(dir, "x"), filepath.Join(dir, "l")) }, "gone once"},
		"hard link to another's file": {func(dir string) error {
			other := filepath.Join(dir, "..", "other")
			return errors.Join(os.WriteFile(other, nil, 0o600), os.Link(other, filepath.Join(dir, "x")))
		}, "x has 1 hard links outside of the entry"},
		"vanished": {func(dir string) error { return os.RemoveAll(filepath.Dir(filepath.Dir(dir))) }, "no such file"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newTest(t)
			p, _, err := s.Create(t.Context(), Request{Key: key("k"), Recipe: "k"})
			if err != nil {
				t.Fatal(err)
			}
			if err := test.spoil(p.Dir); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Commit(t.Context(), Info{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Commit: %v, want %q", err, test.want)
			}
			if _, reason := s.Lookup(key("k")); reason.Text != "not in the cache" {
				t.Errorf("Lookup: %s", reason)
			}
			if exists(p.root) {
				t.Error("the pending directory is still there")
			}
		})
	}
}

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }
