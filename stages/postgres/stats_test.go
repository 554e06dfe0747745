package postgres_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
)

// counters are those of every version.
var counters = []string{
	"wal_bytes", "buffers_hit", "buffers_read", "commits", "rollbacks", "rows_returned", "rows_fetched", "rows_inserted",
	"rows_updated", "rows_deleted", "temp_files", "temp_bytes", "deadlocks", "checkpoints", "checkpoints_timed", "checkpoints_requested",
	"checkpoint_write_seconds", "checkpoint_sync_seconds", "buffers_checkpoint", "buffers_clean", "buffers_backend", "buffers_alloc",
}

// since are those that came later.
var since = map[string]int{
	"wal_records": 14, "wal_fpi": 14, "wal_buffers_full": 14, "wal_writes": 14, "wal_syncs": 14,
	"io_read_bytes": 16, "io_write_bytes": 16, "io_extend_bytes": 16, "io_evictions": 16,
	"block_read_seconds": 0, "block_write_seconds": 0,
}

func TestStats(t *testing.T) {
	for _, v := range append(slices.Clone(versions), "12.22", "13.23", "14.20", "16.4", "18.1") {
		t.Run(v, func(t *testing.T) {
			i := pgtest.Install(t, v)
			s := pgtest.Server(t, i, "track_io_timing = on\nautovacuum = off\nwork_mem = 64kB\n")
			before := stats(t, s)
			checkNames(t, before, i.Major())
			work(t, s)
			// The counters of a backend that has ended arrive within a second, on old versions through a file.
			deadline := time.Now().Add(time.Minute)
			short := missed(stats(t, s).Since(before).Counters, i.Major())
			for len(short) > 0 && time.Now().Before(deadline) {
				short = missed(stats(t, s).Since(before).Counters, i.Major())
			}
			if len(short) > 0 {
				t.Errorf("grew too little: %v", short)
			}
		})
	}
}

// missed returns the counters that grew by less than work makes them grow.
func missed(d map[string]float64, major int) map[string]float64 {
	least := map[string]float64{
		"wal_bytes": 50_000 * 60, "rows_inserted": 50_000, "rows_deleted": 1000, "temp_files": 1, "temp_bytes": 100_000,
		"checkpoints": 1, "checkpoints_requested": 1, "commits": 4, "rollbacks": 1, "buffers_hit": 50_000, "buffers_checkpoint": 100,
	}
	if major >= 14 {
		least["wal_records"] = 50_000
	}
	out := map[string]float64{}
	for name, want := range least {
		if d[name] < want {
			out[name] = d[name]
		}
	}
	return out
}

func stats(t *testing.T, s *postgres.Server) postgres.Stats {
	t.Helper()
	st, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func checkNames(t *testing.T, st postgres.Stats, major int) {
	t.Helper()
	for _, name := range counters {
		if _, ok := st.Counters[name]; !ok {
			t.Errorf("%s is missing: %s", name, st.Missing[name])
		}
	}
	for name, first := range since {
		_, ok := st.Counters[name]
		if ok != (major >= first) || ok == (st.Missing[name] != "") {
			t.Errorf("%s: present %v, reason %q", name, ok, st.Missing[name])
		}
	}
}

// work does some of everything that is counted.
func work(t *testing.T, s *postgres.Server) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.ConnString("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, sql := range []string{
		"CREATE TABLE a (id int PRIMARY KEY, t text)",
		"INSERT INTO a SELECT g, repeat('x', 50) FROM generate_series(1, 50000) g",
		"DELETE FROM a WHERE id <= 1000",
		"SELECT count(*) FROM (SELECT t FROM a ORDER BY t, id OFFSET 10) s",
		"CHECKPOINT",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if _, err := conn.Exec(t.Context(), "SELECT 1/0"); err == nil {
		t.Fatal("1/0 worked")
	}
}
