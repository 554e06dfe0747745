package engine

import "time"

// EventType names what happened.
type EventType string

const (
	PlanReady     EventType = "plan"           // the plan is made; Nodes lists it
	NodeStarted   EventType = "node-started"   // a node begins to run
	NodeWaiting   EventType = "node-waiting"   // a node waits; Message says for whom
	NodeProgress  EventType = "node-progress"  // Progress is set
	NodeFinished  EventType = "node-finished"  // Status, Seconds and Reason are set
	NodeLog       EventType = "node-log"       // one line of the node's log in Message
	BlockStarted  EventType = "block-started"  // Block, Blocks and Steps are set
	BlockFinished EventType = "block-finished" // the judge's state is in Message
	Warning       EventType = "warning"
	RunFinished   EventType = "run-finished"
)

// Event is what the engine tells whoever follows a run. The terminal, the plain lines and the JSON lines are renderings of
// the same stream.
type Event struct {
	Time    time.Time `json:"time"`
	Type    EventType `json:"type"`
	Run     string    `json:"run,omitempty"`
	Node    string    `json:"node,omitempty"`
	Kind    string    `json:"kind,omitempty"`
	Status  string    `json:"status,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Seconds float64   `json:"seconds,omitempty"`
	// Expected is the forecast duration of the node in seconds, learnt from earlier runs; 0: unknown.
	Expected float64   `json:"expected,omitempty"`
	Progress *Progress `json:"progress,omitempty"`
	Block    int       `json:"block,omitempty"`
	Blocks   int       `json:"blocks,omitempty"` // the budget's maximum
	// TimeLeft is what the time budget still has when a block starts, in seconds; 0: there is no limit.
	TimeLeft float64      `json:"time_left,omitempty"`
	Steps    []string     `json:"steps,omitempty"`
	Nodes    []NodeRecord `json:"nodes,omitempty"`
}
