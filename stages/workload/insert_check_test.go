package workload

import (
	"strings"
	"testing"

	"pgpipeline/stages/driver"
)

// Which steps fit the data of which load.
func TestInsertStepsNeedTheirData(t *testing.T) {
	for _, c := range []struct {
		steps, through string
		clients        int
		deletes        bool
		want           string // part of the error; "": none
	}{
		{steps: "l.i0 l.x l.i1 l.i2 postwrite q100 qr500.L3 qp1000.L6", through: "none"},
		{steps: "l.x l.i1", through: "l.i0"},
		{steps: "q1000", through: ""},
		{steps: "q1000", through: "l.i2", deletes: true},
		{steps: "l.i1", through: "none", want: "list l.x before it, or load through it"},
		{steps: "l.x", through: "none", want: "list l.i0 before it"},
		{steps: "l.i0 l.i1", through: "l.x", want: "the load goes through l.i0"},
		{steps: "l.i1", through: "l.x", clients: 3, deletes: true, want: "3 clients would delete from the same ends of 2 tables"},
		{steps: "l.i1", through: "l.x", clients: 3},
		{steps: "l.i1", through: "l.i9", want: `unknown step "l.i9"`},
		{steps: "point-query", through: "l.x", want: "belongs to the workload sysbench"},
	} {
		p := Params{Tables: 2, Rows: 100, Clients: max(c.clients, 2), Insert: Insert{DeletePerInsert: c.deletes}}
		steps, err := Resolve(refs(strings.Fields(c.steps)...), p)
		if err != nil {
			t.Fatal(err)
		}
		err = Check(steps, "insert", c.through)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s through %q: %v, want %q", c.steps, c.through, err, c.want)
		}
	}
	if _, err := Resolve([]StepRef{{Step: "q100", Rows: 5}}, Params{}); err == nil || !strings.Contains(err.Error(), "takes no rows") {
		t.Error(err)
	}
}

// Rates and amounts of work are those of the description, whatever the numbers of clients and tables.
func TestInsertPacing(t *testing.T) {
	for _, c := range []struct {
		step          string
		clients       int
		insert        Insert
		connections   int
		rate, deleted float64 // statements per second of the last connection that inserts, or deletes
		target        float64
	}{
		{step: "q100", clients: 3, connections: 6, rate: 2, target: 300},
		{step: "q1000", clients: 3, insert: Insert{DeletePerInsert: true}, connections: 9, rate: 20, deleted: 20, target: 3000},
		{step: "q100", clients: 1, insert: Insert{RowsPerCommit: 500}, connections: 2, rate: 1, target: 100},
		{step: "l.i1", clients: 2, insert: Insert{DeletePerInsert: true}, connections: 4},
		{step: "l.i0", clients: 2, insert: Insert{DeletePerInsert: true}, connections: 2},
	} {
		steps, err := Resolve(refs(c.step), Params{Tables: c.clients, Rows: 1000, Clients: c.clients, Insert: c.insert})
		if err != nil {
			t.Fatal(err)
		}
		s := steps[0]
		programs := map[string]driver.Program{}
		of := s.Programs(1)
		for i := range s.Connections() {
			p := of(i)
			programs[p.Operations[0]] = p
		}
		if s.Connections() != c.connections || programs[opInsert].Rate != c.rate || programs[opDelete].Rate != c.deleted || s.Target() != c.target {
			t.Errorf("%s: %d connections, %v and %v statements/s, target %v", c.step, s.Connections(), programs[opInsert].Rate, programs[opDelete].Rate, s.Target())
		}
	}
	for _, c := range []struct {
		clients, tables int
		rows, limit     int64
		own             string // tables of the first client
	}{{2, 2, 1000, 10, "pi1"}, {2, 1, 1000, 5, "pi1"}, {2, 4, 1000, 20, "pi1 pi3"}, {3, 3, 1001, 11, "pi1"}} {
		b := Build{Params: Params{Tables: c.tables, Rows: c.rows, Clients: c.clients}}
		crew := newCrew(i0, b)
		if got := strings.Join(crew.pairs[0].tables, " "); crew.limit() != c.limit || got != c.own {
			t.Errorf("%+v: %d statements on %s", c, crew.limit(), got)
		}
	}
}
