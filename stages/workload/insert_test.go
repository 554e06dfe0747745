package workload_test

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"pgpipeline/stages/driver"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
	"pgpipeline/stages/workload"
)

// sales is the insert benchmark's data of the tests: two clients with a table each.
var sales = workload.Params{Tables: 2, Rows: 1000, Clients: 2}

func loadSales(t testing.TB, s *postgres.Server, p workload.Params, through string) workload.LoadFacts {
	t.Helper()
	facts, err := workload.Load(t.Context(), workload.LoadOptions{ConnString: s.ConnString, Workload: "insert", Params: p, Seed: 42, Jobs: 2,
		Through: through})
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

// openStep prepares a step and connects its clients.
func openStep(t testing.TB, s *postgres.Server, step workload.Step, options string) *driver.Session {
	t.Helper()
	if err := step.Prepare(t.Context(), s.ConnString(workload.Database)+options); err != nil {
		t.Fatal(err)
	}
	session, err := driver.Open(t.Context(), driver.Options{
		Target:  driver.Target{ConnString: s.ConnString(workload.Database) + options, ServerPID: s.PID()},
		Clients: step.Connections(), Seed: 42, Rate: step.Rate, Program: step.Programs(42),
	})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// do runs a step of the insert benchmark for d, or to its end.
func do(t testing.TB, s *postgres.Server, step workload.Step, d time.Duration) driver.Result {
	t.Helper()
	session := openStep(t, s, step, "")
	var r driver.Result
	var err error
	switch {
	case step.Work:
		r, err = session.Work(t.Context(), time.Minute)
	case step.Pass:
		r, err = session.Pass(t.Context())
	default:
		r, err = session.Slice(t.Context(), d, 0)
	}
	if closeErr := session.Close(); err != nil || closeErr != nil {
		t.Fatalf("%s: %v, %v", step.Name, err, closeErr)
	}
	return r
}

// A load through l.x and the steps l.i0 and l.x from nothing make tables with the same columns, indexes and numbers of rows.
func TestInsertLoadsFitTheSteps(t *testing.T) {
	for _, version := range []string{"11.21", "system", "17.0"} {
		for _, p := range []workload.Insert{{}, {Schema: workload.Schema2023}, {Partitions: 3}, {Shared: true}} {
			t.Run(version, func(t *testing.T) {
				params := sales
				params.Insert = p
				params.Insert.MoreRows = 500
				loaded, stepped := pgtest.Server(t, pgtest.Install(t, version), ""), pgtest.Server(t, pgtest.Install(t, version), "")
				loadSales(t, loaded, params, "l.x")
				loadSales(t, stepped, params, "none")
				for _, step := range resolve(t, params, "l.i0", "l.x") {
					do(t, stepped, step, 0)
				}
				for _, sql := range []string{
					"SELECT string_agg(indexdef, ' ' ORDER BY indexname) FROM pg_indexes WHERE schemaname = 'public'",
					"SELECT string_agg(format_type(atttypid, atttypmod) || attnotnull, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'pi1'::regclass AND attnum > 0",
					"SELECT string_agg(sequencename || cache_size, ' ' ORDER BY sequencename) FROM pg_sequences",
					"SELECT string_agg(relname || ' ' || coalesce(pg_get_expr(relpartbound, oid), ''), ',' ORDER BY relname) FROM pg_class WHERE relkind IN ('r', 'p') AND relname LIKE 'pi%'",
					"SELECT min(cashregisterid) >= 0, max(cashregisterid) < 1000, max(customerid) < 100000, max(productid) < 10000, min(length(data)), max(length(data)), min(price) < 50, min(dateandtime) FROM pi1",
				} {
					if a, b := value(t, loaded, sql), value(t, stepped, sql); a != b {
						t.Errorf("%s\nloaded  %s\nstepped %s", sql, a, b)
					}
				}
				count := "SELECT count(*), count(DISTINCT transactionid) FROM pi1"
				if a, b := value(t, loaded, count), value(t, stepped, count); a != "1000 1000" || b != "1100 1100" {
					t.Errorf("%s rows loaded, %s by steps", a, b)
				}
			})
		}
	}
}

// l.i1 with deletes keeps the size of the table, and counts inserts only.
func TestInsertsAndDeletesStayTogether(t *testing.T) {
	for _, version := range []string{"11.21", "17.0"} {
		for _, schema := range []string{workload.SchemaToday, workload.Schema2023} {
			p := sales
			p.Insert = workload.Insert{Schema: schema, DeletePerInsert: true}
			s := pgtest.Server(t, pgtest.Install(t, version), "")
			loadSales(t, s, p, "l.x")
			steps, err := workload.Resolve([]workload.StepRef{{Step: "l.i1", Rows: 420}, {Step: "l.i2", Rows: 40}}, p)
			if err != nil {
				t.Fatal(err)
			}
			// 840 rows of both tables in statements of 50 for two clients: 9 each.
			r := do(t, s, steps[0], 0)
			if ins, del := r.Operations["insert"], r.Operations["delete"]; r.Ops != 900 || ins.Count != 18 || del.Count != 18 || r.Effective != 1800 {
				t.Errorf("%s %s: %d inserts, %d statements, %d deletes, %d rows changed", version, schema, r.Ops, ins.Count, del.Count, r.Effective)
			}
			if r := do(t, s, steps[1], 0); r.Ops != 80 || r.Operations["insert"].Count != 16 {
				t.Errorf("l.i2: %d inserts", r.Ops)
			}
			got := value(t, s, "SELECT count(*), min(transactionid) FROM pi1")
			if schema == workload.SchemaToday && got != "1000 491" {
				t.Errorf("%s %s: %s rows and oldest id are left", version, schema, got)
			}
		}
	}
}

func TestQueriesBesideInserts(t *testing.T) {
	for _, version := range []string{"11.21", "system", "17.0"} {
		for _, p := range []workload.Insert{{}, {Schema: workload.Schema2023, DeletePerInsert: true}, {DeletePerInsert: true}} {
			params := sales
			params.Insert = p
			s := pgtest.Server(t, pgtest.Install(t, version), "")
			loadSales(t, s, params, "l.x")
			for _, step := range resolve(t, params, "q1000", "qr500.L3", "qp100.L2") {
				r := do(t, s, step, time.Second)
				queries, inserts := r.Operations["query"], r.Operations["insert"]
				if r.Ops != queries.Count || r.Ops == 0 || queries.Response != nil || inserts.Response == nil {
					t.Errorf("%s %+v: %d of %d queries", step.Name, p, r.Ops, queries.Count)
				}
				if due := int64(step.Target() / 50); inserts.Count+inserts.Backlog != due {
					t.Errorf("%s %+v: %d inserts and %d waiting, want %d", step.Name, p, inserts.Count, inserts.Backlog, due)
				}
				if deletes := r.Operations["delete"]; p.DeletePerInsert != (deletes != nil) {
					t.Errorf("%s %+v: deletes %+v", step.Name, p, deletes)
				}
				if strings.HasPrefix(step.Name, "qr") && r.Rows < 9*r.Ops {
					t.Errorf("%s: %d rows of %d queries", step.Name, r.Rows, r.Ops)
				}
			}
		}
	}
}

// insertGoldens are the forms of the insert benchmark and the steps whose statements differ under them.
var insertGoldens = []struct {
	label   string
	insert  workload.Insert
	clients int
	deletes bool
	steps   []string
}{
	{"today", workload.Insert{}, 1, true, []string{"l.i0", "l.x", "l.i1", "l.i2", "q100", "q500", "q1000",
		"qr100.L1", "qp100.L2", "qr500.L3", "qp500.L4", "qr1000.L5", "qp1000.L6"}},
	{"2023", workload.Insert{Schema: workload.Schema2023}, 1, true, []string{"l.i0", "l.x", "l.i1", "l.i2", "q100", "q500", "q1000", "qr100.L1", "qp100.L2"}},
	{"no deletes", workload.Insert{}, 1, false, []string{"l.i0", "l.x", "l.i1", "l.i2", "q100"}},
	{"shared", workload.Insert{Shared: true}, 2, false, []string{"l.i0", "l.x", "l.i1", "qr100.L1", "qp100.L2"}},
	{"partitions", workload.Insert{Partitions: 2}, 1, true, []string{"l.i0", "l.x", "l.i1", "qr100.L1", "qp100.L2"}},
}

// The first statements of every connection of every step, as servers of three versions log them. Order says which role a
// connection has; the generators of all are seeded.
func TestInsertStatementsAsTheServerLogsThem(t *testing.T) {
	for _, version := range []string{"11.21", "system", "17.0"} {
		t.Run(version, func(t *testing.T) {
			install := pgtest.Install(t, version)
			log := &lockedBuffer{}
			s, err := postgres.Start(t.Context(), postgres.Config{Install: install, DataDir: pgtest.DataDir(t, install), Log: log,
				Conf: "fsync = off\nautovacuum = off\nlog_statement = all\nlog_line_prefix = '%a|'\n"})
			if err != nil {
				t.Fatal(err)
			}
			stop := sync.OnceValue(func() error { return s.Stop(t.Context()) })
			defer stop()
			var names []string
			for i, c := range insertGoldens {
				p := workload.Params{Tables: 1, Rows: 100, Clients: max(1, c.clients), Insert: c.insert}
				p.Insert.RowsPerCommit = 2
				if i == 0 {
					loadSales(t, s, p, "l.x")
				}
				for _, name := range c.steps {
					label := c.label + " " + name
					p := p
					p.Insert.DeletePerInsert = c.deletes && !strings.HasPrefix(name, "qp") // its ids depend on how far the deletes have come
					ref := workload.StepRef{Step: name}
					once := func(s *driver.Session) (driver.Result, error) { return s.Pass(t.Context()) }
					if name == "l.i1" || name == "l.i2" { // their deletes wait for an insert
						ref.Rows = int64(2 * p.Clients)
						once = func(s *driver.Session) (driver.Result, error) { return s.Work(t.Context(), time.Minute) }
					}
					steps, err := workload.Resolve([]workload.StepRef{ref}, p)
					if err != nil {
						t.Fatal(err)
					}
					session := openStep(t, s, steps[0], " application_name='"+label+"'")
					if _, err := once(session); err != nil {
						t.Errorf("%s: %v", label, err)
					}
					if err := session.Close(); err != nil {
						t.Error(err)
					}
					names = append(names, label)
				}
			}
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			golden(t, "insert.golden", sorted(statements(log.String(), names)))
		})
	}
}

// manyRows is a long INSERT after its second row.
var manyRows = regexp.MustCompile(`(\('[^()]*\),\('[^()]*\)),\('.*`)

// pointIDs are the parameters of a point query, which depend on how far the inserts have come.
var pointIDs = regexp.MustCompile(`\$1 = '\d+', \$2 = .*`)

// sorted sorts the statements of a step, whose connections run at the same time, and shortens long ones.
func sorted(text string) string {
	text = pointIDs.ReplaceAllString(text, "(ten ids)")
	parts := strings.Split(manyRows.ReplaceAllString(text, "$1, ..."), "\n\n")
	for i, part := range parts {
		lines := strings.Split(part, "\n")
		if len(lines) > 1 {
			var whole []string // a statement and its parameters
			for _, l := range lines[1:] {
				if strings.HasPrefix(l, "    ") && len(whole) > 0 {
					whole[len(whole)-1] += "\n" + l
				} else {
					whole = append(whole, l)
				}
			}
			slices.Sort(whole)
			parts[i] = strings.Join(append(lines[:1], whole...), "\n")
		}
	}
	return strings.Join(parts, "\n\n")
}

// A server that hangs for two seconds: the response times hold the inserts that were due in the meantime, the service times only
// the one that was under way.
func TestResponseTimesHoldWhatAHangingServerDelays(t *testing.T) {
	s := pgtest.Server(t, pgtest.Install(t, "system"), "")
	p := sales
	p.Clients, p.Tables = 1, 1
	loadSales(t, s, p, "l.x")
	p.Insert.RowsPerCommit = 10 // 1000/s: a hundred statements a second
	session := openStep(t, s, resolve(t, p, "q1000")[0], "")
	defer session.Close()
	backend := value(t, s, "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
	stop := make(chan error, 1)
	go func() { stop <- hang(backend, time.Second, 2*time.Second) }()
	r, err := session.Slice(t.Context(), 5*time.Second, 0)
	if hung := <-stop; err != nil || hung != nil {
		t.Fatal(err, hung)
	}
	inserts := r.Operations["insert"]
	waited, worked := above(inserts.Response, 500*time.Millisecond), above(inserts.Service, 500*time.Millisecond)
	// In the two seconds 200 statements were due; those of the first 1.5 waited longer than half a second.
	if waited < 100 || worked > 1 {
		t.Errorf("%d responses and %d services of more than half a second", waited, worked)
	}
	if inserts.MaxSeconds < 1.9 {
		t.Errorf("the worst response took %v s", inserts.MaxSeconds)
	}
	quiet := 0
	for _, second := range r.Series {
		if second.Ops.At("insert") < 500 {
			quiet++
		}
	}
	if quiet == 0 {
		t.Errorf("no second of the series shows the stall: %v", r.Series)
	}
}

// hang stops processes after a while, and lets them go on after another.
func hang(pids string, after, long time.Duration) error {
	time.Sleep(after)
	signal := func(sig syscall.Signal) (err error) {
		for _, text := range strings.Fields(pids) {
			pid, bad := strconv.Atoi(text)
			err = errors.Join(err, bad, syscall.Kill(pid, sig))
		}
		return err
	}
	err := signal(syscall.SIGSTOP)
	time.Sleep(long)
	return errors.Join(err, signal(syscall.SIGCONT))
}

// above counts the values of a histogram that are longer than a limit.
func above(h *hdrhistogram.Histogram, limit time.Duration) (n int64) {
	for _, bar := range h.Distribution() {
		if bar.From > int64(limit) {
			n += bar.Count
		}
	}
	return n
}

// A load through l.i2 has really inserted and deleted; rows are the same for the same seed.
func TestInsertLoadThroughTheInserts(t *testing.T) {
	s := pgtest.Server(t, pgtest.Install(t, "system"), "autovacuum = off")
	p := sales
	p.Insert = workload.Insert{MoreRows: 500, DeletePerInsert: true}
	loadSales(t, s, p, "l.i2")
	// 400 and 100 more rows of each table, each with a delete; a session takes ids in portions of 1000.
	if got := value(t, s, "SELECT count(*), min(transactionid), max(transactionid) FROM pi2"); got != "1000 501 2100" {
		t.Errorf("rows, oldest and newest id: %s", got)
	}
	if got := value(t, s, "SELECT count(*) FROM pg_indexes WHERE tablename = 'pi2'"); got != "4" {
		t.Errorf("%s indexes", got)
	}
}
