package sqlscript

import (
	"errors"
	"math"
	"strconv"
)

// value is an integer, a double, or the text of a variable that the experiment set.
type value struct {
	kind valueKind
	i    int64
	f    float64
	text string
}

type valueKind uint8

const (
	integer valueKind = iota + 1 // 0: not set
	double
	text
)

func intValue(i int64) value     { return value{kind: integer, i: i} }
func floatValue(f float64) value { return value{kind: double, f: f} }

// Value of a variable as the experiment writes it.
func parseValue(s string) value {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return intValue(i)
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return floatValue(f)
	}
	return value{kind: text, text: s}
}

// Mistakes that only values show. They are made once: events must not allocate.
var (
	errText     = errors.New("text is not a number")
	errZero     = errors.New("division by zero")
	errOverflow = errors.New("integer out of range")
	errUnset    = errors.New("a variable is not set")
)

func (v value) double() (float64, error) {
	switch v.kind {
	case integer:
		return float64(v.i), nil
	case double:
		return v.f, nil
	case text:
		return 0, errText
	}
	return 0, errUnset
}

func (v value) integer() (int64, error) {
	switch v.kind {
	case integer:
		return v.i, nil
	case double:
		if r := math.RoundToEven(v.f); r >= math.MinInt64 && r < math.MaxInt64 {
			return int64(r), nil
		}
		return 0, errOverflow
	case text:
		return 0, errText
	}
	return 0, errUnset
}

// append writes the value as a parameter in text format.
func (v value) append(to []byte) []byte {
	switch v.kind {
	case integer:
		return strconv.AppendInt(to, v.i, 10)
	case double:
		return strconv.AppendFloat(to, v.f, 'g', 17, 64)
	}
	return append(to, v.text...)
}

// arithmetic combines two values; integers stay integers, as in pgbench.
func arithmetic(op byte, a, b value) (value, error) {
	if a.kind == integer && b.kind == integer {
		i, err := integers(op, a.i, b.i)
		return intValue(i), err
	}
	x, err := a.double()
	if err != nil {
		return value{}, err
	}
	y, err := b.double()
	if err != nil {
		return value{}, err
	}
	switch op {
	case '+':
		return floatValue(x + y), nil
	case '-':
		return floatValue(x - y), nil
	case '*':
		return floatValue(x * y), nil
	case '/':
		return floatValue(x / y), divisor(y)
	}
	return floatValue(math.Mod(x, y)), divisor(y)
}

func divisor(y float64) error {
	if y == 0 {
		return errZero
	}
	return nil
}

func integers(op byte, a, b int64) (int64, error) {
	switch op {
	case '+':
		if c := a + b; (c > a) == (b > 0) {
			return c, nil
		}
		return 0, errOverflow
	case '-':
		if c := a - b; (c < a) == (b > 0) {
			return c, nil
		}
		return 0, errOverflow
	case '*':
		return multiply(a, b)
	}
	switch {
	case b == 0:
		return 0, errZero
	case a == math.MinInt64 && b == -1:
		return 0, errOverflow
	case op == '/':
		return a / b, nil
	}
	return a % b, nil
}

func multiply(a, b int64) (int64, error) {
	if a == 0 || b == 0 {
		return 0, nil
	}
	c := a * b
	if c/b != a || a == -1 && b == math.MinInt64 || b == -1 && a == math.MinInt64 {
		return 0, errOverflow
	}
	return c, nil
}
