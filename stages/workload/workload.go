package workload

import (
	"context"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/driver"
)

// All is every workload that there is.
var All = []*Workload{
	sysbench,
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
	// Program makes what one client does.
	Program func(Build) driver.Program
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
	// Maintenance is an action between steps that is not measured: "postwrite".
	Maintenance string
}

// Program returns what one client of the step does.
func (s Step) Program(client int, seed uint64) driver.Program {
	return s.Kind.Program(Build{Params: s.Params, Range: s.Range, Client: client, Seed: seed})
}
