package driver_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"

	"pgpipeline/stages/driver"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
)

// start starts a server of the distribution.
func start(t testing.TB, conf string) *postgres.Server {
	return pgtest.Server(t, pgtest.Install(t, "system"), conf)
}

// sql runs statements.
func sql(t testing.TB, s *postgres.Server, statements ...string) [][]byte {
	t.Helper()
	ctx := t.Context()
	conn, err := pgconn.Connect(ctx, s.ConnString("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var last [][]byte
	for _, text := range statements {
		results, err := conn.Exec(ctx, text).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if n := len(results); n > 0 && len(results[n-1].Rows) > 0 {
			last = results[n-1].Rows[0]
		}
	}
	return last
}

// open opens a session in which every client runs the same kind of event.
func open(t testing.TB, s *postgres.Server, clients int, program func() driver.Program, more ...func(*driver.Options)) *driver.Session {
	t.Helper()
	o := driver.Options{
		Target:  driver.Target{ConnString: s.ConnString("postgres"), ServerPID: s.PID()},
		Clients: clients, Seed: 1,
		Program: func(int) driver.Program { return program() },
	}
	for _, f := range more {
		f(&o)
	}
	session, err := driver.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return session
}

// statement is a program of one statement without parameters.
func statement(text string) func() driver.Program {
	return func() driver.Program {
		return driver.Program{
			Statements: []driver.Statement{{SQL: text}},
			Event:      func(c *driver.Client) error { return c.Bind(0).Exec() },
		}
	}
}

func TestSliceCountsWhatTheServerDid(t *testing.T) {
	s := start(t, "")
	sql(t, s, "CREATE TABLE t (id int PRIMARY KEY, n bigint, note text)", "INSERT INTO t SELECT i, 0, '' FROM generate_series(1, 100) i")
	program := func() driver.Program {
		text := []byte("note")
		return driver.Program{
			Statements: []driver.Statement{
				{SQL: "BEGIN"},
				{SQL: "SELECT n FROM t WHERE id BETWEEN $1 AND $1 + 2", Params: []uint32{driver.Int4}},
				{SQL: "UPDATE t SET n = n + $2, note = $3 WHERE id = $1", Params: []uint32{driver.Int4, driver.Int8, driver.Text}},
				{SQL: "COMMIT"},
			},
			Operations: []string{"odd", "even"},
			Event: func(c *driver.Client) error {
				id := int32(c.Rand.Between(1, 98))
				c.Operation(int(id) % 2)
				if err := c.Bind(0).Exec(); err != nil {
					return err
				}
				if err := c.Bind(1).Int4(id).Exec(); err != nil {
					return err
				}
				if c.Rows() != 3 {
					return fmt.Errorf("%d rows", c.Rows())
				}
				if err := c.Bind(2).Int4(id).Int8(1).Text(text).Exec(); err != nil {
					return err
				}
				return c.Bind(3).Exec()
			},
		}
	}
	session := open(t, s, 4, program)
	total, err := session.Slice(t.Context(), 300*time.Millisecond, 0)
	if err != nil {
		t.Fatal(err)
	}
	if total.Events == 0 || total.Ops != 4*total.Events || total.Statements != total.Ops || total.Rows != 3*total.Events ||
		total.Effective != total.Events {
		t.Errorf("%d events, %d ops, %d statements, %d rows, %d effective", total.Events, total.Ops, total.Statements, total.Rows, total.Effective)
	}
	if done := string(sql(t, s, "SELECT sum(n) FROM t")[0]); done != fmt.Sprint(total.Events) {
		t.Errorf("the server did %s updates, %d were counted", done, total.Events)
	}
	odd, even := total.Operations["odd"], total.Operations["even"]
	if odd.Count+even.Count != total.Events || odd.Service.TotalCount() != odd.Count || odd.Response != nil {
		t.Errorf("operations: odd %+v, even %+v", odd, even)
	}
	if total.ClientCPU <= 0 || total.MaxSeconds <= 0 || total.Seconds <= 0 {
		t.Errorf("CPU %v s, max %v s, %v s", total.ClientCPU, total.MaxSeconds, total.Seconds)
	}
}

func TestPassRunsOneEventPerClient(t *testing.T) {
	session := open(t, start(t, ""), 3, func() driver.Program {
		return driver.Program{OpsPerEvent: 50, Event: func(c *driver.Client) error { return c.Query([]byte("SELECT generate_series(1, 7)")) }}
	})
	for range 2 {
		r, err := session.Pass(t.Context())
		if err != nil || r.Events != 3 || r.Ops != 150 || r.Rows != 21 || r.Series != nil {
			t.Errorf("%+v, %v", r, err)
		}
	}
	r, err := session.Empty(t.Context(), 50*time.Millisecond, 0)
	if err != nil || r.Ops == 0 || r.Rows != 0 || r.Ops != r.Events {
		t.Errorf("empty: %+v, %v", r, err)
	}
}

// An empty statement takes a small part of the time of one that sleeps, and nearly all of that of one that does nothing.
func TestQueryShare(t *testing.T) {
	s := start(t, "")
	session := open(t, s, 1, statement("SELECT pg_sleep(0.02)"))
	step, err := session.Slice(t.Context(), 200*time.Millisecond, 0)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := session.Empty(t.Context(), 50*time.Millisecond, 0)
	if err != nil {
		t.Fatal(err)
	}
	if share := driver.QueryShare(step, empty); share <= 0 || share >= 1 || step.RoundTrip() < 0.02 || empty.RoundTrip() <= 0 {
		t.Errorf("share %v of a round trip of %v s, empty %v s", share, step.RoundTrip(), empty.RoundTrip())
	}
	if share := driver.QueryShare(empty, empty); share != 0 {
		t.Errorf("an empty statement has a share of %v", share)
	}
}

func TestSameSeedSameKeys(t *testing.T) {
	s := start(t, "")
	sql(t, s, "CREATE TABLE keys (run int, client int, n bigint)")
	for run := range 2 {
		session := open(t, s, 2, func() driver.Program {
			return driver.Program{
				Statements: []driver.Statement{{SQL: "INSERT INTO keys VALUES ($1, $2, $3)", Params: []uint32{driver.Int4, driver.Int4, driver.Int8}}},
				Event: func(c *driver.Client) error {
					return c.Bind(0).Int4(int32(run)).Int4(int32(c.ID)).Int8(int64(c.Rand.Uint64() >> 1)).Exec()
				},
			}
		})
		for range 3 {
			if _, err := session.Pass(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	row := sql(t, s, "SELECT count(*), count(DISTINCT n), count(DISTINCT (client, n)) FROM keys")
	if got := fmt.Sprintf("%s", row); got != "[12 6 6]" {
		t.Errorf("rows, different keys, different keys by client: %s", got)
	}
}

func TestSliceNeedsTimeToCount(t *testing.T) {
	session := open(t, start(t, ""), 1, statement("SELECT 1"))
	if _, err := session.Slice(t.Context(), time.Second, time.Second); err == nil || err.Error() != "slice of 1s: cannot discard 1s of it" {
		t.Errorf("%v", err)
	}
}

func TestManyClients(t *testing.T) {
	s := start(t, "max_connections = 530")
	session := open(t, s, driver.MaxClients, statement("SELECT 1"))
	r, err := session.Pass(t.Context())
	if err != nil || r.Events != driver.MaxClients {
		t.Errorf("%d events, %v", r.Events, err)
	}
	if _, err := driver.Open(t.Context(), driver.Options{Clients: driver.MaxClients + 1}); err == nil {
		t.Error("one client more was accepted")
	}
}

func TestClientsRunOnTheirCPUs(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !allowed.IsSet(cpu) {
		cpu++
	}
	session := open(t, start(t, ""), 2, func() driver.Program {
		return driver.Program{Event: func(*driver.Client) error {
			var set unix.CPUSet
			if err := unix.SchedGetaffinity(0, &set); err != nil {
				return err
			}
			if set.Count() != 1 || !set.IsSet(cpu) {
				return fmt.Errorf("client has %d CPUs", set.Count())
			}
			return nil
		}}
	}, func(o *driver.Options) { o.CPUs = []int{cpu} })
	if _, err := session.Pass(t.Context()); err != nil {
		t.Error(err)
	}
}

// No allocation per operation: what a slice allocates does not grow with its number of events.
func TestHotPathDoesNotAllocate(t *testing.T) {
	s := start(t, "")
	session := open(t, s, 1, func() driver.Program {
		return driver.Program{
			Statements: []driver.Statement{{SQL: "SELECT repeat('x', 500), generate_series(1, $1)", Params: []uint32{driver.Int4}}},
			Event:      func(c *driver.Client) error { return c.Bind(0).Int4(200).Exec() },
		}
	})
	ctx := t.Context()
	var events int64
	allocations := testing.AllocsPerRun(3, func() {
		r, err := session.Slice(ctx, 200*time.Millisecond, 0)
		if err != nil {
			t.Fatal(err)
		}
		events = max(events, r.Events)
	})
	if allocations > 100 {
		t.Errorf("%v allocations in a slice of up to %d events", allocations, events)
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	s := start(b, "")
	session := open(b, s, 1, statement("SELECT 1"))
	r, err := session.Slice(b.Context(), time.Second, 100*time.Millisecond)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(r.Seconds/float64(r.Ops)*1e9, "ns/op")
	b.ReportMetric(r.ClientCPU/float64(r.Ops)*1e9, "cpu-ns/op")
}
