package builder

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pgpipeline/pipeline/proc"
)

// place returns a directory that every account can get to: builds run as another one when the tests run as root.
func place(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func account(t *testing.T) *proc.Account {
	t.Helper()
	as, err := proc.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	return as
}

// log is an io.Writer for a build that a test can look at meanwhile.
type logBuffer struct {
	mu     sync.Mutex
	buf    bytes.Buffer
	marker string
	seen   chan struct{} // closed when marker was written
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.buf.Write(p)
	if l.seen != nil && bytes.Contains(l.buf.Bytes(), []byte(l.marker)) {
		close(l.seen)
		l.seen = nil
	}
	return n, err
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// fakeSource copies the stand-in for a source tree to where the building account can read and not write it.
func fakeSource(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(place(t), "source")
	if err := copyTree(t.Context(), "testdata/fakepg", dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fakeSpec is a build of the stand-in that succeeds.
func fakeSpec(t *testing.T) (Spec, *logBuffer) {
	t.Helper()
	dir, log := place(t), &logBuffer{}
	return Spec{
		Recipe: Autotools, Source: fakeSource(t), Dest: filepath.Join(dir, "dest"), Scratch: filepath.Join(dir, "scratch"),
		Configure: []string{"--enable-debug", "--without-readline", "--without-zlib"},
		Contrib:   []string{"pgstattuple", "pg_prewarm"}, Jobs: 2, As: account(t), Log: log,
	}, log
}

// writeFile writes a file that every account can read, and creates its folder.
func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
