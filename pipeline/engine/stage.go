package engine

import (
	"context"
	"io"
	"time"
)

// Scope says how far the output of a stage may be reused.
type Scope int

const (
	// Pure output depends on the recipe alone (fetch, config).
	Pure Scope = iota
	// Host output depends on the recipe and on this host's fingerprint (build, load).
	Host
	// Measured output is never served from the cache: each block is measured once and kept as evidence (run).
	Measured
	// Derived output is recomputed from the record whenever it is wanted (compare).
	Derived
)

// Take names what a stage takes from an earlier one.
type Take struct {
	// Kind of the earlier stage. The nearest one before this stage is taken unless `needs` says otherwise.
	Kind string
	// Field, when set, limits what counts towards the key to one parameter (yaml name) of that stage: load takes only
	// `initdb` of config, so that a changed shared_buffers never reloads data. The stage still runs after it.
	Field string
	// Optional inputs may be absent.
	Optional bool
}

// Kind describes one kind of stage. All that a new kind needs is a value of this type in stages.All.
type Kind struct {
	Name string
	// Doc is the help text; its first line is the summary.
	Doc   string
	Scope Scope
	Takes []Take
	// Catalogue is the top-level key of the experiment file that holds named parameter sets for this kind
	// ("builds", "configs"); `use: NAME` refers to them and `extends` builds one on another.
	Catalogue string
	// Fragments are named parameter sets that exist without any include, as YAML text by name.
	Fragments map[string]string
	// New returns a pointer to the parameter struct, defaults filled in. Every exported field has a `yaml` tag and a
	// `doc` tag and is part of the key unless it is tagged `key:"-"`.
	New func() Stage
	// Format changes when the same parameters come to do other work; the keys of this kind, and of what is made from it, change with it.
	Format int
	// Heavy stages disturb a measurement on the same machine: they hold the machine's lock shared while they run.
	Heavy bool
}

// Stage is the parameters of one stage. Run does its work; an error ends the node.
type Stage interface {
	Run(ctx context.Context, env *Env) error
}

// Based is a stage with file names relative to the directory of the experiment file. SetBase is called before Check.
type Based interface{ SetBase(dir string) }

// Checker is a stage that can refuse its parameters before anything runs. Errors that name a parameter should be a
// FieldError, so that the message can point at the line.
type Checker interface{ Check(host HostFacts) error }

// Pinner is a stage with moving references (a branch, a version range). Pin fills the stage's own fields with what the
// reference is now, or with locked when it has it. Only the pinned reference, never the moving one, is in the key.
type Pinner interface {
	// Pin returns what belongs in the lock file, or nil when nothing moves. locked is nil when the lock file has no entry for
	// this address.
	Pin(ctx context.Context, locked *Pin) (*Pin, error)
	// Address is the entry's name in the lock file.
	Address() string
}

// Pin is one entry of the lock file.
type Pin struct {
	Resolved string            `yaml:"resolved" json:"resolved"` // an address that does not move
	Version  string            `yaml:"version,omitempty" json:"version,omitempty"`
	SHA256   string            `yaml:"sha256,omitempty" json:"sha256,omitempty"`
	Files    map[string]string `yaml:"files,omitempty" json:"files,omitempty"` // file -> sha256 where a source has several
}

// Fingerprinter is a stage whose output depends on the host beyond its parameters: compiler and library versions, CPU
// model. The lines become part of the recipe. It is called at plan time, must be fast, and must not depend on inputs that
// have not been made yet.
type Fingerprinter interface {
	Fingerprint(ctx context.Context, host HostFacts) ([]string, error)
}

// Measurer is a stage of scope Measured: it says at plan time what it will measure.
type Measurer interface {
	Stage
	Measures() ([]StepInfo, error)
	// Limits says how many blocks are wanted at least and allowed at most.
	Limits() Budget
}

// Budget limits the measuring of one facet.
type Budget struct {
	MinBlocks int
	MaxBlocks int
	Time      time.Duration // 0: no limit
	Sentinel  bool          // measure a second copy of the base as a live A/A check
}

// StepInfo describes one measured step.
type StepInfo struct {
	Name       string   `json:"name"`       // full name; the assertion language accepts any unique shortening
	Class      string   `json:"class"`      // "steady" or "whole"
	Writes     bool     `json:"writes"`     // changes the data that later steps see
	Unit       string   `json:"unit"`       // what Ops counts: "queries", "rows", "inserts"
	Operations []string `json:"operations"` // separate latency series ("insert", "query"); empty: one unnamed
	Groups     []string `json:"groups"`     // published groups that it belongs to
	OpenLoop   bool     `json:"open_loop"`
	// Seconds the step is measured per variant and block, for forecasts; 0 when it is a fixed amount of work.
	Seconds float64 `json:"seconds"`
	Clients int     `json:"clients"`
}

// Secretive is a stage with values that must not be shown. They are taken out by value of logs, events, records and errors,
// and do not belong into a recipe.
type Secretive interface{ Secrets() []string }

// Input is what an earlier stage made.
type Input struct {
	Kind   string
	Key    string
	Dir    string // read-only directory of the entry
	Params Stage  // the earlier stage's parameters; with Take.Field set only that field may be used
}

// Variant is one of the compared cells of a facet, with everything that its cell's earlier stages made.
type Variant struct {
	Name   string            // "17.0", "a18", "17.0/a18"
	Base   bool              // every relative figure is against this one
	Cell   map[string]string // axis -> value
	Inputs map[string]Input  // by kind
}

// Block identifies the block that a measured stage is to run.
type Block struct {
	Number int    // 1-based within the run's facet
	Seed   uint64 // of every random choice in the block
	// Steps that are still wanted, in order; a step not listed is skipped.
	Steps []string
}

// Env is what a stage sees of the world. It has nothing of the store, the report or the terminal.
type Env struct {
	Dir      string // to be filled; becomes a read-only entry when Run returns nil (Pure and Host stages); of the run (Measured and Derived)
	Scratch  string // private, on the same file system as Dir, removed afterwards
	Inputs   map[string]Input
	Variants []Variant     // Measured stages: the facet's variants, base first
	Block    Block         // Measured stages
	Facets   []Facet       // Derived stages: what was measured
	Blocks   []BlockRecord // Derived stages: the evidence of all facets
	Host     HostFacts
	Log      io.Writer // the node's log; kept
	// Progress reports how far the node is; any goroutine may call it. Total 0 means unknown.
	Progress func(Progress)
	// Warn records a warning that every report shows.
	Warn func(format string, args ...any)
	// Record keeps one measurement (Measured stages); any goroutine may call it.
	Record func(Measurement)
	// Fact records something that every report should show about this node, such as the resolved version or
	// "unverified: no checksum".
	Fact func(name, value string)
}

// Progress is how far a node is.
type Progress struct {
	What  string  `json:"what"` // "unpack", "copy sbtest1", "point-query on 17.0"
	Done  float64 `json:"done"`
	Total float64 `json:"total"`
	Unit  string  `json:"unit"` // "B", "rows", "s", ...
	// Rate is the current rate of the measured variant, in operations per second, when something is being measured.
	Rate float64 `json:"rate,omitempty"`
}

// HostFacts is what `${host.…}` and stages may know of the machine.
type HostFacts struct {
	CPUs        int    `json:"cpus"`
	MemoryBytes int64  `json:"memory_bytes"`
	CPUModel    string `json:"cpu_model"`
	Kernel      string `json:"kernel"`
	Arch        string `json:"arch"`
	OS          string `json:"os"`         // "debian 12"
	MachineID   string `json:"machine_id"` // stable across reboots; hashed, never the raw machine-id
}

// FieldError is an error about one parameter.
type FieldError struct {
	Field string // yaml path below the stage's parameters, such as "settings.shared_buffers"
	Err   error
	Hint  string
}

func (e *FieldError) Error() string { return e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }
