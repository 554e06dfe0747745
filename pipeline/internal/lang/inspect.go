package lang

import (
	"fmt"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
)

// inspection walks the tree of an assertion once before it is compiled: it lets only the nodes of the language through,
// checks every call, and knows the type of every value. expr has a checker of its own, but it speaks of Go types, and after a
// rewriting it takes the type of an outer call for granted and no longer looks inside.
type inspection struct {
	text      string
	functions map[string]Function
	vars      map[string]typ
	out       *Assertion
}

func inspect(text string, functions []Function) (*Assertion, *Error) {
	config := conf.CreateNew()
	config.MaxNodes = maxNodes
	config.DisableIfOperator = true
	for name := range config.Builtins {
		config.Disabled[name] = true
	}
	config.Builtins = conf.FunctionsTable{}
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		return nil, translate(text, err)
	}
	in := inspection{text: text, functions: map[string]Function{}, vars: map[string]typ{}, out: &Assertion{Text: text}}
	for _, f := range functions {
		in.functions[f.Name] = f
	}
	t, mistake := in.node(tree.Node, 0)
	if mistake != nil {
		return nil, mistake
	}
	if t != claimed {
		return nil, &Error{Msg: "the assertion does not compare anything that is measured", Hint: `such as relqps("hot-points") > 0.95`}
	}
	return in.out, nil
}

// node checks one node and says of what type its value is.
func (in *inspection) node(n ast.Node, depth int) (typ, *Error) {
	if depth > maxDepth {
		return 0, in.errorf(n, "", "nested more than %d deep", maxDepth)
	}
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return plain, nil
	case *ast.BoolNode:
		return truth, nil
	case *ast.StringNode:
		return text, nil
	case *ast.UnaryNode:
		return in.unary(n, depth)
	case *ast.BinaryNode:
		return in.binary(n, depth)
	case *ast.VariableDeclaratorNode:
		t, err := in.node(n.Value, depth+1)
		if err != nil {
			return 0, err
		}
		in.vars[n.Name] = t
		return in.node(n.Expr, depth+1)
	case *ast.IdentifierNode:
		return in.identifier(n)
	case *ast.CallNode:
		return in.call(n, depth)
	}
	return 0, in.errorf(n, "", "%s is not part of the assertion language", describe(n))
}

func (in *inspection) identifier(n *ast.IdentifierNode) (typ, *Error) {
	if t, ok := in.vars[n.Value]; ok {
		return t, nil
	}
	hint := `names of steps, groups and variants are written in quotes`
	if f, ok := in.functions[n.Value]; ok {
		hint = fmt.Sprintf("%s is a function: %s", n.Value, f.Doc)
	}
	return 0, in.errorf(n, hint, "unknown name %q", n.Value)
}

func (in *inspection) unary(n *ast.UnaryNode, depth int) (typ, *Error) {
	t, err := in.node(n.Node, depth+1)
	if err != nil {
		return 0, err
	}
	negation := n.Operator == "!" || n.Operator == "not"
	if negation && (t == truth || t == claimed) || !negation && t == plain {
		return t, nil
	}
	return 0, in.errorf(n, "", "%q cannot stand before %s", n.Operator, t)
}

func (in *inspection) binary(n *ast.BinaryNode, depth int) (typ, *Error) {
	left, err := in.node(n.Left, depth+1)
	if err != nil {
		return 0, err
	}
	right, err := in.node(n.Right, depth+1)
	if err != nil {
		return 0, err
	}
	out, hint := combined(left, n.Operator, right)
	switch {
	case out == 0 && left.guarded() && right.guarded():
		return 0, in.errorf(n, hint, "two estimates cannot be compared with each other")
	case out == 0 && hint != "":
		return 0, in.errorf(n, hint, "%q does not go between %s and %s", n.Operator, left, right)
	case out == 0:
		return 0, in.errorf(n, "", "%q does not go between %s and %s", n.Operator, left, right)
	case out == claimed && (left.guarded() || right.guarded()):
		in.out.Guarded++
	}
	return out, nil
}

func (in *inspection) errorf(n ast.Node, hint, format string, args ...any) *Error {
	return &Error{Offset: textOffset(in.text, n.Location().From), Msg: fmt.Sprintf(format, args...), Hint: hint}
}

func describe(n ast.Node) string {
	switch n.(type) {
	case *ast.ArrayNode:
		return "a list"
	case *ast.MapNode:
		return "a map outside a call"
	case *ast.ConditionalNode:
		return "a condition"
	case *ast.MemberNode, *ast.SliceNode, *ast.ChainNode:
		return "access to a member"
	case *ast.PredicateNode, *ast.PointerNode, *ast.BuiltinNode:
		return "a loop"
	case *ast.NilNode:
		return "nil"
	case *ast.SequenceNode:
		return "a sequence"
	}
	return fmt.Sprintf("%q", n.String())
}
