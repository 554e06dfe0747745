package driver_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/stat"
	"pgpipeline/stages/driver"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
)

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
	events, deadlocks := int64(0), int64(0)
	for deadlocks == 0 { // until it has happened; the test's own time limit ends a hopeless wait
		r, err := session.Slice(t.Context(), 300*time.Millisecond, 0)
		if err != nil || len(r.Errors) != 0 {
			t.Fatalf("%v; errors %v", err, r.Errors)
		}
		events += r.Events
		deadlocks += r.Retries["40P01"]
	}
	if done := string(sql(t, s, "SELECT n FROM t WHERE id = 0")[0]); done != fmt.Sprint(events) {
		t.Errorf("the server committed %s events, %d were counted", done, events)
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

// A server that hangs for half a second is found as a stall of that length, to a tenth of a second at either end.
func TestShortStallIsFound(t *testing.T) {
	s := start(t, "")
	session := open(t, s, 2, statement("SELECT 1"))
	pids := strings.Fields(string(sql(t, s, "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")[0]))
	all := func(sig syscall.Signal) {
		for _, text := range pids {
			pid, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			signal(t, pid, sig)
		}
	}
	hung := make(chan time.Duration, 1)
	time.AfterFunc(time.Second, func() {
		began := time.Now()
		all(syscall.SIGSTOP)
		time.Sleep(500 * time.Millisecond) // what is tested, not a wait for anything
		long := time.Since(began)
		all(syscall.SIGCONT)
		hung <- long
	})
	r, err := session.Slice(t.Context(), 3*time.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := engine.Measurement{Tenths: r.Tenths}
	found, ok := m.Stalls("", 0.1)
	long := (<-hung).Seconds()
	if longest := stat.Longest(found); !ok || len(r.Tenths[""]) != 30 || longest.Seconds < long-0.21 || longest.Start < 0.9 {
		t.Errorf("hung for %.2f s from about second 1 on; found %v, %v in %v", long, found, ok, r.Tenths[""])
	}
}

// The empty statement runs on the connections of the measured operation; those beside it rest.
func TestEmptyLeavesBackgroundIdle(t *testing.T) {
	server := start(t, "")
	session, err := driver.Open(t.Context(), driver.Options{Target: driver.Target{ConnString: server.ConnString("postgres"), ServerPID: server.PID()}, Clients: 3, Seed: 1,
		Program: func(client int) driver.Program {
			p := statement("SELECT 1")()
			p.Operations, p.Background = []string{[]string{"query", "insert", "insert"}[client]}, client > 0
			return p
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	busy, err := session.Slice(t.Context(), 100*time.Millisecond, 0)
	if err != nil || busy.Operations["insert"].Count == 0 {
		t.Fatalf("%+v, %v", busy, err)
	}
	empty, err := session.Empty(t.Context(), 100*time.Millisecond, 0)
	if err != nil || empty.Operations["insert"].Count != 0 || empty.Operations["query"].Count != empty.Events || empty.Events == 0 || empty.RoundTrip() <= 0 {
		t.Errorf("%d inserts, %d queries of %d events, %v", empty.Operations["insert"].Count, empty.Operations["query"].Count, empty.Events, err)
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

// Client threads wait in system calls that the runtime does not know of; it must be able to stop the world all the same.
func TestWorldStopsWhileClientsWait(t *testing.T) {
	session := open(t, start(t, ""), 4, statement("SELECT pg_sleep(3600)"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := session.Slice(ctx, time.Hour, 0)
		done <- err
	}()
	within(t, 20*time.Second, func() {
		for range 5 {
			runtime.GC()
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
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
