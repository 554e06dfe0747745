package lang

import (
	"fmt"
	"math"
	"strconv"
)

// Truth is a value of Kleene's three-valued logic. The order False < Unknown < True makes "and" the minimum, "or" the maximum.
type Truth int8

// The three truths.
const (
	False   Truth = -1
	Unknown Truth = 0
	True    Truth = 1
)

func (t Truth) String() string { return [...]string{"false", "unknown", "true"}[t+1] }

// Claim is what a comparison comes to. It is judged twice, because how much evidence a side needs depends on whether it ends in
// a pass or in a fail, and "!" turns one into the other: Pos is the claim where true leads to a pass, Neg where it stands
// under a negation.
type Claim struct{ Pos, Neg Truth }

// Known is a claim that does not depend on the evidence.
func Known(b bool) Claim {
	if b {
		return Claim{True, True}
	}
	return Claim{False, False}
}

func (c Claim) not() Claim        { return Claim{-c.Neg, -c.Pos} }
func (c Claim) and(d Claim) Claim { return Claim{min(c.Pos, d.Pos), min(c.Neg, d.Neg)} }
func (c Claim) or(d Claim) Claim  { return Claim{max(c.Pos, d.Pos), max(c.Neg, d.Neg)} }
func (c Claim) flip(op string) Claim { // what "above the limit" means for the operator
	if op == "<" || op == "<=" {
		return Claim{-c.Pos, -c.Neg}
	}
	return c
}

// Care is how sure one has to be.
type Care int

// Lenient care is for claims that pass an assertion, Strict care for those that fail it.
const (
	Lenient Care = iota
	Strict
)

// Evidence is what stands behind an estimate.
type Evidence interface {
	// Decide says whether the quantity is above (True) or below (False) the limit, when each must be known with the given
	// care; Unknown while the evidence does not tell.
	Decide(limit float64, above, below Care) Truth
	// Bounds is the interval at the level of reports, 95 %; ends may be infinite.
	Bounds() (lo, hi float64)
}

// Quantity is what a function of the language measures.
type Quantity struct {
	Text  string  // as written, for messages
	Point float64 // best single value
	// Missing says why there is no value ("missing", "too-few", ...); everything compared with it is unknown.
	Missing string
	// Evidence stands behind the value; nil for a plain number, which is compared as it stands.
	Evidence Evidence
	// Detail is the resolver's own.
	Detail any

	trace *trace
}

// The kinds of quantity are types of their own, so that what must not be compared does not compile.
type (
	// Estimate has an interval and no unit: a ratio, a rate, bytes.
	Estimate struct{ *Quantity }
	// TimeEstimate is an Estimate in seconds.
	TimeEstimate struct{ *Quantity }
	// Number is a bare figure: comparing it is unguarded.
	Number struct{ *Quantity }
	// TimeNumber is a Number in seconds.
	TimeNumber struct{ *Quantity }
	// Seconds is a length of time in an expression: seconds(2), ms(5).
	Seconds float64
)

// Atom is one comparison as it came out.
type Atom struct {
	Op       string
	Limit    float64
	Time     bool // Limit is in seconds
	Quantity *Quantity
	Claim    Claim
	// Reason says why the claim is unknown.
	Reason string
}

// Text is the comparison as a person writes it.
func (a Atom) Text() string {
	if a.Op == "" {
		return a.Quantity.Text
	}
	limit := FormatNumber(a.Limit)
	if a.Time {
		limit = FormatSeconds(a.Limit)
	}
	return fmt.Sprintf("%s %s %s", a.Quantity.Text, a.Op, limit)
}

// FormatNumber prints the shortest decimal that reads back as v.
func FormatNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// FormatSeconds prints a time in the unit that a person would choose.
func FormatSeconds(s float64) string {
	switch a := math.Abs(s); {
	case a == 0:
		return "0 s"
	case a < 1e-6:
		return fmt.Sprintf("%.3g ns", s*1e9)
	case a < 1e-3:
		return fmt.Sprintf("%.3g µs", s*1e6)
	case a < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	case a < 1000:
		return fmt.Sprintf("%.3g s", s)
	}
	return fmt.Sprintf("%.0f s", s)
}

// trace collects the comparisons of one evaluation.
type trace struct{ atoms []Atom }

func (q *Quantity) compare(op string, limit float64, time bool) Claim {
	a := Atom{Op: op, Limit: limit, Time: time, Quantity: q, Reason: q.Missing}
	switch {
	case q.Missing != "":
	case q.Evidence == nil:
		a.Claim = Known(holds(q.Point, op, limit))
	default:
		above := op == ">" || op == ">="
		a.Claim = q.judge(limit, above).flip(op)
		if a.Claim.Pos == Unknown {
			a.Reason = "budget"
		}
	}
	q.trace.atoms = append(q.trace.atoms, a)
	return a.Claim
}

// judge asks the evidence with the care that suits each side: what passes is claimed leniently, what fails strictly.
func (q *Quantity) judge(limit float64, aboveIsTrue bool) Claim {
	pos, neg := Lenient, Strict
	if !aboveIsTrue {
		pos, neg = Strict, Lenient
	}
	return Claim{Pos: q.Evidence.Decide(limit, pos, neg), Neg: q.Evidence.Decide(limit, neg, pos)}
}

func holds(v float64, op string, limit float64) bool {
	switch op {
	case "<":
		return v < limit
	case "<=":
		return v <= limit
	case ">":
		return v > limit
	case ">=":
		return v >= limit
	case "==":
		return v == limit
	}
	return v != limit
}

// Compare judges a quantity with evidence against a limit, as the operator in an assertion would, without leaving a trace: for
// functions that compare by themselves.
func Compare(q *Quantity, op string, limit float64) Claim {
	if q.Evidence == nil {
		return Known(holds(q.Point, op, limit))
	}
	return q.judge(limit, op == ">" || op == ">=").flip(op)
}

// And joins two claims.
func And(a, b Claim) Claim { return a.and(b) }
