package workload

import (
	"context"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/driver"
	"pgpipeline/stages/external"
)

// All is every workload that there is.
var All = []*Workload{
	sysbench,
	insertBench,
}

// Workload is a family of steps over the same data.
type Workload struct {
	Name string // "sysbench"
	Doc  string
	// Kinds of steps in the order in which help lists them.
	Kinds []Kind
	// Lists are ordered sequences of steps by name.
	Lists map[string]func(Params) []StepRef
	// Groups are sets of steps by name, as publications group them: names of steps, without `_range=N` when any range belongs to it.
	Groups map[string][]string
	// Tables names the tables of the workload, for maintenance.
	Tables func(Params) []string
	// Load creates and fills the tables.
	Load func(context.Context, LoadOptions) (LoadFacts, error)
	// Check says when steps do not fit the data of a load that ended with step `through`; nil: they always do.
	Check func(steps []Step, through string) error
}

// Database is the name of the database that workloads live in.
const Database = "bench"

// Classes of steps (see the architecture: steady steps are sliced, whole steps are not).
const (
	Steady = "steady"
	Whole  = "whole"
)

// Kind is one kind of step. With its range and tag it becomes a step: `random-points.pre_range=10`.
type Kind struct {
	Name  string
	Doc   string // one line
	Class string // Steady or Whole
	// Writes says that it changes the data that later steps see.
	Writes bool
	Unit   string // what Result.Ops counts: "queries", "rows", "inserts"
	// Ranges are the published values of the parameter `range`; a kind that has none takes no range.
	Ranges []int
	// Tags under which the published lists run it a second time: "pre" (before the writes), "warm".
	Tags []string
	// Pass says that a slice is one event per client, whatever time it takes.
	Pass bool
	// Operations with latencies of their own; empty: one, without a name.
	Operations []string
	// Tool runs the step in place of our own driver; nil: Program says what each client does.
	Tool *external.Tool
	// Program makes what one client does.
	Program func(Build) driver.Program
	// Programs does the same for kinds whose connections know of each other: it is called once per session.
	Programs func(Build) func(connection int) driver.Program
	// Connections is the number of connections of a session; nil: one per client.
	Connections func(Params) int
	// Prepare runs before the step, unmeasured; nil: nothing to do.
	Prepare func(ctx context.Context, connString string, p Params) error
	// FixedWork says that the step ends with its work, not with a time; TakesRows that it does when it is given a number of rows.
	FixedWork, TakesRows bool
	// Target is the rate of inserts in rows per second that the step is to be measured under; nil: none.
	Target func(Params) float64
}

// Params are what the load and the run say once for all steps.
type Params struct {
	Tables  int
	Rows    int64 // per table
	Clients int
	// NoPrimaryKey gives the tables a plain index on id instead of a primary key (usepk=0).
	NoPrimaryKey bool
	// Rate in events per second over all clients, for steps that do not name one; 0: closed loop.
	Rate float64
	// Duration of a step per variant and block, for steps that do not name one.
	Duration time.Duration
	Insert   Insert // of the insert benchmark
}

// Build is what a Kind's Program is made from.
type Build struct {
	Params
	Range  int
	Client int // from 0
	Seed   uint64
}

// Step is one step of a run.
type Step struct {
	engine.StepInfo
	Doc      string
	Workload *Workload
	Kind     *Kind // nil for maintenance
	Range    int
	Tag      string
	Rate     float64
	Duration time.Duration
	Params   Params
	// Pass: see Kind.
	Pass bool
	// Work says that the step ends when every connection has reached its program's limit; MaxWork at the latest.
	Work bool
	// Maintenance is an action between steps that is not measured: "postwrite".
	Maintenance string
}

// MaxWork bounds a step that has a fixed amount of work.
const MaxWork = 7 * 24 * time.Hour

// Program returns what one client of the step does.
func (s Step) Program(client int, seed uint64) driver.Program { return s.Programs(seed)(client) }

// Programs returns what the connections of one session do.
func (s Step) Programs(seed uint64) func(connection int) driver.Program {
	b := Build{Params: s.Params, Range: s.Range, Seed: seed}
	if s.Kind.Programs != nil {
		return s.Kind.Programs(b)
	}
	return func(client int) driver.Program {
		b := b
		b.Client = client
		return s.Kind.Program(b)
	}
}

// FixedWork says that the step ends with its work, not with a time.
func (s Step) FixedWork() bool { return s.Work || s.Pass && s.Class == Whole }

// Connections is how many of them a session has.
func (s Step) Connections() int {
	if s.Kind.Connections == nil {
		return s.Clients
	}
	return s.Kind.Connections(s.Params)
}

// Prepare brings the database into the state in which the step begins; it is not measured. connString is of the workload's database.
func (s Step) Prepare(ctx context.Context, connString string) error {
	if s.Kind.Prepare == nil {
		return nil
	}
	return s.Kind.Prepare(ctx, connString, s.Params)
}

// Target is the rate of inserts in rows per second, over all clients, that the step is to be measured under; 0: none.
func (s Step) Target() float64 {
	if s.Kind.Target == nil {
		return 0
	}
	return s.Kind.Target(s.Params)
}
