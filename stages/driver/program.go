package driver

// Parameter types of Statement.Params (OIDs of the server's catalogue).
const (
	Int8      uint32 = 20
	Int4      uint32 = 23
	Text      uint32 = 25
	Float8    uint32 = 701
	BPChar    uint32 = 1042
	Timestamp uint32 = 1114
)

// Statement is prepared once on each connection of a client that uses it.
type Statement struct {
	SQL string
	// Params are the types of $1, $2, ...; 0 lets the server choose.
	Params []uint32
	// TextParams sends parameters in text format, for statements whose types are not known here. The event then gives every
	// parameter with Client.Text.
	TextParams bool
}

// Program is what one client does. Each client has its own value, so Event may keep state in a closure without locking.
type Program struct {
	// Statements are prepared before the first slice; Client.Bind takes an index into them.
	Statements []Statement
	// Event runs one event, a transaction or a single statement, by calls on the client. It returns the error of the first call
	// that fails, unchanged: an event that ended with an expected error (a deadlock) is rolled back and run again, with new random
	// values, while its clock runs on. It must not allocate.
	Event func(*Client) error
	// Operations name the latency series that the event may choose with Client.Operation. Empty: one unnamed series.
	Operations []string
	// OpsPerEvent is what one successful event adds to Result.Ops. 0: each statement that succeeds counts one, BEGIN and
	// COMMIT included, as sysbench counts queries.
	OpsPerEvent int64
	// Rate is the number of events per second of this client, which makes its loop open. 0: the session's rate divided by its
	// clients, or a closed loop when that is 0 too.
	Rate float64
	// Before is called before each event, in an open loop before its intended start is waited for: to make what the event will send, or to
	// hold it back. It is asked again, some microseconds later, until it returns true. Its time is in no latency. nil: nothing to do.
	Before func(*Client) (ready bool, err error)
	// Limit is the number of events after which the client has done its work, over all slices of the session; 0: no limit.
	Limit int64
	// Background says that the client only makes the load that others are measured under: its events do not enter Result.Ops.
	Background bool
}
