package report

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"pgpipeline/pipeline/internal/store"
)

func TestServerLogs(t *testing.T) {
	var b strings.Builder
	b.WriteString("2026-03-01 06:00:00 UTC [1] LOG:  starting PostgreSQL 17.0\n")
	b.WriteString("2026-03-01 06:00:00 UTC [2] FATAL:  the database system is starting up\n")
	b.WriteString("2026-03-01 06:00:01 UTC [3] LOG:  automatic vacuum of table \"x.pg_catalog.pg_class\": index scans: 1\n")
	b.WriteString("2026-03-01 06:00:02 UTC [3] LOG:  automatic vacuum of table \"bench.public.sbtest1\": index scans: 1\n")
	b.WriteString("\tpages: 0 removed " + strings.Repeat("x", 100_000) + "\n")
	b.WriteString("2026-03-01 06:00:03 UTC [4] ERROR:  deadlock detected \x1b[31m password=hunter2\n")
	for i := range 70 {
		fmt.Fprintf(&b, "2026-03-01 06:01:%02d UTC [5] LOG:  checkpoint complete: wrote %d buffers\n", i%60, i)
	}
	in := example()
	in.Files = fstest.MapFS{"logs/run.log": {Data: []byte(b.String())}, "logs/other.log": {Data: []byte("ERROR: not ours\n")}}
	logs := serverLogs(Build(in.Record, in.Verdict), in.Files)
	if len(logs) != 1 {
		t.Fatalf("%d logs", len(logs))
	}
	l := logs[0]
	if l.Checkpoints != 70 || l.Vacuums != 2 || l.Errors != 1 || len(l.Lines) != logExcerptLines || l.More != 12 {
		t.Errorf("%d checkpoints, %d vacuums, %d errors, %d lines, %d more", l.Checkpoints, l.Vacuums, l.Errors, len(l.Lines), l.More)
	}
	if text := l.Text(); strings.Contains(text, "hunter2") || strings.Contains(text, "\x1b") || strings.Contains(text, "starting") {
		t.Errorf("excerpt %s", text)
	}
	if page := render(t, "html", in); !strings.Contains(page, "70 checkpoints, 2 vacuums by autovacuum") || !strings.Contains(page, "sbtest1") {
		t.Error("the page has no excerpt")
	}
	in.Files = nil
	if page := render(t, "html", in); strings.Contains(page, `id="serverlog"`) {
		t.Error("a section about a log that is not at hand")
	}
}

func TestServerLogsByVariant(t *testing.T) {
	in := example()
	text := "a line of the stage\n" +
		"15.8| 2026-03-01 06:00:01 UTC [3] LOG:  checkpoint complete: wrote 1 buffers\n" +
		"17.0| 2026-03-01 06:00:02 UTC [4] ERROR:  deadlock detected\n" +
		"15.8| 2026-03-01 06:00:03 UTC [3] LOG:  checkpoint complete: wrote 2 buffers\n" +
		"nobody| 2026-03-01 06:00:04 UTC [5] LOG:  checkpoint complete: wrote 3 buffers\n"
	in.Files = fstest.MapFS{"logs/run.log": {Data: []byte(text)}}
	var got []string
	for _, l := range serverLogs(Build(in.Record, in.Verdict), in.Files) {
		got = append(got, fmt.Sprintf("%s: %d checkpoints, %d errors, %s", l.Title(), l.Checkpoints, l.Errors, l.Lines[0][:10]))
	}
	want := []string{"run: 1 checkpoints, 0 errors, nobody| 20", "15.8 (run): 2 checkpoints, 0 errors, 2026-03-01", "17.0 (run): 0 checkpoints, 1 errors, 2026-03-01"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("logs\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestServerLogOfAFacet: a facet's log has the name that the store gives it, also where the name has signs that no file may have.
func TestServerLogOfAFacet(t *testing.T) {
	in := example()
	in.Record.Facets[0].Name = "clients=8/x y"
	path := store.RunInfo{}.LogPath("run[clients=8/x y]")
	in.Files = fstest.MapFS{path: {Data: []byte("LOG:  checkpoint complete: wrote 1 buffers\n")}}
	logs := serverLogs(Build(in.Record, in.Verdict), in.Files)
	if len(logs) != 1 || logs[0].Node != "run[clients=8/x y]" || logs[0].Checkpoints != 1 {
		t.Errorf("%s: %+v", path, logs)
	}
}
