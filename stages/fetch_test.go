package stages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgpipeline/pipeline/engine"
)

func fetchArchive(t *testing.T, text string) (data []byte, sum string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "pg-1.0/VERSION", Mode: 0o644, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	s := sha256.Sum256(b.Bytes())
	return b.Bytes(), hex.EncodeToString(s[:])
}

// fetchServer serves data under every path but /gone and counts the requests.
func fetchServer(t *testing.T, data []byte) (addr string, hits *atomic.Int64) {
	hits = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		if strings.HasPrefix(r.URL.Path, "/gone") {
			http.NotFound(w, r)
			return
		}
		w.Write(data)
	}))
	t.Cleanup(s.Close)
	return s.URL, hits
}

func pinned(t *testing.T, f *FetchStage, locked *engine.Pin) *engine.Pin {
	t.Helper()
	if err := f.Check(engine.HostFacts{}); err != nil {
		t.Fatal(err)
	}
	pin, err := f.Pin(context.Background(), locked)
	if err != nil {
		t.Fatal(err)
	}
	return pin
}

func content(t *testing.T, f *FetchStage) string {
	t.Helper()
	lines, err := f.Fingerprint(context.Background(), engine.HostFacts{})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// runFetch runs the stage and returns its folder, facts and warnings.
func runFetch(t *testing.T, f *FetchStage) (dir string, facts map[string]string, warnings []string) {
	t.Helper()
	facts = map[string]string{}
	env := &engine.Env{Dir: t.TempDir(), Scratch: t.TempDir(), Log: &bytes.Buffer{}, Progress: func(engine.Progress) {},
		Warn: func(format string, args ...any) { warnings = append(warnings, format) },
		Fact: func(name, value string) { facts[name] = value }}
	if err := f.Run(context.Background(), env); err != nil {
		t.Fatal(err)
	}
	return env.Dir, facts, warnings
}

func TestFetchWithChecksum(t *testing.T) {
	data, sum := fetchArchive(t, "1.0")
	addr, hits := fetchServer(t, data)
	f := &FetchStage{Source: []string{addr + "/gone.tar.gz", addr + "/pg-1.0.tar.gz"}, SHA256: strings.ToUpper(sum)}
	pin := pinned(t, f, nil)
	if hits.Load() != 0 || pin.SHA256 != sum {
		t.Errorf("%d requests to pin what has a checksum; pin %+v", hits.Load(), pin)
	}
	dir, facts, warnings := runFetch(t, f)
	if text, _ := os.ReadFile(filepath.Join(dir, "VERSION")); string(text) != "1.0" {
		t.Errorf("VERSION has %q", text)
	}
	if facts["source"] != addr+"/pg-1.0.tar.gz" || facts["verified"] != "sha256 of the experiment" || !strings.Contains(facts["notes"], "404") || len(warnings) != 0 {
		t.Errorf("facts %q, warnings %q", facts, warnings)
	}
	// Another mirror of the same content is the same content.
	g := &FetchStage{Source: []string{"https://elsewhere.example.org/x.tar.gz"}, SHA256: sum}
	pinned(t, g, nil)
	if content(t, f) != content(t, g) || content(t, f) != "content: sha256:"+sum {
		t.Errorf("contents %q and %q", content(t, f), content(t, g))
	}
}

func TestFetchWithoutChecksum(t *testing.T) {
	data, sum := fetchArchive(t, "1.0")
	addr, hits := fetchServer(t, data)
	f := &FetchStage{Source: []string{addr + "/pg-1.0.tar.gz"}}
	pin := pinned(t, f, nil)
	again := &FetchStage{Source: f.Source} // another cell of the same plan
	pinned(t, again, pin)
	_, facts, warnings := runFetch(t, again)
	if facts["verified"] != "unverified: no checksum" || len(warnings) != 1 {
		t.Errorf("facts %q, warnings %q", facts, warnings)
	}
	if hits.Load() != 1 || pin.SHA256 != sum {
		t.Errorf("%d requests, want 1; pin %+v", hits.Load(), pin)
	}
}

func TestFetchLocked(t *testing.T) {
	data, sum := fetchArchive(t, "2.0")
	addr, hits := fetchServer(t, data)
	lock := &engine.Pin{Resolved: addr + "/pg-2.0.tar.gz", Version: "2.0", SHA256: sum}
	f := &FetchStage{Source: []string{addr + "/pg-2.0.tar.gz"}}
	if pin := pinned(t, f, lock); hits.Load() != 0 || pin.Resolved != lock.Resolved || pin.SHA256 != lock.SHA256 {
		t.Errorf("%d requests with a lock; pin %+v", hits.Load(), pin)
	}
	_, facts, warnings := runFetch(t, f)
	if facts["verified"] != "sha256 of the lock file" || facts["version"] != "2.0" || len(warnings) != 0 {
		t.Errorf("facts %q, warnings %q", facts, warnings)
	}
	// The experiment's own checksum is above the lock file's.
	g := &FetchStage{Source: f.Source, SHA256: strings.Repeat("0", 64)}
	if pin := pinned(t, g, lock); pin.SHA256 != g.SHA256 {
		t.Errorf("pin %+v: the lock contradicts the experiment and was used", pin)
	}
	env := &engine.Env{Dir: t.TempDir(), Scratch: t.TempDir(), Log: &bytes.Buffer{}, Progress: func(engine.Progress) {}}
	err := g.Run(context.Background(), env)
	if err == nil || !strings.Contains(err.Error(), "is not the file that is wanted") {
		t.Errorf("error %v", err)
	}
}

func TestFetchFolderIsLookedAtAnew(t *testing.T) {
	base := t.TempDir()
	src := filepath.Join(base, "pg")
	if err := os.Mkdir(src, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(src, "a.c")
	if err := os.WriteFile(file, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := &FetchStage{Source: []string{"./pg"}}
	f.SetBase(base)
	own := pinned(t, f, nil)
	if again := pinned(t, f, own); again != own {
		t.Error("another cell of the same plan does not share the pin")
	}
	lock := &engine.Pin{Resolved: own.Resolved, Version: own.Version, SHA256: own.SHA256} // as it is read from a file
	before := content(t, f)
	if err := os.WriteFile(file, []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	g := &FetchStage{Source: f.Source}
	g.SetBase(base)
	if pin := pinned(t, g, lock); pin.SHA256 == lock.SHA256 || content(t, g) == before {
		t.Error("an edit of the working tree was not seen because there is a lock")
	}
	// When the folder is gone, what it was may still be in the cache.
	if err := os.RemoveAll(src); err != nil {
		t.Fatal(err)
	}
	h := &FetchStage{Source: f.Source}
	h.SetBase(base)
	if pin := pinned(t, h, lock); pin.Resolved != lock.Resolved || pin.SHA256 != lock.SHA256 || content(t, h) != before {
		t.Errorf("pin %+v, want that of the lock", pin)
	}
}

func TestFetchCheck(t *testing.T) {
	for _, c := range []struct {
		stage FetchStage
		field string
		want  string
	}{
		{FetchStage{}, "source", "source is missing"},
		{FetchStage{Source: []string{"https://h/x"}, SHA256: "abc"}, "sha256", "not 64 hexadecimal digits"},
		{FetchStage{Source: []string{"https://h/x", "ext::sh -c id"}}, "source.1", "unknown kind of source"},
		{FetchStage{Source: []string{"git::https://user:s3cret@h/x?ref=--help"}}, "source", "not the name of a branch"},
	} {
		err := c.stage.Check(engine.HostFacts{})
		var field *engine.FieldError
		if !errors.As(err, &field) || field.Field != c.field || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%+v: error %v", c.stage, err)
		}
	}
	f := &FetchStage{Source: []string{"https://user:s3cret@h/x.tar.gz"}}
	if got := f.Address(); slices.Contains(strings.Split(got, ":"), "s3cret@h/x.tar.gz") || strings.Contains(got, "s3cret") {
		t.Errorf("the lock file would have %q", got)
	}
}
