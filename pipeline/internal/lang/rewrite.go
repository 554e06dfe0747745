package lang

import (
	"fmt"
	"reflect"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// answerName is the function of the environment that a measuring call becomes: answer(3) asks for the third.
const answerName = "__answer"

// options are what makes expr speak the language: typed calls, overloaded operators, and nothing else.
func (a *Assertion) options() []expr.Option {
	opts := []expr.Option{
		expr.Env(map[string]any{answerName: func(int) any { return nil }}),
		expr.MaxNodes(4 * maxNodes), // the rewriting adds nodes
		expr.DisableAllBuiltins(), expr.DisableIfOperator(),
		expr.Optimize(false), // folding constants would only move the places that errors point at
		expr.Patch(&calls{assertion: a}), expr.Patch(negations{}),
		expr.Function("__not", not, new(func(Claim) Claim), new(func(bool) bool)),
	}
	for kind, t := range kindTypes {
		opts = append(opts, expr.Function(kindName(kind), typed(t),
			reflect.New(reflect.FuncOf([]reflect.Type{reflect.TypeFor[any]()}, []reflect.Type{t}, false)).Interface()))
	}
	for i, c := range a.Calls { // only so that the types are right before the calls are rewritten
		t := kindTypes[a.kinds[i]]
		opts = append(opts, expr.Function(c.Name, typed(t), reflect.New(reflect.FuncOf([]reflect.Type{reflect.TypeFor[[]any]()}, []reflect.Type{t}, true)).Interface()))
	}
	opts = append(opts, unitFunctions()...)
	opts = append(opts, boundFunctions()...)
	opts = append(opts, logic()...)
	opts = append(opts, comparisons()...)
	return append(opts, arithmetic()...)
}

func kindName(k Kind) string { return fmt.Sprintf("__kind%d", k) }

// typed gives the answer of a call its type.
func typed(t reflect.Type) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		switch v := args[0].(type) {
		case error:
			return nil, v
		case *Quantity:
			if t == kindTypes[ClaimKind] {
				return nil, fmt.Errorf("%s: expected a claim", v.Text)
			}
			out := reflect.New(t).Elem()
			out.Field(0).Set(reflect.ValueOf(v))
			return out.Interface(), nil
		default:
			return v, nil
		}
	}
}

// calls replaces measuring calls, in the order in which inspection met them, by typed answers: relqps("x") becomes
// __kind0(__answer(0)). The order is kept by looking calls up by their place in the text.
type calls struct {
	assertion *Assertion
	next      int
}

// Visit implements ast.Visitor.
func (c *calls) Visit(node *ast.Node) {
	n, ok := (*node).(*ast.CallNode)
	if !ok || c.next >= len(c.assertion.Calls) {
		return
	}
	id, ok := n.Callee.(*ast.IdentifierNode)
	if !ok || id.Value != c.assertion.Calls[c.next].Name {
		return
	}
	kind := c.assertion.kinds[c.next]
	index := &ast.IntegerNode{Value: c.next}
	index.SetLocation(n.Location())
	ask := &ast.CallNode{Callee: &ast.IdentifierNode{Value: answerName}, Arguments: []ast.Node{index}}
	ask.SetLocation(n.Location())
	give := &ast.CallNode{Callee: &ast.IdentifierNode{Value: kindName(kind)}, Arguments: []ast.Node{ask}}
	ast.Patch(node, give)
	c.next++
}

// negations replaces "!", which expr does not let one overload.
type negations struct{}

// Visit implements ast.Visitor.
func (negations) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.UnaryNode); ok && (n.Operator == "!" || n.Operator == "not") {
		ast.Patch(node, &ast.CallNode{Callee: &ast.IdentifierNode{Value: "__not"}, Arguments: []ast.Node{n.Node}})
	}
}
