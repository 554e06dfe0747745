package driver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
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
	var total driver.Result
	for range 3 {
		r, err := session.Slice(t.Context(), 200*time.Millisecond, 0)
		if err != nil {
			t.Fatal(err)
		}
		total.Add(r)
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

// Clients that lock two rows in opposite orders make deadlocks; those are retried and counted apart.
func TestExpectedErrorsAreRetried(t *testing.T) {
	s := start(t, "deadlock_timeout = 10ms")
	sql(t, s, "CREATE TABLE t (id int PRIMARY KEY, n int)", "INSERT INTO t SELECT i, 0 FROM generate_series(0, 1) i")
	session := open(t, s, 4, func() driver.Program {
		return driver.Program{
			Statements: []driver.Statement{{SQL: "BEGIN"}, {SQL: "UPDATE t SET n = n + 1 WHERE id = $1", Params: []uint32{driver.Int4}}, {SQL: "COMMIT"}},
			Event: func(c *driver.Client) error {
				first := int32(c.ID % 2)
				if err := c.Bind(0).Exec(); err != nil {
					return err
				}
				if err := c.Bind(1).Int4(first).Exec(); err != nil {
					return err
				}
				if err := c.Bind(1).Int4(1 - first).Exec(); err != nil {
					return err
				}
				return c.Bind(2).Exec()
			},
		}
	})
	var total driver.Result
	for total.Retries["40P01"] == 0 { // until it has happened; the test's own time limit ends a hopeless wait
		r, err := session.Slice(t.Context(), 300*time.Millisecond, 0)
		if err != nil {
			t.Fatal(err)
		}
		total.Add(r)
	}
	if len(total.Errors) != 0 {
		t.Errorf("errors: %v", total.Errors)
	}
	if done := string(sql(t, s, "SELECT n FROM t WHERE id = 0")[0]); done != fmt.Sprint(total.Events) {
		t.Errorf("the server committed %s events, %d were counted", done, total.Events)
	}
}

func TestUnexpectedErrorIsFatal(t *testing.T) {
	s := start(t, "")
	session := open(t, s, 3, statement("SELECT 1/(random() > 2)::int"))
	r, err := session.Slice(t.Context(), time.Minute, 0)
	var problem *driver.ServerError
	if !errors.As(err, &problem) || problem.Code != "22012" || r.Errors["22012"] == 0 || r.Fatal != err {
		t.Errorf("%v; errors %v", err, r.Errors)
	}
	if _, err := session.Slice(t.Context(), time.Second, 0); err == nil {
		t.Error("a session that failed goes on")
	}
}

func TestBadStatementFailsAtOpen(t *testing.T) {
	s := start(t, "")
	_, err := driver.Open(t.Context(), driver.Options{Target: driver.Target{ConnString: s.ConnString("postgres")}, Clients: 20,
		Program: func(int) driver.Program { return statement("SELECT nothing")() }})
	if err == nil || !strings.Contains(err.Error(), `prepare "SELECT nothing"`) || !strings.Contains(err.Error(), "42703") {
		t.Errorf("%v", err)
	}
}

// within runs f and fails when it takes longer; the limit is far above what is promised, for machines under load.
func within(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("still not back after %v", limit)
	}
}

func TestCancel(t *testing.T) {
	tests := map[string]func(t *testing.T, s *postgres.Server){
		"while the server works": func(t *testing.T, s *postgres.Server) {
			cancelled(t, open(t, s, 2, statement("SELECT pg_sleep(3600)")), func() {})
		},
		"while the server hangs": func(t *testing.T, s *postgres.Server) {
			backend := 0
			session := open(t, s, 1, statement("SELECT 1"))
			fmt.Sscan(string(sql(t, s, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")[0]), &backend)
			signal(t, backend, syscall.SIGSTOP)
			t.Cleanup(func() { signal(t, backend, syscall.SIGCONT) })
			cancelled(t, session, func() {})
		},
		"in an open loop without work": func(t *testing.T, s *postgres.Server) {
			cancelled(t, open(t, s, 2, statement("SELECT 1"), func(o *driver.Options) { o.Rate = 0.001 }), func() {})
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, start(t, "")) })
	}
}

func signal(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Error(err)
	}
}

// cancelled ends the context under a slice that would last an hour.
func cancelled(t *testing.T, session *driver.Session, after func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(100*time.Millisecond, cancel)
	defer timer.Stop()
	within(t, 20*time.Second, func() {
		if _, err := session.Slice(ctx, time.Hour, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	after()
}

func TestServerDeathIsReported(t *testing.T) {
	s, err := postgres.Start(t.Context(), postgres.Config{Install: pgtest.Install(t, "system"), DataDir: pgtest.DataDir(t, pgtest.Install(t, "system"))})
	if err != nil {
		t.Fatal(err)
	}
	session := open(t, s, 3, statement("SELECT pg_sleep(0.001)"))
	timer := time.AfterFunc(200*time.Millisecond, s.Kill)
	defer timer.Stop()
	var death *driver.ServerDeath
	if _, err := session.Slice(t.Context(), time.Hour, 0); !errors.As(err, &death) || death.Alive || death.PID != s.PID() {
		t.Errorf("%v", err)
	}
}

func TestDroppedConnectionIsReported(t *testing.T) {
	s := start(t, "")
	session := open(t, s, 2, statement("SELECT pg_terminate_backend(pg_backend_pid())"))
	r, err := session.Slice(t.Context(), time.Hour, 0)
	var death *driver.ServerDeath
	if !errors.As(err, &death) || !death.Alive || !strings.Contains(err.Error(), "57P01") || r.Errors["57P01"] == 0 {
		t.Errorf("%v; errors %v", err, r.Errors)
	}
}

// A server that stands still for a while must show in an open loop as the waiting of every event that was due meanwhile.
func TestOpenLoopHasNoCoordinatedOmission(t *testing.T) {
	s := start(t, "")
	const rate, clients, pause = 500, 2, 2 * time.Second
	session := open(t, s, clients, statement("SELECT 1"), func(o *driver.Options) { o.Rate = rate })
	row := sql(t, s, "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
	var backends [clients]int
	if _, err := fmt.Sscan(string(row[0]), &backends[0], &backends[1]); err != nil {
		t.Fatal(err)
	}
	stopped := time.AfterFunc(time.Second, func() {
		for _, pid := range backends {
			signal(t, pid, syscall.SIGSTOP)
		}
	})
	defer stopped.Stop()
	resumed := time.AfterFunc(time.Second+pause, func() {
		for _, pid := range backends {
			signal(t, pid, syscall.SIGCONT)
		}
	})
	defer resumed.Stop()
	r, err := session.Slice(t.Context(), 5*time.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	op := r.Operations[""]
	late := int64(0) // events that waited at least half a second longer than the service of any but the stopped ones
	for _, bar := range op.Response.Distribution() {
		if bar.From >= int64(500*time.Millisecond) {
			late += bar.Count
		}
	}
	// Of the 1000 events that were due in the two seconds, those of the first 1.5 s waited for more than 0.5 s.
	if late < 600 {
		t.Errorf("%d events have a response time above 0.5 s, 750 were due in the first 1.5 s of the pause", late)
	}
	slow := int64(0)
	for _, bar := range op.Service.Distribution() {
		if bar.From >= int64(500*time.Millisecond) {
			slow += bar.Count
		}
	}
	if slow > clients {
		t.Errorf("%d service times above 0.5 s: only one event of each client met the pause", slow)
	}
	if r.MaxSeconds < 1.5 || op.MaxSeconds != r.MaxSeconds {
		t.Errorf("worst response time %v s, %v s", r.MaxSeconds, op.MaxSeconds)
	}
}

// What is due and not done when the time is over counts as waiting too.
func TestBacklogIsCounted(t *testing.T) {
	session := open(t, start(t, ""), 1, statement("SELECT pg_sleep(0.05)"), func(o *driver.Options) { o.Rate = 1000 })
	r, err := session.Slice(t.Context(), time.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	op := r.Operations[""]
	if due := op.Count + op.Backlog; due < 990 || due > 1001 || op.Backlog < 900 || op.Response.TotalCount() != due || op.Service.TotalCount() != op.Count {
		t.Errorf("%d done, %d left, of 1000; %d response times, %d service times", op.Count, op.Backlog, op.Response.TotalCount(), op.Service.TotalCount())
	}
}

func TestScheduleAndThinkTimeArePaces(t *testing.T) {
	s := start(t, "")
	paced := open(t, s, 4, statement("SELECT 1"), func(o *driver.Options) { o.Rate = 200 })
	r, err := paced.Slice(t.Context(), time.Second, 0)
	if err != nil || r.Events+r.Operations[""].Backlog != 200 {
		t.Errorf("%d events and %d left of 200, %v", r.Events, r.Operations[""].Backlog, err)
	}
	thinking := open(t, s, 4, statement("SELECT 1"), func(o *driver.Options) { o.Think = 100 * time.Millisecond })
	r, err = thinking.Slice(t.Context(), 500*time.Millisecond, 0)
	if err != nil || r.Events < 4 || r.Events > 4*5 {
		t.Errorf("%d events of at most 20, %v", r.Events, err)
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
