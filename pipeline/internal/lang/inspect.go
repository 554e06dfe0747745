package lang

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
)

// inspection walks the tree of an assertion once before it is compiled: it lets only the nodes of the language through,
// checks every call, and knows the kinds of what is compared.
type inspection struct {
	text      string
	functions map[string]Function
	vars      map[string]ast.Node
	out       *Assertion
	nodes     int
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
	in := inspection{text: text, functions: map[string]Function{}, vars: map[string]ast.Node{}, out: &Assertion{Text: text}}
	for _, f := range functions {
		in.functions[f.Name] = f
	}
	if err := in.node(tree.Node, 0); err != nil {
		return nil, err
	}
	return in.out, nil
}

func (in *inspection) node(n ast.Node, depth int) *Error {
	if depth > maxDepth {
		return in.errorf(n, "", "nested more than %d deep", maxDepth)
	}
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode:
		return nil
	case *ast.UnaryNode:
		return in.node(n.Node, depth+1)
	case *ast.BinaryNode:
		if err := in.nodes2(n.Left, n.Right, depth); err != nil {
			return err
		}
		return in.comparison(n)
	case *ast.VariableDeclaratorNode:
		in.vars[n.Name] = n.Value
		return in.nodes2(n.Value, n.Expr, depth)
	case *ast.IdentifierNode:
		return in.identifier(n)
	case *ast.CallNode:
		return in.call(n, depth)
	}
	return in.errorf(n, "", "%s is not part of the assertion language", describe(n))
}

func (in *inspection) nodes2(a, b ast.Node, depth int) *Error {
	if err := in.node(a, depth+1); err != nil {
		return err
	}
	return in.node(b, depth+1)
}

func (in *inspection) identifier(n *ast.IdentifierNode) *Error {
	if in.vars[n.Value] != nil {
		return nil
	}
	hint := `names of steps, groups and variants are written in quotes`
	if _, ok := in.functions[n.Value]; ok {
		hint = fmt.Sprintf("%s is a function: %s", n.Value, in.functions[n.Value].Doc)
	}
	return in.errorf(n, hint, "unknown name %q", n.Value)
}

// comparison refuses what would compile to something meaningless, and counts what shares the error budget.
func (in *inspection) comparison(n *ast.BinaryNode) *Error {
	if !slices.Contains([]string{"<", "<=", ">", ">=", "==", "!="}, n.Operator) {
		return nil
	}
	left, isLeft := in.kind(n.Left)
	right, isRight := in.kind(n.Right)
	estimate := isLeft && left.guarded() || isRight && right.guarded()
	switch {
	case isLeft && isRight && left.guarded() && right.guarded():
		return in.errorf(n, "compare each with a constant, or use a ratio such as relqps(step, candidate, base)",
			"two estimates cannot be compared with each other")
	case estimate && (n.Operator == "==" || n.Operator == "!="):
		return in.errorf(n, "use same(step, within), < or >", "an estimate is an interval and never equals a number")
	case estimate:
		in.out.Guarded++
	}
	return nil
}

// kind says what a node measures, if anything.
func (in *inspection) kind(n ast.Node) (Kind, bool) {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		if v := in.vars[n.Value]; v != nil {
			return in.kind(v)
		}
	case *ast.CallNode:
		if id, ok := n.Callee.(*ast.IdentifierNode); ok {
			f, known := in.functions[id.Value]
			return f.Kind, known
		}
	}
	return 0, false
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
