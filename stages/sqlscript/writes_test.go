package sqlscript

import "testing"

func TestWrites(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT c FROM t WHERE id = :id", ""},
		{"BEGIN; SELECT 1; COMMIT", ""},
		{"SELECT 'INSERT INTO t', \"update\" FROM t -- DELETE FROM t\n /* (INSERT INTO t) */", ""},
		{"SELECT $$ (DELETE FROM t) $$", ""},
		{"SELECT substring(c FOR 3) FROM t", ""},
		{"SELECT delete, update FROM (SELECT 1 AS update) AS insert", ""},
		{"WITH a AS (SELECT 1) SELECT * FROM a", ""},
		{"COPY (SELECT * FROM t) TO STDOUT", ""},
		{"EXPLAIN UPDATE t SET a = 1", ""},
		{"PREPARE p AS DELETE FROM t", ""},
		{"VALUES (1), (2)", ""},
		{"insert into t values (1)", "a.sql:1: INSERT"},
		{"SELECT 1;\n\nUPDATE t SET a = :a", "a.sql:3: UPDATE"},
		{"/* hint */ DELETE FROM t", "a.sql:1: DELETE"},
		{"MERGE INTO t USING s ON true WHEN MATCHED THEN DO NOTHING", "a.sql:1: MERGE"},
		{"COPY t FROM STDIN", "a.sql:1: COPY FROM"},
		{"CREATE TEMP TABLE x AS SELECT 1", "a.sql:1: CREATE"},
		{"WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone", "a.sql:1: DELETE"},
		{"WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "a.sql:1: INSERT"},
		{"SELECT * FROM t WHERE id = 1 FOR UPDATE", "a.sql:1: SELECT FOR UPDATE"},
		{"SELECT * FROM t FOR NO KEY UPDATE SKIP LOCKED", "a.sql:1: SELECT FOR NO KEY UPDATE"},
		{"SELECT * INTO x FROM t", "a.sql:1: SELECT INTO"},
		{"SELECT nextval('s')", "a.sql:1: nextval()"},
		{"EXPLAIN (ANALYZE) UPDATE t SET a = 1", "a.sql:1: UPDATE"},
		{"EXPLAIN ANALYZE UPDATE t SET a = 1", "a.sql:1: UPDATE"},
	} {
		s, err := Parse("a.sql", c.sql)
		if err != nil {
			t.Fatalf("%s: %v", c.sql, err)
		}
		if got := s.Writes(); got != c.want {
			t.Errorf("%s: %q, want %q", c.sql, got, c.want)
		}
	}
}
