package engine

import "time"

// RecordVersion is the version of the record's JSON; it changes when a field changes its meaning.
const RecordVersion = 1

// Record is everything that is known of one run. It is the only input of judging and reporting.
type Record struct {
	Version    int            `json:"version"`
	ID         string         `json:"id"`
	Tool       string         `json:"tool"`
	Experiment ExperimentInfo `json:"experiment"`
	Host       HostFacts      `json:"host"`
	Started    time.Time      `json:"started"`
	Ended      time.Time      `json:"ended,omitzero"`
	// Status: "running", "done", "interrupted", "failed".
	Status string       `json:"status"`
	Error  string       `json:"error,omitempty"`
	Nodes  []NodeRecord `json:"nodes"`
	Facets []Facet      `json:"facets"`
	// Blocks is the evidence of every facet: this run's blocks and those of earlier runs that measured the same thing.
	Blocks []BlockRecord `json:"blocks"`
	// Open is the block that is being measured, still without measurements. When the process is killed meanwhile, this is what
	// is left of the block.
	Open     *BlockRecord      `json:"open,omitempty"`
	Warnings []string          `json:"warnings,omitempty"`
	Vars     map[string]string `json:"vars,omitempty"`
}

// ExperimentInfo identifies the file that was run.
type ExperimentInfo struct {
	Name           string              `json:"name"`
	Doc            string              `json:"doc,omitempty"`
	Path           string              `json:"path"`
	SHA256         string              `json:"sha256"` // of the file as read
	Text           string              `json:"text"`   // the file as read
	Set            []string            `json:"set,omitempty"`
	Groups         map[string][]string `json:"groups,omitempty"` // user-defined: name -> step globs
	Asserts        []Assertion         `json:"asserts"`
	OnInconclusive string              `json:"on_inconclusive,omitempty"` // "fail", "report" (default), "pass"
}

// Assertion is one line under `assert:`.
type Assertion struct {
	Expr      string            `json:"expr"`
	Severity  string            `json:"severity"` // "fail" or "warn"
	Where     map[string]string `json:"where,omitempty"`
	Published string            `json:"published,omitempty"` // figure to print beside the verdict
	File      string            `json:"file"`
	Line      int               `json:"line"`
	Column    int               `json:"column"` // of the expression's first character
}

// NodeRecord says what became of one node of the plan.
type NodeRecord struct {
	ID       string            `json:"id"` // "build[pg=17.0,flags=def]"
	Kind     string            `json:"kind"`
	Key      string            `json:"key"`
	Status   string            `json:"status"`           // "cached", "done", "failed", "skipped", "interrupted"
	Reason   string            `json:"reason,omitempty"` // why it was not cached
	Seconds  float64           `json:"seconds"`
	Started  time.Time         `json:"started,omitzero"`
	Error    string            `json:"error,omitempty"`
	Needs    []string          `json:"needs,omitempty"`
	Facts    map[string]string `json:"facts,omitempty"`
	Warnings []string          `json:"warnings,omitempty"`
	Log      string            `json:"log,omitempty"` // path below the run's directory
}

// Facet is a set of cells that are compared with each other.
type Facet struct {
	Name     string            `json:"name"`  // "" when there is only one; "clients=8" otherwise
	Stage    string            `json:"stage"` // id of the run stage
	Cell     map[string]string `json:"cell,omitempty"`
	Variants []VariantInfo     `json:"variants"` // base first
	Steps    []StepInfo        `json:"steps"`
	// EvidenceKey names what was measured: builds, configs, load, steps, placement and machine. Blocks of other runs with
	// the same key are the same experiment and are pooled.
	EvidenceKey string `json:"evidence_key"`
	Recipe      string `json:"recipe"` // the evidence key's readable pre-image
	// Series is the one that counts: "" or the id of the run that opened it with --fresh run. Blocks of other series are
	// shown beside it and never judged.
	Series    string `json:"series,omitempty"`
	MinBlocks int    `json:"min_blocks"`
	MaxBlocks int    `json:"max_blocks"`
}

// VariantInfo describes a variant for reports.
type VariantInfo struct {
	Name string `json:"name"`
	Base bool   `json:"base,omitempty"`
	// Sentinel is a second copy of the base, measured like a candidate to see what "nothing changed" looks like. No
	// assertion is about it.
	Sentinel bool              `json:"sentinel,omitempty"`
	Cell     map[string]string `json:"cell"`
	// Facts by stage kind: version, CFLAGS, settings, rows, ... as the stages reported them.
	Facts map[string]map[string]string `json:"facts,omitempty"`
	// Nodes by stage kind: the id of the node in this run.
	Nodes map[string]string `json:"nodes"`
}

// BlockRecord is one boot of every variant of a facet and one pass over the steps: the outer sample.
type BlockRecord struct {
	Run         string    `json:"run"`   // id of the run that measured it
	Facet       string    `json:"facet"` // name
	Stage       string    `json:"stage"`
	EvidenceKey string    `json:"evidence_key"`
	Series      string    `json:"series"` // "" or the id of the run that opened a fresh series
	Number      int       `json:"number"`
	Seed        uint64    `json:"seed"`
	Started     time.Time `json:"started"`
	Ended       time.Time `json:"ended,omitzero"`
	// Complete is false for an interrupted block: it is kept and shown and never counted.
	Complete     bool          `json:"complete"`
	Error        string        `json:"error,omitempty"`
	ErrorSide    string        `json:"error_side,omitempty"` // "base", "candidate:NAME", "outside"
	Measurements []Measurement `json:"measurements"`
	Warnings     []string      `json:"warnings,omitempty"`
	// Serial is true when the variants' servers did not fit into memory together and ran one at a time.
	Serial bool `json:"serial,omitempty"`
}

// Measurement is what one step yielded on one variant in one block.
type Measurement struct {
	Step    string   `json:"step"`
	Variant string   `json:"variant"`
	Class   string   `json:"class"`
	Unit    string   `json:"unit"`
	Clients int      `json:"clients"`
	Samples []Sample `json:"samples"`
	// Ops by operation: latency histograms and counts over all counted samples. The unnamed operation is "".
	Ops map[string]Operation `json:"ops,omitempty"`
	// Cost is per-operation hardware and server counters over the counted time: totals, not yet divided.
	Cost map[string]float64 `json:"cost,omitempty"`
	// Series is the per-second rate over the whole step, in order of time.
	Series []Second `json:"series,omitempty"`
	// Tenths by operation are the events that ended in each tenth of a second of the counted time, which stalls are found in. Absent where a
	// load generator or an imported result tells no more than seconds.
	Tenths map[string]Tenths `json:"tenths,omitempty"`
	// Warmup says how the warm-up ended: seconds and whether it was steady.
	WarmupSeconds float64 `json:"warmup_seconds,omitempty"`
	Unsteady      bool    `json:"unsteady,omitempty"`
	// Invalid is the reason why this measurement must not be used; the first line of every message about it.
	Invalid  string   `json:"invalid,omitempty"`
	Cause    string   `json:"cause,omitempty"` // "server", "outside", "client"
	Warnings []string `json:"warnings,omitempty"`
	// Notes that reports show: effective deletes, cached: os confirmed, ...
	Notes map[string]string `json:"notes,omitempty"`
	// Outputs is what another load generator printed, slice by slice, when one ran the step.
	Outputs []string `json:"outputs,omitempty"`
}

// Sample is what one slice yields.
type Sample struct {
	Pair    int       `json:"pair"`  // slices of all variants with equal pair numbers are compared
	Order   int       `json:"order"` // position within the pair
	Start   time.Time `json:"start"`
	Seconds float64   `json:"seconds"` // counted time
	Ops     float64   `json:"ops"`     // in the step's unit
	Events  float64   `json:"events"`  // transactions
	// Errors by SQLSTATE. Expected ones (retried) are under Retries.
	Errors  map[string]int64 `json:"errors,omitempty"`
	Retries map[string]int64 `json:"retries,omitempty"`
	// ServerCPU and ClientCPU in seconds of CPU time.
	ServerCPU  float64 `json:"server_cpu"`
	ClientCPU  float64 `json:"client_cpu"`
	MaxSeconds float64 `json:"max_seconds"` // worst response time
	// Env is the state of the machine during the slice: steal, pressure, frequency, dirty bytes, checkpoints.
	Env     Readings `json:"env,omitzero"`
	Timeout bool     `json:"timeout,omitempty"` // cut off; counted as it stands
	Void    string   `json:"void,omitempty"`    // reason why it does not count
}

// Operation is the latency distribution of one kind of operation.
type Operation struct {
	Count int64 `json:"count"`
	// Service and Response are HdrHistograms (V2, compressed, base64) in nanoseconds: from the actual send, and from the
	// intended start. Response is empty in a closed loop.
	Service    string  `json:"service,omitempty"`
	Response   string  `json:"response,omitempty"`
	MaxSeconds float64 `json:"max_seconds"`
}

// Second is one second of a step.
type Second struct {
	T          float64  `json:"t"` // seconds since the step began on this variant
	Ops        Readings `json:"ops"`
	MaxSeconds Readings `json:"max,omitzero"`
}
