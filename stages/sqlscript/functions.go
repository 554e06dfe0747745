package sqlscript

import (
	"errors"
	"math"
	"strings"

	"pgpipeline/stages/driver"
)

// function is what \set may call.
type function struct {
	name        string
	least, most int
	eval        func(n *node, args []value, r *driver.Rand) (value, error)
}

// maxArgs of greatest and least.
const maxArgs = 32

var functions = []function{
	{"abs", 1, 1, absolute},
	{"double", 1, 1, real(func(x float64) float64 { return x })},
	{"exp", 1, 1, real(math.Exp)},
	{"greatest", 1, maxArgs, extreme(1)},
	{"int", 1, 1, toInteger},
	{"least", 1, maxArgs, extreme(-1)},
	{"ln", 1, 1, real(math.Log)},
	{"mod", 2, 2, func(_ *node, a []value, _ *driver.Rand) (value, error) { return arithmetic('%', a[0], a[1]) }},
	{"pi", 0, 0, func(*node, []value, *driver.Rand) (value, error) { return floatValue(math.Pi), nil }},
	{"pow", 2, 2, power},
	{"power", 2, 2, power},
	{"random", 2, 2, uniform},
	{"random_exponential", 3, 3, exponential},
	{"random_gaussian", 3, 3, gaussian},
	{"random_zipfian", 3, 3, zipfian},
	{"sqrt", 1, 1, real(math.Sqrt)},
}

func functionNames() string {
	names := make([]string, len(functions))
	for i, f := range functions {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}

// eval computes an expression with the variables of a client.
func (n *node) eval(variables []value, r *driver.Rand) (value, error) {
	switch {
	case n.variable != "":
		return variables[n.slot], nil
	case n.op == 0:
		return n.constant, nil
	}
	for i, a := range n.args {
		v, err := a.eval(variables, r)
		if err != nil {
			return v, err
		}
		if v.kind == 0 {
			return v, errUnset
		}
		n.values[i] = v
	}
	switch n.op {
	case 'n':
		return arithmetic('-', intValue(0), n.values[0])
	case 'f':
		return n.call.eval(n, n.values, r)
	}
	return arithmetic(n.op, n.values[0], n.values[1])
}

// real makes a function of one double.
func real(f func(float64) float64) func(*node, []value, *driver.Rand) (value, error) {
	return func(_ *node, a []value, _ *driver.Rand) (value, error) {
		x, err := a[0].double()
		return floatValue(f(x)), err
	}
}

func absolute(_ *node, a []value, _ *driver.Rand) (value, error) {
	if a[0].kind == integer {
		if a[0].i < 0 {
			return arithmetic('-', intValue(0), a[0])
		}
		return a[0], nil
	}
	x, err := a[0].double()
	return floatValue(math.Abs(x)), err
}

func toInteger(_ *node, a []value, _ *driver.Rand) (value, error) {
	i, err := a[0].integer()
	return intValue(i), err
}

func power(_ *node, a []value, _ *driver.Rand) (value, error) {
	x, err := a[0].double()
	if err != nil {
		return value{}, err
	}
	y, err := a[1].double()
	return floatValue(math.Pow(x, y)), err
}

// extreme finds the greatest (sign 1) or the least (-1).
func extreme(sign float64) func(*node, []value, *driver.Rand) (value, error) {
	return func(_ *node, a []value, _ *driver.Rand) (value, error) {
		best := a[0]
		for _, v := range a {
			x, err := v.double()
			if err != nil {
				return value{}, err
			}
			if y, _ := best.double(); sign*x > sign*y {
				best = v
			}
		}
		return best, nil
	}
}

var (
	errBounds = errors.New("the upper bound of a random number is below the lower one, or they are too far apart")
	errShape  = errors.New("the parameter of a random distribution is out of range")
)

func bounds(a []value) (low, high int64, err error) {
	if low, err = a[0].integer(); err != nil {
		return 0, 0, err
	}
	if high, err = a[1].integer(); err != nil {
		return 0, 0, err
	}
	if high < low || high-low < 0 || high-low == math.MaxInt64 {
		return 0, 0, errBounds
	}
	return low, high, nil
}

// shaped are the arguments of a distribution with a parameter.
func shaped(a []value, least float64) (low, high int64, shape float64, err error) {
	if low, high, err = bounds(a); err != nil {
		return 0, 0, 0, err
	}
	if shape, err = a[2].double(); err == nil && !(shape >= least) {
		err = errShape
	}
	return low, high, shape, err
}

func uniform(_ *node, a []value, r *driver.Rand) (value, error) {
	low, high, err := bounds(a)
	if err != nil {
		return value{}, err
	}
	return intValue(r.Between(low, high)), nil
}

// spread maps a share in [0, 1) onto the integers from low to high.
func spread(low, high int64, share float64) value {
	return intValue(min(high, low+int64(share*float64(high-low+1))))
}

// exponential: P(share >= x) falls as e^(-shape x), cut off at 1.
func exponential(_ *node, a []value, r *driver.Rand) (value, error) {
	low, high, shape, err := shaped(a, math.SmallestNonzeroFloat64)
	if err != nil {
		return value{}, err
	}
	cut := math.Exp(-shape)
	return spread(low, high, -math.Log(cut+(1-cut)*(1-r.Float()))/shape), nil
}

// gaussian: a normal distribution around the middle whose bounds are shape standard deviations away; what falls outside is drawn
// again. Less than 2 would draw too often, as pgbench has it.
func gaussian(_ *node, a []value, r *driver.Rand) (value, error) {
	low, high, shape, err := shaped(a, 2)
	if err != nil {
		return value{}, err
	}
	for {
		radius := math.Sqrt(-2 * math.Log(1-r.Float()))
		if z := radius * math.Cos(2*math.Pi*r.Float()); z >= -shape && z < shape {
			return spread(low, high, (z+shape)/(2*shape)), nil
		}
	}
}

// zipfCache keeps the distribution of a call whose arguments rarely change.
type zipfCache struct {
	n     int64
	shape float64
	zipf  driver.Zipf
}

// zipfian: the first number is drawn most often. pgbench wants an exponent above 1; below works here as well.
func zipfian(node *node, a []value, r *driver.Rand) (value, error) {
	low, high, shape, err := shaped(a, 0.001)
	if err != nil {
		return value{}, err
	}
	if shape == 1 || shape > 1000 {
		return value{}, errShape
	}
	c := node.zipf
	if n := high - low + 1; c.n != n || c.shape != shape {
		c.n, c.shape, c.zipf = n, shape, driver.NewZipf(n, shape)
	}
	return intValue(low + c.zipf.Draw(r) - 1), nil
}
