package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An entry is one member of a crafted archive.
type entry struct {
	name string
	kind byte // tar type; 0 is a regular file
	link string
	body string
	mode int64
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Mode: e.mode, Size: int64(len(e.body))}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if e.mode == 0 {
			h.Mode = 0o644
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sourceTar is a small honest source archive.
func sourceTar(t testing.TB) []byte {
	return gzipped(t, tarOf(t,
		entry{name: "pg-1.0/", kind: tar.TypeDir, mode: 0o755},
		entry{name: "pg-1.0/configure", body: "#!/bin/sh\n", mode: 0o755},
		entry{name: "pg-1.0/src/main.c", body: "int main;\n"},
		entry{name: "pg-1.0/latest", kind: tar.TypeSymlink, link: "src/main.c"},
	))
}

var sourceTarFiles = []string{"configure", "latest", "src/main.c"}

func sha256Of(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// files lists what is in dir, links included.
func files(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantFiles(t testing.TB, dir string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := files(t, dir); !slices.Equal(got, want) {
		t.Errorf("files are %q, want %q", got, want)
	}
}

func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error has no %q:\n%v", p, err)
		}
	}
}

// bring resolves and fetches, as the stage does, and fails the test on any error.
func bring(t testing.TB, opt Options, addrs ...string) (Resolved, Facts, string) {
	t.Helper()
	r := resolved(t, opt, addrs...)
	dest := filepath.Join(t.TempDir(), "dest")
	opt.Mirrors = addrs
	f, err := Fetch(context.Background(), r, dest, opt)
	if err != nil {
		t.Fatalf("fetch: %v", err)
	}
	return r, f, dest
}

func resolved(t testing.TB, opt Options, addrs ...string) Resolved {
	t.Helper()
	r, err := Resolve(context.Background(), addrs, opt)
	if err != nil {
		t.Fatalf("resolve: %v", err)
	}
	return r
}
