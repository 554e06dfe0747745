package gate

// Outcomes of an assertion and of a whole run.
const (
	Pass         = "pass"
	Fail         = "fail"
	Inconclusive = "inconclusive"
	Invalid      = "invalid"
)

// Verdict is what a record is worth. Every report is made from it and from the record; it is plain data.
type Verdict struct {
	Outcome  string `json:"outcome"` // pass, fail, inconclusive, invalid
	ExitCode int    `json:"exit_code"`
	// Reason says in a sentence why the outcome is not pass.
	Reason     string            `json:"reason,omitempty"`
	Assertions []AssertionResult `json:"assertions"`
	Steps      []StepEstimate    `json:"steps"`
	Groups     []GroupEstimate   `json:"groups"`
	// Atoms is m: how many comparisons share the 1 % of false alarms.
	Atoms    int      `json:"atoms"`
	Warnings []string `json:"warnings,omitempty"`
	// Noise says what is known of this machine's noise: "assumed" or a calibration.
	Noise NoiseInfo `json:"noise"`
	// Accepted are known regressions from the accept file, also those that expired or were exceeded.
	Accepted []AcceptResult `json:"accepted,omitempty"`
	// Earlier are the verdicts of series that --fresh closed: shown, never counted.
	Earlier []SeriesVerdict `json:"earlier,omitempty"`
}

// AssertionResult is the verdict of one assertion on one candidate of one facet.
type AssertionResult struct {
	Expr      string `json:"expr"`
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	Severity  string `json:"severity"` // fail, warn
	Published string `json:"published,omitempty"`
	Facet     string `json:"facet"`
	Stage     string `json:"stage"`
	Candidate string `json:"candidate"` // variant that is judged
	Base      string `json:"base"`
	// Implicit results are those nobody wrote: a crash, an SQL error.
	Implicit bool   `json:"implicit,omitempty"`
	Outcome  string `json:"outcome"`
	// Reason: "budget", "futile", "too-few", "missing", "few-tail", "biased-loss", "unsteady", "closed-loop", ... or free text.
	Reason string `json:"reason,omitempty"`
	// Message is one line: expression, value, interval, limit, pairs, boots, minutes.
	Message string `json:"message"`
	Atoms   []Atom `json:"atoms"`
	// MinutesNeeded is a forecast for an inconclusive verdict; 0: unknown or out of reach.
	MinutesNeeded float64  `json:"minutes_needed,omitempty"`
	Tags          []string `json:"tags,omitempty"` // "unguarded", "closed loop", "accepted"
	// Accepted says what the accept file has about a failure: what excused it, what it exceeds, what expired.
	Accepted []string `json:"accepted,omitempty"`
	// HolmP is the adjusted p-value over all guarded assertions of the plan; 0 when there is none.
	HolmP float64 `json:"holm_p,omitempty"`
	// Naive is what a gate without statistics says of the same samples: pass or fail, "" when it cannot.
	Naive      string  `json:"naive,omitempty"`
	NaiveValue float64 `json:"naive_value,omitempty"`
}

// Atom is one comparison inside an assertion.
type Atom struct {
	Text  string `json:"text"` // relqps("hot-points") > 0.95
	Call  string `json:"call"`
	Op    string `json:"op"`
	Step  string `json:"step,omitempty"`
	Unit  string `json:"unit,omitempty"` // "", "s", "B", ...
	State string `json:"state"`          // true, false, unknown
	// Value, Lo and Hi in the unit; the interval is what is not rejected at the verdict's levels. Lo or Hi are absent when
	// the evidence cannot bound that side.
	Value   *float64 `json:"value,omitempty"`
	Lo      *float64 `json:"lo,omitempty"`
	Hi      *float64 `json:"hi,omitempty"`
	Limit   float64  `json:"limit"`
	Guarded bool     `json:"guarded"`
	Pairs   int      `json:"pairs,omitempty"`
	Boots   int      `json:"boots,omitempty"`
	Minutes float64  `json:"minutes,omitempty"`
	// Look is the block count at which it was decided, 0 while it is not.
	Look  int     `json:"look,omitempty"`
	P     float64 `json:"p,omitempty"`      // one-sided, against the limit, with the boot term
	FailP float64 `json:"fail_p,omitempty"` // the same towards the side that fails
	Floor float64 `json:"floor,omitempty"`
	// Needed is the minutes of measuring that would decide it; 0: unknown.
	MinutesNeeded float64 `json:"minutes_needed,omitempty"`
	Reason        string  `json:"reason,omitempty"`
}

// Ratio is an estimate against the base, as a ratio: 1.02 is 2 % more.
type Ratio struct {
	Point float64 `json:"point"`
	// Lo and Hi bound it at 95 %; absent when the evidence cannot.
	Lo *float64 `json:"lo,omitempty"`
	Hi *float64 `json:"hi,omitempty"`
	// P is two-sided against 1; Q is its Benjamini-Hochberg adjustment over all steps and candidates of the run.
	P float64 `json:"p"`
	Q float64 `json:"q"`
	// Changed: Q below 5 % and the change is beyond the noise floor. What is not changed prints "~".
	Changed bool    `json:"changed"`
	Floor   float64 `json:"floor"` // smallest change that the budget can tell from noise, as a fraction; 0: unknown
	Pairs   int     `json:"pairs"`
	Boots   int     `json:"boots"`
}

// Level is an absolute figure with the order-statistic interval of its median.
type Level struct {
	Point float64  `json:"point"`
	Lo    *float64 `json:"lo,omitempty"`
	Hi    *float64 `json:"hi,omitempty"`
}

// StepEstimate is all that is known of one step on one variant.
type StepEstimate struct {
	Facet   string   `json:"facet"`
	Stage   string   `json:"stage"`
	Step    string   `json:"step"`
	Variant string   `json:"variant"`
	Base    bool     `json:"base,omitempty"`
	Class   string   `json:"class"`
	Unit    string   `json:"unit"`
	Groups  []string `json:"groups,omitempty"`
	QPS     Level    `json:"qps"` // operations per second in the step's unit
	// Rel holds relqps, relcpu, relp99, ... against the base; empty for the base itself.
	Rel map[string]Ratio `json:"rel,omitempty"`
	// Abs holds p50, p95, p99, p999 (seconds), maxrt, cpu_per_op (seconds), wal_per_op, reads_per_op, ..., cv, rate99.
	Abs      map[string]float64 `json:"abs,omitempty"`
	Pairs    int                `json:"pairs"`
	Boots    int                `json:"boots"`
	Minutes  float64            `json:"minutes"` // measured on this variant
	Errors   int64              `json:"errors,omitempty"`
	Voided   int                `json:"voided,omitempty"`
	Unsteady int                `json:"unsteady,omitempty"`
	// NaiveRel is total rate over total rate: what a gate without statistics reads.
	NaiveRel float64 `json:"naive_rel,omitempty"`
	// Ops by operation ("insert", "query") for steps that have several: p50... and rates.
	Ops map[string]map[string]float64 `json:"ops,omitempty"`
	// State: "", or why there is no figure ("missing", "invalid: ...").
	State string `json:"state,omitempty"`
}

// GroupEstimate is the geometric mean of relative QPS over a group's steps.
type GroupEstimate struct {
	Facet   string   `json:"facet"`
	Stage   string   `json:"stage"`
	Group   string   `json:"group"`
	Variant string   `json:"variant"`
	Ratio   Ratio    `json:"ratio"`
	Min     float64  `json:"min"` // worst member
	MinStep string   `json:"min_step"`
	Max     float64  `json:"max"`
	MaxStep string   `json:"max_step"`
	Members []string `json:"members"` // with data
	Missing []string `json:"missing,omitempty"`
	State   string   `json:"state,omitempty"`
}

// NoiseInfo says what the verdicts assume of the machine.
type NoiseInfo struct {
	Calibrated bool    `json:"calibrated"`
	Text       string  `json:"text"`       // one sentence for reports
	SigmaBoot  float64 `json:"sigma_boot"` // relative spread between boots
	Age        string  `json:"age,omitempty"`
}

// AcceptResult says what an entry of the accept file did.
type AcceptResult struct {
	Step   string  `json:"step"`
	Metric string  `json:"metric"`
	Size   float64 `json:"size"`
	Reason string  `json:"reason"`
	Until  string  `json:"until"` // the last day on which it holds
	By     string  `json:"by"`
	// State: "applied", "unused", "expired", "exceeded", "invalid".
	State   string `json:"state"`
	Message string `json:"message"`
}

// SeriesVerdict is the verdict of an earlier series of the same evidence.
type SeriesVerdict struct {
	Series     string            `json:"series"`
	Blocks     int               `json:"blocks"`
	Outcome    string            `json:"outcome"`
	Assertions []AssertionResult `json:"assertions"`
}
