package postgres

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	for line, want := range map[string]struct {
		version string
		num     int
	}{
		"postgres (PostgreSQL) 17.0\n":                         {"17.0", 170000},
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)": {"15.18", 150018},
		"postgres (PostgreSQL) 19devel":                        {"19devel", 190000},
		"postgres (PostgreSQL) 18beta1":                        {"18beta1", 180000},
		"postgres (PostgreSQL) 9.6.24":                         {},
		"postgres: command not found":                          {},
	} {
		version, num, err := parseVersion(line)
		if version != want.version || num != want.num || (err == nil) != (want.num > 0) {
			t.Errorf("%q: %q, %d, %v", line, version, num, err)
		}
	}
}

// TestLogIsBounded floods the log.
func TestLogIsBounded(t *testing.T) {
	var file bytes.Buffer
	l := newServerLog(&file, 1000)
	for n := range 10_000 {
		fmt.Fprintf(l, "2026-01-01 00:00:00.000 UTC [%d] LOG:  a line of a flood\n", n)
	}
	fmt.Fprint(l, "2026-01-01 00:00:00.000 UTC [1] PANIC:  could not wri", "te to file \"x\": No space left on device\n")
	if file.Len() > 1200 || !strings.HasSuffix(file.String(), "[the log has reached its size limit; the rest is dropped]\n") {
		t.Errorf("the file has %d bytes and ends in %q", file.Len(), file.String()[max(0, file.Len()-100):])
	}
	if lines := l.tail.Lines(); len(lines) != logTailLines || !strings.Contains(lines[len(lines)-1], "PANIC") {
		t.Errorf("%d lines in memory", len(lines))
	}
	if got, want := l.reason(), `PANIC: could not write to file "x": No space left on device`; got != want {
		t.Errorf("reason is %q, want %q", got, want)
	}
}

// failing is a full disk.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrInvalid }

func TestLogSurvivesAFullDisk(t *testing.T) {
	l := newServerLog(failing{}, 0)
	for range 2 {
		if n, err := l.Write([]byte("line\n")); n != 5 || err != nil {
			t.Errorf("the server would be stopped: %d, %v", n, err)
		}
	}
	if l.dropped == 0 {
		t.Error("nothing was counted as dropped")
	}
}

func TestReason(t *testing.T) {
	for log, want := range map[string]string{
		"": "",
		"LOG:  starting\nFATAL:  the database system is starting up\nFATAL:  first\nFATAL:  second\n": "FATAL: first",
		"FATAL:  first\nPANIC:  worst\n":                            "PANIC: worst",
		"postgres: error while loading shared libraries: libx.so\n": "postgres: error while loading shared libraries: libx.so",
		"LOG:  starting\n":                                          "",
	} {
		l := newServerLog(nil, 0)
		fmt.Fprint(l, log)
		if got := l.reason(); got != want {
			t.Errorf("%q: reason is %q, want %q", log, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"shared_buffers", "work_mem", "wal_buffers", "jit"}
	for name, want := range map[string]string{
		"shared_bufers": "shared_buffers", "Work_Mem": "work_mem", "workmem": "work_mem", "wal_bufers": "wal_buffers",
		"gti": "", "completely_different": "",
	} {
		if got := nearest(name, names); got != want {
			t.Errorf("nearest to %q is %q, want %q", name, got, want)
		}
	}
}

func FuzzControlFile(f *testing.F) {
	f.Add(make([]byte, 8192))
	sample := make([]byte, 8192)
	sample[8] = 1
	copy(sample[208:], floatMark)
	f.Add(sample)
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := parseControl(text); err == nil && c.ControlVersion == 0 {
			t.Errorf("accepted without a version: %+v", c)
		}
	})
}
