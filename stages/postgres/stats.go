package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Stats are counters of a server since it was started on its data directory, or since it was loaded: only differences of
// two Stats of the same server mean something.
//
// Backends report what they did at most once a second (up to version 14 through a collector that writes twice a
// second), and an idle backend may hold back for ten. So take Stats at the borders of a step, not of a slice.
// "wal_bytes" is exact at any time.
type Stats struct {
	// Counters by name. A counter that the server does not have is absent, never zero.
	Counters map[string]float64
	// Missing says for each absent counter why.
	Missing map[string]string
}

// source is one query for counters: the column names are the counters' names.
type source struct {
	since, until int // major versions, until excluded; 0: no bound
	query        string
}

// sources are all views over the versions. Amounts of data are in bytes, times in seconds.
var sources = []source{
	// The position of the log is used on all versions although pg_stat_wal has a counter since 14: it is exact at once, and
	// versions on both sides of 14 can be compared.
	{0, 0, `SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS wal_bytes`},
	{0, 0, `SELECT sum(blks_hit)::float8 AS buffers_hit, sum(blks_read)::float8 AS buffers_read,
		sum(xact_commit)::float8 AS commits, sum(xact_rollback)::float8 AS rollbacks,
		sum(tup_returned)::float8 AS rows_returned, sum(tup_fetched)::float8 AS rows_fetched,
		sum(tup_inserted)::float8 AS rows_inserted, sum(tup_updated)::float8 AS rows_updated,
		sum(tup_deleted)::float8 AS rows_deleted, sum(temp_files)::float8 AS temp_files,
		sum(temp_bytes)::float8 AS temp_bytes, sum(deadlocks)::float8 AS deadlocks FROM pg_stat_database`},
	{14, 0, `SELECT wal_records::float8 AS wal_records, wal_fpi::float8 AS wal_fpi,
		wal_buffers_full::float8 AS wal_buffers_full FROM pg_stat_wal`},
	{14, 18, `SELECT wal_write::float8 AS wal_writes, wal_sync::float8 AS wal_syncs FROM pg_stat_wal`},
	{18, 0, `SELECT sum(writes)::float8 AS wal_writes, sum(fsyncs)::float8 AS wal_syncs FROM pg_stat_io WHERE object = 'wal'`},
	{0, 17, `SELECT checkpoints_timed::float8 AS checkpoints_timed, checkpoints_req::float8 AS checkpoints_requested,
		(checkpoints_timed + checkpoints_req)::float8 AS checkpoints,
		checkpoint_write_time / 1000 AS checkpoint_write_seconds, checkpoint_sync_time / 1000 AS checkpoint_sync_seconds,
		buffers_checkpoint::float8 AS buffers_checkpoint, buffers_clean::float8 AS buffers_clean,
		buffers_backend::float8 AS buffers_backend, buffers_alloc::float8 AS buffers_alloc FROM pg_stat_bgwriter`},
	{17, 0, `SELECT num_timed::float8 AS checkpoints_timed, num_requested::float8 AS checkpoints_requested,
		(num_timed + num_requested)::float8 AS checkpoints, write_time / 1000 AS checkpoint_write_seconds, sync_time / 1000 AS checkpoint_sync_seconds,
		buffers_written::float8 AS buffers_checkpoint FROM pg_stat_checkpointer`},
	{17, 0, `SELECT buffers_clean::float8 AS buffers_clean, buffers_alloc::float8 AS buffers_alloc FROM pg_stat_bgwriter`},
	// What pg_stat_bgwriter counted as buffers_backend: written or added by everybody but the two background writers.
	{17, 18, `SELECT (coalesce(sum(writes), 0) + coalesce(sum(extends), 0))::float8 AS buffers_backend FROM pg_stat_io
		WHERE object = 'relation' AND backend_type NOT IN ('checkpointer', 'background writer')`},
	{18, 0, `SELECT ((coalesce(sum(write_bytes), 0) + coalesce(sum(extend_bytes), 0)) / current_setting('block_size')::int)::float8
		AS buffers_backend FROM pg_stat_io
		WHERE object = 'relation' AND backend_type NOT IN ('checkpointer', 'background writer')`},
	{16, 18, `SELECT sum(reads * op_bytes)::float8 AS io_read_bytes, sum(writes * op_bytes)::float8 AS io_write_bytes,
		sum(extends * op_bytes)::float8 AS io_extend_bytes, sum(evictions)::float8 AS io_evictions FROM pg_stat_io`},
	{18, 0, `SELECT sum(read_bytes)::float8 AS io_read_bytes, sum(write_bytes)::float8 AS io_write_bytes,
		sum(extend_bytes)::float8 AS io_extend_bytes, sum(evictions)::float8 AS io_evictions
		FROM pg_stat_io WHERE object <> 'wal'`},
}

// timings are counters that stay zero unless the server measures times.
const timings = `SELECT sum(blk_read_time) / 1000 AS block_read_seconds, sum(blk_write_time) / 1000 AS block_write_seconds
	FROM pg_stat_database`

// absent lists the counters that older servers do not have.
var absent = []struct {
	since int
	view  string
	names []string
}{
	{14, "pg_stat_wal", []string{"wal_records", "wal_fpi", "wal_buffers_full", "wal_writes", "wal_syncs"}},
	{16, "pg_stat_io", []string{"io_read_bytes", "io_write_bytes", "io_extend_bytes", "io_evictions"}},
}

// Stats reads the counters over a connection of its own, which stays open between calls.
func (s *Server) Stats(ctx context.Context) (Stats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.monitor == nil || s.monitor.IsClosed() {
		conn, err := pgx.Connect(ctx, s.ConnString("postgres"))
		if err != nil {
			return Stats{}, fmt.Errorf("statistics: %w", err)
		}
		s.monitor = conn
	}
	out, err := readStats(ctx, s.monitor, s.conf.Major())
	if err != nil {
		s.closeMonitor() // it may be in the middle of something
		return Stats{}, fmt.Errorf("statistics: %w", err)
	}
	return out, nil
}

func (s *Server) closeMonitor() {
	if s.monitor == nil {
		return
	}
	_ = s.monitor.Close(context.Background())
	s.monitor = nil
}

func readStats(ctx context.Context, conn *pgx.Conn, major int) (Stats, error) {
	out := Stats{Counters: map[string]float64{}, Missing: map[string]string{}}
	for _, src := range sources {
		if major < src.since || src.until > 0 && major >= src.until {
			continue
		}
		if err := out.add(ctx, conn, src.query); err != nil {
			return out, err
		}
	}
	for _, a := range absent {
		for _, name := range a.names {
			if major < a.since {
				out.Missing[name] = fmt.Sprintf("%s came with version %d", a.view, a.since)
			}
		}
	}
	var timed bool
	if err := conn.QueryRow(ctx, "SELECT current_setting('track_io_timing')::bool").Scan(&timed); err != nil {
		return out, err
	}
	if timed {
		return out, out.add(ctx, conn, timings)
	}
	out.Missing["block_read_seconds"] = "track_io_timing is off"
	out.Missing["block_write_seconds"] = "track_io_timing is off"
	return out, nil
}

func (st *Stats) add(ctx context.Context, conn *pgx.Conn, query string) error {
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return err
		}
		for i, field := range rows.FieldDescriptions() {
			if v, ok := values[i].(float64); ok {
				st.Counters[field.Name] = v
			} else {
				st.Missing[field.Name] = "the server has no value for it"
			}
		}
	}
	return rows.Err()
}

// Since returns the differences against earlier Stats of the same server. What one of the two lacks is missing.
func (st Stats) Since(earlier Stats) Stats {
	out := Stats{Counters: map[string]float64{}, Missing: map[string]string{}}
	for name, v := range st.Counters {
		if before, ok := earlier.Counters[name]; ok {
			out.Counters[name] = v - before
		} else {
			out.Missing[name] = "it was not there at the beginning"
		}
	}
	for name, why := range st.Missing {
		out.Missing[name] = why
	}
	return out
}
