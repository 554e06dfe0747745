package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// bounds are the functions over an estimate. What they give is compared as it stands.
var bounds = []string{"lo", "hi", "point"}

// call checks one call and remembers it when it measures something.
func (in *inspection) call(n *ast.CallNode, depth int) (typ, *Error) {
	id, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return 0, in.errorf(n, "", "only functions can be called")
	}
	if f, ok := in.functions[id.Value]; ok {
		return typeOf[f.Kind], in.measure(n, f)
	}
	_, isTime := secondsPer[id.Value]
	_, isBytes := bytesPer[id.Value]
	if !isTime && !isBytes && !slices.Contains(bounds, id.Value) {
		return 0, in.unknownFunction(n, id.Value)
	}
	if len(n.Arguments) != 1 {
		return 0, in.errorf(n, "", "%s() takes one argument", id.Value)
	}
	t, err := in.node(n.Arguments[0], depth+1)
	switch {
	case err != nil:
		return 0, err
	case isTime && t == plain:
		return seconds, nil
	case isBytes && t == plain:
		return plain, nil
	case !isTime && !isBytes && t == estimate:
		return number, nil
	case !isTime && !isBytes && t == timeEstimate:
		return timeNumber, nil
	}
	return 0, in.errorf(n.Arguments[0], "", "%s() does not take %s", id.Value, t)
}

func (in *inspection) unknownFunction(n *ast.CallNode, name string) *Error {
	known := append(slices.Clone(bounds), in.names()...)
	hint := DidYouMean(name, known)
	if hint == "" {
		hint = "functions: " + strings.Join(known, ", ")
	}
	return in.errorf(n.Callee, hint, "unknown function %q", name)
}

func (in *inspection) names() []string {
	var out []string
	for name := range in.functions {
		out = append(out, name)
	}
	for name := range secondsPer {
		out = append(out, name)
	}
	for name := range bytesPer {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (in *inspection) measure(n *ast.CallNode, f Function) *Error {
	c := Call{Name: f.Name, Text: n.String()}
	for _, a := range n.Arguments {
		v, err := in.literal(a)
		if err != nil {
			return err
		}
		c.Args = append(c.Args, Arg{Value: v, Offset: textOffset(in.text, a.Location().From)})
	}
	if f.Check != nil {
		if err := f.Check(c); err != nil {
			at := textOffset(in.text, n.Location().From)
			if err.Arg >= 0 && err.Arg < len(c.Args) {
				at = c.Args[err.Arg].Offset
			}
			return &Error{Offset: at, Msg: err.Msg, Hint: err.Hint}
		}
	}
	if f.Kind == ClaimKind {
		in.out.Guarded++
	}
	in.out.Calls = append(in.out.Calls, c)
	in.out.kinds = append(in.out.kinds, f.Kind)
	return nil
}

// literal is the value of an argument that is known from the text alone: a string, number or bool, a time, or a map of these.
func (in *inspection) literal(n ast.Node) (any, *Error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.IntegerNode:
		return float64(n.Value), nil
	case *ast.FloatNode:
		return n.Value, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.MapNode:
		return in.options(n)
	case *ast.UnaryNode:
		if v, err := in.literal(n.Node); err == nil && n.Operator == "-" {
			if f, ok := v.(float64); ok {
				return -f, nil
			}
		}
	case *ast.CallNode:
		if v, ok := unitCall(n); ok {
			return v, nil
		}
	case *ast.IdentifierNode:
		return nil, in.errorf(n, fmt.Sprintf("write %q", n.Value), "unknown name %q", n.Value)
	}
	return nil, in.errorf(n, `such as "hot-points", 0.1, seconds(1) or {below: 0.1}`, "arguments are written out, not computed")
}

func (in *inspection) options(n *ast.MapNode) (any, *Error) {
	out := map[string]any{}
	for _, p := range n.Pairs {
		pair := p.(*ast.PairNode)
		key, ok := pair.Key.(*ast.StringNode)
		if !ok {
			return nil, in.errorf(pair.Key, "", "options are written as {name: value}")
		}
		v, err := in.literal(pair.Value)
		if err != nil {
			return nil, err
		}
		if _, twice := out[key.Value]; twice {
			return nil, in.errorf(pair.Key, "", "option %q is given twice", key.Value)
		}
		out[key.Value] = v
	}
	return out, nil
}

// unit says how many seconds or bytes one of a unit is.
func unit(name string) (float64, bool) {
	if v, ok := secondsPer[name]; ok {
		return v, true
	}
	v, ok := bytesPer[name]
	return v, ok
}

func unitCall(n *ast.CallNode) (float64, bool) {
	id, ok := n.Callee.(*ast.IdentifierNode)
	if !ok || len(n.Arguments) != 1 {
		return 0, false
	}
	per, ok := unit(id.Value)
	switch a := n.Arguments[0].(type) {
	case *ast.IntegerNode:
		return per * float64(a.Value), ok
	case *ast.FloatNode:
		return per * a.Value, ok
	}
	return 0, false
}
