package lang

import "slices"

// typ is the type of a value in an assertion.
type typ int

// The types. The zero value is no type.
const (
	plain   typ = iota + 1 // a number that is written
	text                   // in quotes
	truth                  // true, false, 1 < 2
	seconds                // seconds(2)
	estimate
	timeEstimate
	number
	timeNumber
	claimed // a comparison with something measured
)

func (t typ) String() string {
	return [...]string{"nothing", "a constant", "a text", "a constant comparison", "a time", "an estimate", "an estimated time", "a measured number",
		"a measured time", "a comparison"}[t]
}

// guarded values have an interval.
func (t typ) guarded() bool { return t == estimate || t == timeEstimate }

// isTime says that a value is in seconds.
func (t typ) isTime() bool { return t == seconds || t == timeEstimate || t == timeNumber }

func (t typ) measured() bool { return t >= estimate && t <= timeNumber }

var typeOf = map[Kind]typ{EstimateKind: estimate, TimeEstimateKind: timeEstimate, NumberKind: number, TimeNumberKind: timeNumber, ClaimKind: claimed}

// combined is the type of a binary operation; 0, with a hint where there is one, when there is no such operation. The overloads
// in operators.go follow this table.
func combined(left typ, op string, right typ) (out typ, hint string) {
	switch op {
	case "&&", "and", "||", "or":
		return joined(left, right), ""
	case "<", "<=", ">", ">=", "==", "!=":
		return compared(left, op, right)
	case "+", "-", "*", "/":
		return calculated(left, op, right)
	}
	return 0, "this operator is not part of the assertion language"
}

func joined(left, right typ) typ {
	logical := []typ{truth, claimed}
	if !slices.Contains(logical, left) || !slices.Contains(logical, right) {
		return 0
	}
	return max(left, right)
}

func compared(left typ, op string, right typ) (typ, string) {
	numeric := func(t typ) bool { return t == plain || t == seconds || t.measured() }
	switch {
	case left.guarded() && right.guarded():
		return 0, "compare each with a constant, or use a ratio such as relqps(step, candidate, base)"
	case (left.guarded() || right.guarded()) && (op == "==" || op == "!="):
		return 0, "an estimate is an interval and never equals a number: use same(step, within), < or >"
	case left.guarded() && right.measured() || left.measured() && right.guarded():
		return 0, "compare it with a constant"
	case left == text && right == text && (op == "==" || op == "!="):
		return truth, ""
	case !numeric(left) || !numeric(right):
		return 0, ""
	case left.isTime() != right.isTime():
		return 0, "a time is compared with a time: seconds(2), ms(5)"
	case left.measured() || right.measured():
		return claimed, ""
	}
	return truth, ""
}

// calculated is for constants and for measured numbers. Estimates have no arithmetic: the interval of a result of dependent
// estimates would be wrong.
func calculated(left typ, op string, right typ) (typ, string) {
	sum := op == "+" || op == "-"
	switch {
	case left.guarded() || right.guarded():
		return 0, "estimates are not calculated with; point(...) gives the bare number"
	case left == plain && right == plain:
		return plain, ""
	case left == number && right == number, left == number && right == plain, left == plain && right == number:
		return number, ""
	case left == timeNumber && right == plain && !sum:
		return timeNumber, ""
	case left == timeNumber && right == timeNumber && op == "/":
		return number, ""
	case left == timeNumber && (right == timeNumber || right == seconds) && sum:
		return timeNumber, ""
	}
	return 0, ""
}
