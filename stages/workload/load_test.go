package workload_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
	"pgpipeline/stages/workload"
)

// value returns the columns of a one-row query, joined by blanks.
func value(t testing.TB, s *postgres.Server, sql string) string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgconn.Connect(ctx, s.ConnString(workload.Database))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil || len(results[0].Rows) != 1 {
		t.Fatalf("%s: %v", sql, err)
	}
	var columns []string
	for _, c := range results[0].Rows[0] {
		columns = append(columns, string(c))
	}
	return strings.Join(columns, " ")
}

const contents = "SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM sbtest%d t"

func TestLoadIsTheSameHoweverItIsSplit(t *testing.T) {
	var first [2]string
	for _, version := range []string{"11.21", "17.0"} {
		for _, jobs := range []int{1, 5} {
			s := pgtest.Server(t, pgtest.Install(t, version), "")
			var progress float64
			facts, err := workload.Load(t.Context(), workload.LoadOptions{ConnString: s.ConnString, Workload: "sysbench", Params: small,
				Seed: 42, Jobs: jobs, RangeRows: 100, Progress: func(what string, done, total float64) {
					if jobs == 1 && what == "copy rows" {
						progress = done / total
					}
				}})
			if err != nil || facts.Rows != 1000 || facts.Tables != 2 || facts.Bytes == 0 || jobs == 1 && progress != 1 {
				t.Fatalf("%+v, progress %v, %v", facts, progress, err)
			}
			for i := range first {
				sum := value(t, s, fmt.Sprintf(contents, i+1))
				if first[i] == "" {
					first[i] = sum
				}
				if sum != first[i] {
					t.Errorf("server %s, %d jobs: sbtest%d differs", version, jobs, i+1)
				}
			}
			for sql, want := range map[string]string{
				"SELECT count(*), min(id), max(id), min(k) > 0, max(k) <= 1000, min(length(c)), max(length(pad)) FROM sbtest2": "1000 1 1000 t t 119 59",
				"SELECT nextval('sbtest1_id_seq')": "1001",
				"SELECT string_agg(indexname, ' ' ORDER BY indexname) FROM pg_indexes WHERE schemaname = 'public'":                                               "k_1 k_2 sbtest1_pkey sbtest2_pkey",
				"SELECT string_agg(format_type(atttypid, atttypmod), ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'sbtest1'::regclass AND attnum > 0": "integer,integer,character(120),character(60)",
				"SELECT reltuples, relallvisible = relpages FROM pg_class WHERE relname = 'sbtest1'":                                                             "1000 t",
			} {
				if got := value(t, s, sql); got != want {
					t.Errorf("server %s, %d jobs: %s: %s, want %s", version, jobs, sql, got, want)
				}
			}
		}
	}
}

func TestLoadWithoutPrimaryKey(t *testing.T) {
	s := pgtest.Server(t, pgtest.Install(t, "system"), "")
	p := small
	p.NoPrimaryKey = true
	load(t, s, p, 2)
	if got := value(t, s, "SELECT string_agg(indexname, ' ' ORDER BY indexname) FROM pg_indexes WHERE schemaname = 'public'"); got != "k_1 k_2 xid1 xid2" {
		t.Error(got)
	}
}

func TestLoadErrors(t *testing.T) {
	for want, o := range map[string]workload.LoadOptions{
		`unknown workload "tpc-c"`: {Workload: "tpc-c", Params: small},
		"both must be positive":    {Workload: "sysbench", Params: workload.Params{Tables: 1}},
	} {
		if _, err := workload.Load(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestLoadIsCancelled(t *testing.T) {
	s := pgtest.Server(t, pgtest.Install(t, "system"), "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := workload.Load(ctx, workload.LoadOptions{ConnString: s.ConnString, Workload: "sysbench", Seed: 1,
		Params: workload.Params{Tables: 1, Rows: 1_000_000_000}, Progress: func(string, float64, float64) { cancel() }})
	if err == nil || ctx.Err() == nil {
		t.Errorf("%v", err)
	}
}

// Every step runs with several clients; what it counts fits what it does.
func TestStepsCount(t *testing.T) {
	s := pgtest.Server(t, pgtest.Install(t, "system"), "autovacuum = off")
	load(t, s, small, 2)
	perEvent := map[string]int64{"read-only": 16, "read-only-simple": 13, "read-only-sum": 13, "read-only-order": 13,
		"read-only-distinct": 13, "read-write": 20, "write-only": 6, "scan": small.Rows}
	p := small
	p.Clients = 3
	for _, step := range resolve(t, p, sysbenchSteps()...) {
		session := open(t, s, step, "")
		r, err := session.Slice(t.Context(), 50*time.Millisecond, 0)
		if err != nil {
			t.Errorf("%s: %v", step.Name, err)
			continue
		}
		want := max(1, perEvent[step.Kind.Name])
		if r.Events < 3 || len(r.Retries) == 0 && r.Ops != want*r.Events {
			t.Errorf("%s: %d operations in %d events, want %d each", step.Name, r.Ops, r.Events, want)
		}
		if step.Writes != (r.Effective > 0) {
			t.Errorf("%s: %d rows changed", step.Name, r.Effective)
		}
	}
	// All rows are deleted in the end; deleting goes on and finds nothing.
	value(t, s, "WITH d AS (DELETE FROM sbtest1 RETURNING 1), e AS (DELETE FROM sbtest2 RETURNING 1) SELECT count(*) FROM d, e")
	r, err := open(t, s, resolve(t, small, "delete")[0], "").Slice(t.Context(), 50*time.Millisecond, 0)
	if err != nil || r.Ops == 0 || r.Effective != 0 {
		t.Errorf("deletes in empty tables: %d operations, %d effective, %v", r.Ops, r.Effective, err)
	}
}

func TestMaintain(t *testing.T) {
	for _, version := range []string{"11.21", "17.0"} {
		s := pgtest.Server(t, pgtest.Install(t, version), "autovacuum = off")
		load(t, s, small, 2)
		value(t, s, "WITH u AS (UPDATE sbtest1 SET k = k + 1 RETURNING 1) SELECT count(*) FROM u")
		facts, err := workload.Maintain(t.Context(), workload.MaintainOptions{ConnString: s.ConnString(workload.Database),
			Tables: []string{"sbtest1", "sbtest2"}, Vacuum: true, Checkpoint: true, Settle: time.Millisecond})
		if err != nil || facts.Vacuum <= 0 || facts.Checkpoint <= 0 {
			t.Errorf("%+v, %v", facts, err)
		}
		// The map of pages whose rows are visible to all is what only a vacuum writes.
		if got := value(t, s, "SELECT relallvisible = relpages FROM pg_class WHERE relname = 'sbtest1'"); got != "t" {
			t.Errorf("server %s: sbtest1 was not vacuumed", version)
		}
	}
}

// Without a list of tables all of the database are vacuumed, whatever their names, partitions included.
func TestMaintainWithoutAWorkload(t *testing.T) {
	for _, version := range []string{"11.21", "17.0"} {
		s := pgtest.Server(t, pgtest.Install(t, version), "autovacuum = off")
		load(t, s, small, 2) // makes the database
		value(t, s, `SELECT 1; CREATE SCHEMA "Own"; CREATE TABLE "Own"."Mixed Case" AS SELECT generate_series(1, 1000) AS id;
			CREATE TABLE parts (id int) PARTITION BY RANGE (id); CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (2000);
			INSERT INTO parts SELECT generate_series(1, 1000); CREATE MATERIALIZED VIEW seen AS SELECT id FROM parts`)
		if _, err := workload.Maintain(t.Context(), workload.MaintainOptions{ConnString: s.ConnString(workload.Database), Vacuum: true}); err != nil {
			t.Fatal(err)
		}
		got := value(t, s, "SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relpages > 0 AND relallvisible = relpages AND relkind IN ('r', 'm') AND oid > 16384")
		if got != "Mixed Case,part,sbtest1,sbtest2,seen" {
			t.Errorf("server %s: vacuumed are %s", version, got)
		}
	}
}
