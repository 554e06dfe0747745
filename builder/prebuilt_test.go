package builder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// builtTree is an install tree made from the stand-in.
func builtTree(t *testing.T) string {
	t.Helper()
	s, log := fakeSpec(t)
	if _, err := Build(t.Context(), s); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	return s.Dest
}

func prebuiltSpec(t *testing.T, source string) Spec {
	dir := place(t)
	return Spec{Recipe: Prebuilt, Source: source, Dest: filepath.Join(dir, "dest"), Scratch: filepath.Join(dir, "scratch"), As: account(t)}
}

// An npm package has its programs some folders down, has lost permission bits, and lists the links that it cannot hold.
func TestPrebuiltFromPackage(t *testing.T) {
	package_ := filepath.Join(place(t), "package")
	native := filepath.Join(package_, "native")
	if err := copyTree(t.Context(), builtTree(t), native); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(native, "lib/libpqstandin.so"), filepath.Join(native, "lib/libpqstandin.so.5.15")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"postgres", "psql"} {
		if err := os.Chmod(filepath.Join(native, "bin", name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(native, "pg-symlinks.json"), `[{"source":"native/lib/libpqstandin.so.5.15","target":"native/lib/libpqstandin.so"}]`, 0o644)
	s := prebuiltSpec(t, package_)
	r, err := Build(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if r.Version != "15.99" || r.BinDir != "bin" || !strings.Contains(r.Configure, "'--enable-debug'") {
		t.Errorf("result %+v", r)
	}
	if target, err := os.Readlink(filepath.Join(s.Dest, "lib/libpqstandin.so")); err != nil || target != "libpqstandin.so.5.15" {
		t.Errorf("libpqstandin.so leads to %q, %v", target, err)
	}
	if exists(filepath.Join(s.Dest, "pg-symlinks.json")) {
		t.Error("notes of the package were taken over")
	}
}

// Debian has programs and shared files in folders of the version; they must stay where they are to each other.
func TestPrebuiltFromDebian(t *testing.T) {
	tree, debian := builtTree(t), place(t)
	if err := copyTree(t.Context(), tree, filepath.Join(debian, "lib/postgresql/15")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(debian, "share/postgresql/15/postgres.bki"), "", 0o644)
	s := prebuiltSpec(t, debian)
	r, err := Build(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if r.BinDir != "lib/postgresql/15/bin" || !exists(filepath.Join(s.Dest, "share/postgresql/15/postgres.bki")) {
		t.Errorf("programs in %s, without their shared files", r.BinDir)
	}
}

func TestPrebuiltRefuses(t *testing.T) {
	tree := builtTree(t)
	tests := []struct {
		name   string
		change func(t *testing.T, dir string, s *Spec)
		want   string
	}{
		{"no server", func(t *testing.T, dir string, s *Spec) { remove(t, dir, "bin/postgres") }, "holds no server"},
		{"no initdb", func(t *testing.T, dir string, s *Spec) { remove(t, dir, "bin/initdb") }, "initdb is not in it"},
		{"no library", func(t *testing.T, dir string, s *Spec) { remove(t, dir, "lib/libpqstandin.so") }, "libpqstandin.so"},
		{"no program", func(t *testing.T, dir string, s *Spec) {
			writeFile(t, filepath.Join(dir, "bin/postgres"), "#!/bin/sh\necho something else\n", 0o755)
		}, `postgres --version says "something else\n"`},
		{"link outside", func(t *testing.T, dir string, s *Spec) {
			writeFile(t, filepath.Join(dir, "pg-symlinks.json"), `[{"source":"native/../../etc/passwd","target":"native/lib/x"}]`, 0o644)
		}, "leaves the package"},
		{"two servers", func(t *testing.T, dir string, s *Spec) {
			copyInto(t, dir, "usr/lib/postgresql/16")
			copyInto(t, dir, "usr/lib/postgresql/17")
			remove(t, dir, "bin/postgres")
		}, "holds several servers"},
		{"patches", func(t *testing.T, dir string, s *Spec) { s.Patches = []string{harmlessPatch} }, "cannot apply patches"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(place(t), "tree")
			if err := copyTree(t.Context(), tree, dir); err != nil {
				t.Fatal(err)
			}
			s := prebuiltSpec(t, dir)
			test.change(t, dir, &s)
			_, err := Build(t.Context(), s)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want something with %q", err, test.want)
			}
		})
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// copyInto puts a server at a place below dir.
func copyInto(t *testing.T, dir, at string) {
	t.Helper()
	writeFile(t, filepath.Join(dir, at, "bin/postgres"), "", 0o755)
}
