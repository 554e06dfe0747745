package sqlscript

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pgpipeline/stages/driver"
	"pgpipeline/stages/postgres/pgtest"
)

// Scripts run on a real server: parameters of several types, transactions, weights, and variables that live on.
func TestOnServer(t *testing.T) {
	server := pgtest.Server(t, pgtest.Install(t, "system"), "fsync = off")
	conn, err := pgx.Connect(t.Context(), server.ConnString("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `CREATE TABLE seen (client int, n bigint, share numeric, word text, kind text)`); err != nil {
		t.Fatal(err)
	}
	m := &Mix{Set: map[string]string{"word": "it's", "n": "0"}}
	for _, s := range []struct {
		name, text string
		weight     int
	}{
		{"often.sql", "\\set n :n + 1\nBEGIN;\nINSERT INTO seen VALUES (:client_id, :n, :n / 4.0, :word, 'often');\nCOMMIT;\n", 4},
		{"rare.sql", "\\set n :n + 1\n\\sleep 10 us\nINSERT INTO seen SELECT :client_id, :n::bigint, 0, ':word', 'rare' WHERE :n > 0", 1},
	} {
		script, err := Parse(s.name, s.text)
		if err != nil {
			t.Fatal(err)
		}
		m.Scripts = append(m.Scripts, Weighted{script, s.weight})
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	session, err := driver.Open(t.Context(), driver.Options{Target: driver.Target{ConnString: server.ConnString("postgres"), ServerPID: server.PID()},
		Clients: 2, Seed: 3, Program: func(client int) driver.Program {
			return m.Program(map[string]int64{"client_id": int64(client), "random_seed": 1, "rows": 10, "scale": 1, "tables": 1})
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	r, err := session.Slice(t.Context(), time.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	often, rare := r.Operations["often.sql"].Count, r.Operations["rare.sql"].Count
	if often < 2*rare || rare == 0 {
		t.Errorf("%d and %d events with the weights 4 and 1", often, rare)
	}
	if r.Statements != 3*often+rare {
		t.Errorf("%d statements of %d and %d events", r.Statements, often, rare)
	}
	var rows, gaps, words, shares int64
	if err := conn.QueryRow(t.Context(), `SELECT count(*), sum(missing)::bigint FROM (SELECT max(n) - count(*) AS missing FROM seen GROUP BY client) x`).
		Scan(&rows, &gaps); err != nil {
		t.Fatal(err)
	}
	if rows != 2 || gaps != 0 {
		t.Errorf("%d clients, %d numbers are missing: a variable does not live on from event to event", rows, gaps)
	}
	if err := conn.QueryRow(t.Context(), `SELECT count(*), count(*) FILTER (WHERE word = 'it''s'), count(*) FILTER (WHERE share = n / 4.0)
		FROM seen WHERE kind = 'often'`).Scan(&rows, &words, &shares); err != nil {
		t.Fatal(err)
	}
	if rows != often || words != often || shares != often {
		t.Errorf("%d rows, %d with the word and %d with the share, of %d events", rows, words, shares, often)
	}
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM seen WHERE kind = 'rare' AND word = ':word'`).Scan(&rows); err != nil || rows != rare {
		t.Errorf("%d rows of %d with the text in quotes untouched, %v", rows, rare, err)
	}
}
