package external

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgpipeline/pipeline/proc"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
)

// optionsFor a tool against a small server; the database is postgres, which needs no creating.
func optionsFor(t *testing.T, tool *Tool, server *postgres.Server) Options {
	t.Helper()
	if _, err := tool.Path(); err != nil {
		var missing *Missing
		if errors.As(err, &missing) {
			t.Fatalf("%v: %s", err, missing.Remedy)
		}
		t.Fatal(err)
	}
	account, err := proc.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Tool: tool, ConnString: server.ConnString("postgres"), Clients: 2, Seed: 1, As: account, Scratch: pgtest.Dir(t), Log: &bytes.Buffer{}}
}

func TestRealTools(t *testing.T) {
	server := pgtest.Server(t, pgtest.Install(t, "system"), "fsync = off")
	lua := `function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT " .. sysbench.rand.uniform(1, 100)) end
`
	for name, tool := range map[string]*Tool{
		"pgbench scripts": {Name: "pgbench", Scripts: []string{"a.sql@3", "b.sql"}, Args: []string{"-D", "top=10"},
			Files: map[string][]byte{"a.sql": []byte("\\set x random(1, :top)\nSELECT :x;\n"), "b.sql": []byte("SELECT 1;\n")}},
		"pgbench builtin": {Name: "pgbench", Builtin: "select-only", Prepare: []string{"-i", "-q", "-s", "1"}},
		"sysbench script": {Name: "sysbench", Scripts: []string{"own.lua"}, Files: map[string][]byte{"own.lua": []byte(lua)}},
		"sysbench builtin": {Name: "sysbench", Builtin: "oltp_point_select", Args: []string{"--table-size=100"},
			Prepare: []string{"--table-size=100"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := optionsFor(t, tool, server)
			s, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r, err := s.Slice(t.Context(), 3*time.Second, time.Second)
			if err != nil {
				t.Fatalf("%v\n%s", err, o.Log)
			}
			if r.Ops <= 0 || r.Events <= 0 || r.ClientCPU <= 0 || s.Note() != "" {
				t.Errorf("result %+v, note %q", r, s.Note())
			}
			if r.Seconds < 1 || r.Seconds > 2.5 {
				t.Errorf("%v s were counted of 3, the first one lost", r.Seconds)
			}
			h := r.Operations[""].Service
			if h == nil || h.TotalCount() < 100 || h.Mean() <= 0 || s.LatencyNote() == "" {
				t.Errorf("no latencies, note %q", s.LatencyNote())
			} else if off := math.Abs(float64(h.TotalCount() - r.Events)); tool.Name == "sysbench" && off > float64(r.Events)/100 {
				t.Errorf("%d latencies of %d events", h.TotalCount(), r.Events)
			}
			if tool.Name == "pgbench" && len(r.Tenths[""]) != int(r.Seconds*10+1e-6) {
				t.Errorf("%d tenths of %v s", len(r.Tenths[""]), r.Seconds)
			}
			if len(r.Series) == 0 || r.Series[0].T != 0 {
				t.Errorf("series: %+v", r.Series)
			}
			if log := o.Log.(*bytes.Buffer).String(); !strings.Contains(log, s.Output()) || !strings.Contains(s.Output(), "latency") && !strings.Contains(s.Output(), "Latency") {
				t.Errorf("the output is not kept verbatim; log:\n%s", log)
			}
		})
	}
}

// An interruption is told as such, not as a failure of the tool.
func TestInterruption(t *testing.T) {
	server := pgtest.Server(t, pgtest.Install(t, "system"), "fsync = off")
	s, err := Open(t.Context(), optionsFor(t, &Tool{Name: "pgbench", Scripts: []string{"a.sql"}, Files: map[string][]byte{"a.sql": []byte("SELECT pg_sleep(0.01);\n")}}, server))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(500*time.Millisecond, cancel)
	defer timer.Stop()
	if _, err := s.Slice(ctx, time.Minute, 0); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "pgbench") {
		t.Errorf("%v", err)
	}
}

// A script that fails ends the slice with what the tool said.
func TestFailingScripts(t *testing.T) {
	server := pgtest.Server(t, pgtest.Install(t, "system"), "fsync = off")
	for name, tool := range map[string]*Tool{
		"pgbench":  {Name: "pgbench", Scripts: []string{"a.sql"}, Files: map[string][]byte{"a.sql": []byte("SELECT nosuch;\n")}},
		"sysbench": {Name: "sysbench", Scripts: []string{"a.lua"}, Files: map[string][]byte{"a.lua": []byte("function event() error('nosuch') end\n")}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.Context(), optionsFor(t, tool, server))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if r, err := s.Slice(t.Context(), time.Second, 0); err == nil || !strings.Contains(err.Error(), "nosuch") {
				t.Errorf("result %+v, error %v", r, err)
			}
		})
	}
}

func TestToolCheck(t *testing.T) {
	for _, c := range []struct {
		tool Tool
		want string
	}{
		{Tool{Name: "hammerdb"}, `unknown driver "hammerdb"; there are pgbench and sysbench`},
		{Tool{Name: "pgbench", Args: []string{"-c8"}}, `args: -c8 is set by the step's "clients"`},
		{Tool{Name: "pgbench", Args: []string{"--time=5"}}, `args: --time is set by the step's "duration"`},
		{Tool{Name: "sysbench", Builtin: "x", Args: []string{"--pgsql-host=/tmp"}}, `args: --pgsql-host is set by this program`},
		{Tool{Name: "sysbench"}, `sysbench takes one script`},
		{Tool{Name: "pgbench", Args: []string{"-M", "simple", "--max-tries=3"}}, ""},
	} {
		err := c.tool.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.tool, err, c.want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if v, err := (&Tool{Name: "nosuch"}).Path(); err == nil {
		t.Errorf("a tool that is not there was found at %s", v)
	}
}
