package lang

import "reflect"

// Kind is the kind of value that a function gives.
type Kind int

// The kinds. Claims come from functions such as slower(), which compare by themselves.
const (
	EstimateKind Kind = iota
	TimeEstimateKind
	NumberKind
	TimeNumberKind
	ClaimKind
)

var kindTypes = map[Kind]reflect.Type{
	EstimateKind:     reflect.TypeFor[Estimate](),
	TimeEstimateKind: reflect.TypeFor[TimeEstimate](),
	NumberKind:       reflect.TypeFor[Number](),
	TimeNumberKind:   reflect.TypeFor[TimeNumber](),
	ClaimKind:        reflect.TypeFor[Claim](),
}

// Function is one measuring function that assertions may call. Its arguments are literals, so that everything about a call
// is known before anything runs.
type Function struct {
	Name string
	Doc  string // one line: arguments and meaning
	Kind Kind
	// Check refuses a call that can never be answered: an unknown step, a wrong option.
	Check func(Call) *ArgError
}

// Call is one call of a Function with its literal arguments.
type Call struct {
	Name string
	Args []Arg
	Text string // as written
}

// Arg is one literal argument: a string, a float64, a bool, or a map[string]any of these.
type Arg struct {
	Value  any
	Offset int
}

// ArgError is a mistake in an argument of a call; Arg is its index, -1 for the call itself.
type ArgError struct {
	Arg       int
	Msg, Hint string
}

// Resolver answers the calls of one evaluation. It returns a *Quantity, or for functions of ClaimKind a Judged.
type Resolver func(Call) any

// Judged is the answer of a function of ClaimKind.
type Judged struct {
	Quantity *Quantity
	Claim    Claim
	Reason   string
}

// unit functions turn a number into seconds or bytes.
var secondsPer = map[string]float64{
	"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "seconds": 1, "minutes": 60, "hours": 3600,
}

var bytesPer = map[string]float64{"bytes": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
