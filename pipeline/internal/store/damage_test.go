package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestDamage spoils an entry in every way that shows without reading its files.
func TestDamage(t *testing.T) {
	rm := func(name string) func(string) error {
		return func(root string) error { return os.RemoveAll(filepath.Join(root, name)) }
	}
	write := func(name, text string) func(string) error {
		return func(root string) error {
			path := filepath.Join(root, name)
			_ = os.Chmod(path, 0o600) // it may be a new one
			return os.WriteFile(path, []byte(text), 0o600)
		}
	}
	tests := []struct {
		name  string
		spoil func(root string) error
		want  string
	}{
		{"meta missing", rm("meta"), "damaged: meta is missing"},
		{"meta empty", write("meta", ""), "damaged: meta: its checksum does not match"},
		{"meta is a directory", func(root string) error { _ = os.Remove(root + "/meta"); return os.Mkdir(root+"/meta", 0o755) }, "damaged: meta: is a directory"},
		{"meta of another key", func(root string) error {
			data, err := formatMeta(&Entry{Key: key("other")})
			if err != nil {
				return err
			}
			return os.WriteFile(root+"/meta", data, 0o600)
		}, "damaged: meta is of key " + short(key("other"))},
		{"out missing", func(root string) error { return removeTree(root + "/out") }, "damaged: its directory is missing"},
		{"manifest missing", rm("manifest"), "damaged: manifest: no such file or directory"},
		{"manifest changed", write("manifest", manifestHeader+"\n"), "damaged: manifest: its checksum does not match"},
		{"recipe missing", rm("recipe.txt"), "damaged: recipe.txt is missing or changed"},
		{"file missing", rm("out/bin/postgres"), "damaged: bin/postgres is missing"},
		{"top file missing", rm("out/secret"), "damaged: secret is missing"},
		{"file added", write("out/bin/extra", "x"), "damaged: bin/extra was added"},
		{"top file added", write("out/extra", "x"), "damaged: extra was added"},
		{"file shorter", func(root string) error { return os.Truncate(root+"/out/bin/postgres", 1) }, "damaged: bin/postgres has 1 bytes instead of 3"},
		{"content and time changed", func(root string) error {
			return os.WriteFile(root+"/out/secret", []byte("PASSWORD"), 0o600)
		}, "damaged: the content of secret has changed"},
		{"mode changed", func(root string) error { return os.Chmod(root+"/out/bin/postgres", 0o711) }, "damaged: bin/postgres has mode 711 instead of 555"},
		{"mode of a directory changed", func(root string) error { return os.Chmod(root+"/out/share/empty", 0o777) }, "damaged: share/empty has mode 777 instead of 555"},
		{"link changed", func(root string) error {
			_ = os.Remove(root + "/out/bin/postmaster")
			return os.Symlink("/bin/sh", root+"/out/bin/postmaster")
		}, "damaged: bin/postmaster points elsewhere"},
		{"file became a link", func(root string) error {
			_ = os.Remove(root + "/out/secret")
			return os.Symlink("/etc/passwd", root+"/out/secret")
		}, "damaged: secret is no longer a file"},
		{"directory became a file", func(root string) error {
			_ = os.Remove(root + "/out/share/empty")
			return os.WriteFile(root+"/out/share/empty", nil, 0o444)
		}, "damaged: share/empty is no longer a directory"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newTest(t)
			e := build(t, s, "k", Info{Kind: "k"})
			spoiled(t, e.root, test.spoil)
			if got := firstReason(t, s); got.Text != test.want || !got.Damaged {
				t.Errorf("reason %q, want %q", got, test.want)
			}
			rebuild(t, s, test.want)
		})
	}
}

// spoiled runs spoil with everything writable, as an ordinary user needs it, and then restores the modes that it left alone.
func spoiled(t *testing.T, root string, spoil func(string) error) {
	t.Helper()
	modes := map[string]fs.FileMode{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		modes[path] = info.Mode()
		return os.Chmod(path, info.Mode().Perm()|0o200)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := spoil(root); err != nil {
		t.Fatal(err)
	}
	for path, mode := range modes {
		info, err := os.Lstat(path)
		if err == nil && info.Mode() == mode|0o200 {
			err = os.Chmod(path, mode.Perm())
		}
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

func firstReason(t *testing.T, s *Store) Reason {
	t.Helper()
	e, reason := s.Lookup(key("k"))
	if reason.OK() {
		var err error
		if reason, err = s.Check(t.Context(), e, ByStat); err != nil {
			t.Fatal(err)
		}
	}
	return reason
}

// rebuild heals the entry and looks that the reason is said.
func rebuild(t *testing.T, s *Store, why string) {
	t.Helper()
	p, e, err := s.Create(t.Context(), Request{Key: key("k"), Recipe: "k"})
	if err != nil || e != nil {
		t.Fatalf("Create: %v, %v", e, err)
	}
	if p.Replaces.Text != why {
		t.Errorf("Pending says %q, want %q", p.Replaces, why)
	}
	fill(t, p.Dir, "k")
	if _, err := p.Commit(t.Context(), Info{Kind: "k"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(t.Context(), key("k")); err != nil {
		t.Error(err)
	}
	checkTidy(t, "rebuilt", s.Dir())
}

// TestEveryByte flips each byte of an entry, one at a time, and finds each by content, those beside the output at once.
func TestEveryByte(t *testing.T) {
	s := newTest(t)
	e := build(t, s, "a recipe\n", Info{Kind: "k", Facts: map[string]string{"a": "b"}})
	flipped := 0
	err := filepath.WalkDir(e.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		for at := 0; err == nil && at < int(info.Size()); at++ {
			flip(t, path, at)
			if s.Verify(t.Context(), e.Key) == nil {
				t.Errorf("%s: byte %d flipped and not noticed", d.Name(), at)
			}
			flip(t, path, at)
			flipped++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(t.Context(), e.Key); err != nil {
		t.Errorf("all bytes flipped back: %v", err)
	}
	t.Logf("%d bytes flipped", flipped)
}

// TestTouchedIsNotDamaged: a copied or restored cache has other times and the same content.
func TestTouchedIsNotDamaged(t *testing.T) {
	s := newTest(t)
	e := build(t, s, "k", Info{Kind: "k"})
	for _, name := range []string{".", "bin", "bin/postgres", "secret"} {
		if err := os.Chtimes(filepath.Join(e.Dir(), name), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if reason := firstReason(t, s); !reason.OK() {
		t.Error(reason)
	}
}
