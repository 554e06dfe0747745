package lang

import (
	"fmt"
	"math"

	"github.com/expr-lang/expr"
)

func not(args ...any) (any, error) {
	if b, ok := args[0].(bool); ok {
		return !b, nil
	}
	return args[0].(Claim).not(), nil
}

// logic overloads "and" and "or". Unlike Go's, both sides are evaluated: false && unknown is false, in either order, and
// the report shows every comparison.
func logic() []expr.Option {
	join := func(f func(a, b Claim) Claim) func(...any) (any, error) {
		return func(args ...any) (any, error) { return f(claim(args[0]), claim(args[1])), nil }
	}
	types := []any{new(func(Claim, Claim) Claim), new(func(Claim, bool) Claim), new(func(bool, Claim) Claim)}
	return []expr.Option{
		expr.Function("__and", join(Claim.and), types...), expr.Operator("&&", "__and"), expr.Operator("and", "__and"),
		expr.Function("__or", join(Claim.or), types...), expr.Operator("||", "__or"), expr.Operator("or", "__or"),
	}
}

func claim(v any) Claim {
	if b, ok := v.(bool); ok {
		return Known(b)
	}
	return v.(Claim)
}

// comparisons overloads the comparing operators for a quantity and a constant, either way round. There is no overload for
// two estimates, nor for a time and a bare number: those do not compile.
func comparisons() []expr.Option {
	plain := []any{
		new(func(Estimate, float64) Claim), new(func(Estimate, int) Claim), new(func(float64, Estimate) Claim), new(func(int, Estimate) Claim),
		new(func(Number, float64) Claim), new(func(Number, int) Claim), new(func(float64, Number) Claim), new(func(int, Number) Claim),
		new(func(Number, Number) Claim), new(func(TimeNumber, TimeNumber) Claim),
		new(func(TimeEstimate, Seconds) Claim), new(func(Seconds, TimeEstimate) Claim),
		new(func(TimeNumber, Seconds) Claim), new(func(Seconds, TimeNumber) Claim),
	}
	var out []expr.Option
	for op, turned := range map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="} {
		name := "__cmp" + op
		f := func(args ...any) (any, error) { return compare(args[0], op, args[1], turned), nil }
		out = append(out, expr.Function(name, f, plain...), expr.Operator(op, name))
	}
	return out
}

func compare(left any, op string, right any, turned string) Claim {
	l, isLeft := quantity(left)
	r, isRight := quantity(right)
	switch {
	case isLeft && isRight:
		return combine("-", l, r).compare(op, 0, isTime(left))
	case isLeft:
		return l.compare(op, constant(right), isTime(right))
	}
	return r.compare(turned, constant(left), isTime(left))
}

// arithmetic is for bare numbers: qps("scan", "17.0") / qps("scan", "15.8") > 1.7. Estimates have none, because an interval
// of a product of dependent estimates would be wrong.
func arithmetic() []expr.Option {
	same := []any{new(func(Number, Number) Number), new(func(Number, float64) Number), new(func(Number, int) Number),
		new(func(float64, Number) Number), new(func(int, Number) Number)}
	times := []any{new(func(TimeNumber, float64) TimeNumber), new(func(TimeNumber, int) TimeNumber)}
	sums := append(same[:len(same):len(same)], new(func(TimeNumber, TimeNumber) TimeNumber), new(func(TimeNumber, Seconds) TimeNumber))
	ratios := append(same[:len(same):len(same)], times...)
	ratios = append(ratios, new(func(TimeNumber, TimeNumber) Number))
	products := append(same[:len(same):len(same)], times...)
	var out []expr.Option
	for op, types := range map[string][]any{"+": sums, "-": sums, "*": products, "/": ratios} {
		name := "__math" + op
		out = append(out, expr.Function(name, func(args ...any) (any, error) { return arith(args[0], op, args[1]) }, types...),
			expr.Operator(op, name))
	}
	return out
}

func arith(left any, op string, right any) (any, error) {
	q := combine(op, asQuantity(left), asQuantity(right))
	if isTime(left) && !(op == "/" && isTime(right)) {
		return TimeNumber{q}, nil
	}
	return Number{q}, nil
}

// combine calculates with two bare numbers; what is missing on either side is missing in the result.
func combine(op string, l, r *Quantity) *Quantity {
	q := &Quantity{Text: fmt.Sprintf("%s %s %s", l.Text, op, r.Text), Missing: l.Missing, trace: l.trace, Detail: l.Detail}
	if q.Missing == "" {
		q.Missing = r.Missing
	}
	if q.trace == nil {
		q.trace, q.Detail = r.trace, r.Detail
	}
	switch op {
	case "+":
		q.Point = l.Point + r.Point
	case "-":
		q.Point = l.Point - r.Point
	case "*":
		q.Point = l.Point * r.Point
	case "/":
		q.Point = l.Point / r.Point
	}
	if q.Missing == "" && (math.IsNaN(q.Point) || math.IsInf(q.Point, 0)) {
		q.Missing = "undefined: division by zero"
	}
	return q
}

func quantity(v any) (*Quantity, bool) {
	switch v := v.(type) {
	case Estimate:
		return v.Quantity, true
	case TimeEstimate:
		return v.Quantity, true
	case Number:
		return v.Quantity, true
	case TimeNumber:
		return v.Quantity, true
	}
	return nil, false
}

// asQuantity is a quantity, or a constant dressed as one.
func asQuantity(v any) *Quantity {
	if q, ok := quantity(v); ok {
		return q
	}
	return &Quantity{Text: FormatNumber(constant(v)), Point: constant(v)}
}

func constant(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	case Seconds:
		return float64(v)
	}
	return math.NaN()
}

func isTime(v any) bool {
	switch v.(type) {
	case Seconds, TimeEstimate, TimeNumber:
		return true
	}
	return false
}

// unitFunctions are seconds(2), ms(5), MB(1) and their like.
func unitFunctions() []expr.Option {
	var out []expr.Option
	for name, per := range secondsPer {
		out = append(out, expr.Function(name, func(args ...any) (any, error) { return Seconds(constant(args[0]) * per), nil },
			new(func(float64) Seconds), new(func(int) Seconds)))
	}
	for name, per := range bytesPer {
		out = append(out, expr.Function(name, func(args ...any) (any, error) { return constant(args[0]) * per, nil },
			new(func(float64) float64), new(func(int) float64)))
	}
	return out
}

// boundFunctions are lo(e), hi(e) and point(e).
func boundFunctions() []expr.Option {
	pick := map[string]func(q *Quantity) float64{
		"lo":    func(q *Quantity) float64 { lo, _ := q.Evidence.Bounds(); return lo },
		"hi":    func(q *Quantity) float64 { _, hi := q.Evidence.Bounds(); return hi },
		"point": func(q *Quantity) float64 { return q.Point },
	}
	var out []expr.Option
	for name, f := range pick {
		out = append(out, expr.Function(name, func(args ...any) (any, error) {
			q, _ := quantity(args[0])
			bound := *q
			bound.Text = fmt.Sprintf("%s(%s)", name, q.Text)
			if q.Missing == "" && q.Evidence != nil {
				bound.Point = f(q)
			}
			if math.IsInf(bound.Point, 0) {
				bound.Missing = "too-few"
			}
			bound.Evidence = nil
			if isTime(args[0]) {
				return TimeNumber{&bound}, nil
			}
			return Number{&bound}, nil
		}, new(func(Estimate) Number), new(func(TimeEstimate) TimeNumber)))
	}
	return out
}
