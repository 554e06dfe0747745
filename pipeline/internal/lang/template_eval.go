package lang

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
)

// Limits of one expression in `${ }`.
const (
	maxTemplateExpr  = 4 << 10 // bytes
	maxTemplateNodes = 500
	maxPrograms      = 4096 // kept compiled
)

// templateFunctions are the functions that `${ }` has. All of them take time and memory that is linear in their arguments:
// loops, ranges, repetition and variables of one's own (`let`) are left out, so no expression can cost more than its length.
var templateFunctions = []string{"abs", "ceil", "floor", "round", "int", "float", "string", "min", "max", "len", "trim",
	"trimPrefix", "trimSuffix", "upper", "lower", "indexOf", "hasPrefix", "hasSuffix"}

// templatePrograms holds compiled expressions. They do not depend on the values, so the cells of a matrix share them.
var templatePrograms struct {
	sync.Mutex
	byText map[string]*templateProgram
}

type templateProgram struct {
	code  *vm.Program
	names []nameUse // free names in order of appearance
}

// nameUse is one appearance of a name.
type nameUse struct {
	name   string
	offset int
}

// calculate compiles and runs an expression.
func calculate(text string, env map[string]any) (any, error) {
	p, err := templateProgramOf(text)
	if err != nil {
		return nil, err
	}
	for _, u := range p.names {
		if _, ok := env[u.name]; !ok {
			return nil, unknownName(u.name, u.offset, env)
		}
	}
	machine := vm.VM{MemoryBudget: 10_000}
	value, err := machine.Run(p.code, env)
	if err != nil {
		return nil, templateError(text, err)
	}
	return value, nil
}

func templateProgramOf(text string) (*templateProgram, error) {
	templatePrograms.Lock()
	defer templatePrograms.Unlock()
	if p, ok := templatePrograms.byText[text]; ok {
		return p, nil
	}
	p, err := compileTemplate(text)
	if err != nil {
		return nil, err
	}
	if templatePrograms.byText == nil || len(templatePrograms.byText) >= maxPrograms {
		templatePrograms.byText = map[string]*templateProgram{}
	}
	templatePrograms.byText[text] = p
	return p, nil
}

func compileTemplate(text string) (*templateProgram, error) {
	if strings.TrimSpace(text) == "" {
		return nil, &Error{Msg: "${ } is empty", Hint: "write the name of a variable or axis in it"}
	}
	if len(text) > maxTemplateExpr {
		return nil, &Error{Msg: fmt.Sprintf("an expression may have %d bytes, this one has %d", maxTemplateExpr, len(text))}
	}
	check := &templatePass{text: text}
	options := []expr.Option{expr.AllowUndefinedVariables(), expr.DisableAllBuiltins(), expr.MaxNodes(maxTemplateNodes), expr.Patch(check),
		expr.Function("number", toNumber), expr.Function("replace", replaceAll), expr.Optimize(false)}
	for _, name := range templateFunctions {
		options = append(options, expr.EnableBuiltin(name))
	}
	code, err := expr.Compile(text, options...)
	if check.err != nil {
		return nil, check.err
	}
	if err != nil {
		return nil, templateError(text, err)
	}
	return &templateProgram{code: code, names: check.names}, nil
}

// templatePass is the pass over the syntax tree that refuses what `${ }` must not have and reads texts as numbers where the
// expression calculates with them.
type templatePass struct {
	text  string
	names []nameUse
	err   *Error
}

func (a *templatePass) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		a.identifier(n)
	case *ast.BinaryNode:
		a.binary(n)
	case *ast.UnaryNode:
		if n.Operator == "-" || n.Operator == "+" {
			asNumber(&n.Node)
		}
	case *ast.CallNode:
		a.call(n)
	case *ast.BuiltinNode:
		if !isTemplateFunction(n.Name) {
			a.refuse(n, fmt.Sprintf("function %q is not available in ${ }", n.Name))
		}
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode, *ast.ConstantNode, *ast.MemberNode,
		*ast.ChainNode, *ast.ConditionalNode, *ast.ArrayNode:
	default:
		a.refuse(n, "this is not available in ${ }: it has only names, numbers, texts, operators and plain functions")
	}
}

func (a *templatePass) identifier(n *ast.IdentifierNode) {
	if n.Value == "$env" {
		a.refuse(n, "$env is not available in ${ }")
		return
	}
	a.names = append(a.names, nameUse{n.Value, byteOffset(a.text, n.Location().From)})
}

// call checks a function's name. The name itself was visited as an identifier just before.
func (a *templatePass) call(n *ast.CallNode) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		a.refuse(n, "only functions can be called in ${ }")
		return
	}
	if callee.Value != "number" && callee.Value != "replace" {
		known := append([]string{"number", "replace"}, templateFunctions...)
		a.refuse(n, fmt.Sprintf("unknown function %q", callee.Value))
		if a.err.Hint == "" {
			a.err.Hint = Suggest(callee.Value, known)
		}
	}
	at := byteOffset(a.text, callee.Location().From)
	for i, u := range a.names {
		if u.name == callee.Value && u.offset == at {
			a.names = append(a.names[:i], a.names[i+1:]...)
			return
		}
	}
}

func (a *templatePass) binary(n *ast.BinaryNode) {
	switch n.Operator {
	case "-", "*", "/", "%", "**", "^", "<", ">", "<=", ">=":
		asNumber(&n.Left)
		asNumber(&n.Right)
	case "+", "==", "!=":
		if isNumeric(n.Left) || isNumeric(n.Right) {
			asNumber(&n.Left)
			asNumber(&n.Right)
		}
	case "..":
		a.refuse(n, "ranges are not available in ${ }")
	case "matches":
		if _, ok := n.Right.(*ast.StringNode); !ok {
			a.refuse(n, "the pattern after `matches` must be a text in quotes")
		}
	}
}

func (a *templatePass) refuse(n ast.Node, msg string) {
	if a.err == nil {
		a.err = &Error{Offset: byteOffset(a.text, n.Location().From), Msg: msg}
	}
}

// isNumeric reports whether a sub-expression can only be a number.
func isNumeric(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return true
	case *ast.UnaryNode:
		return n.Operator == "-" || n.Operator == "+"
	case *ast.BinaryNode:
		switch n.Operator {
		case "-", "*", "/", "%", "**", "^":
			return true
		case "+":
			return isNumeric(n.Left) || isNumeric(n.Right)
		}
	case *ast.CallNode:
		callee, ok := n.Callee.(*ast.IdentifierNode)
		return ok && callee.Value == "number"
	case *ast.BuiltinNode:
		switch n.Name {
		case "abs", "ceil", "floor", "round", "int", "float", "len", "indexOf":
			return true
		}
	}
	return false
}

// asNumber wraps a name or a field in number().
func asNumber(n *ast.Node) {
	switch (*n).(type) {
	case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode, *ast.ConditionalNode, *ast.StringNode:
		ast.Patch(n, &ast.CallNode{Callee: &ast.IdentifierNode{Value: "number"}, Arguments: []ast.Node{*n}})
	}
}

// toNumber reads a text as a number: 8, 1.5, 20M.
func toNumber(args ...any) (any, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("number takes one argument, not %d", len(args))
	}
	text, ok := args[0].(string)
	if !ok {
		return args[0], nil
	}
	digits, scale := text, 1.0
	for suffix, s := range map[string]float64{"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12} {
		if cut, ok := strings.CutSuffix(text, suffix); ok {
			digits, scale = cut, s
		}
	}
	if whole, err := strconv.Atoi(digits); err == nil && math.Abs(float64(whole))*scale < 1<<62 {
		return whole * int(scale), nil
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, fmt.Errorf("%q is not a number", text)
	}
	return f * scale, nil
}

// replaceAll is the language's own, less its third argument and bounded: nested calls could double a text each time.
func replaceAll(args ...any) (any, error) {
	text := make([]string, len(args))
	for i, a := range args {
		s, ok := a.(string)
		if !ok || len(args) != 3 {
			return nil, errors.New("replace takes three texts: replace(text, old, new)")
		}
		text[i] = s
	}
	if len(args) != 3 {
		return nil, errors.New("replace takes three texts: replace(text, old, new)")
	}
	if grown := strings.Count(text[0], text[1]) * len(text[2]); grown > maxTemplate {
		return nil, fmt.Errorf("replace makes a text of more than %d bytes", maxTemplate)
	}
	return strings.ReplaceAll(text[0], text[1], text[2]), nil
}

func isTemplateFunction(name string) bool {
	for _, f := range templateFunctions {
		if f == name {
			return true
		}
	}
	return false
}

// templateError turns an error of the language's library into ours.
func templateError(text string, err error) error {
	var located *file.Error
	if !errors.As(err, &located) {
		return &Error{Msg: err.Error()}
	}
	msg := located.Message
	if located.Prev != nil {
		msg = located.Prev.Error()
	}
	return &Error{Offset: byteOffset(text, located.From), Msg: msg}
}

// byteOffset turns the library's offsets, which count characters, into bytes.
func byteOffset(text string, runes int) int {
	for i := range text {
		if runes == 0 {
			return i
		}
		runes--
	}
	return len(text)
}
