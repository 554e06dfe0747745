package sqlscript

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// node is an expression: a constant, a variable, or an operator or function of others.
type node struct {
	constant value
	variable string
	slot     int  // of the variable, once a program is made
	op       byte // + - * / %, 'n' for a minus sign, 'f' for a function
	call     *function
	args     []*node
	zipf     *zipfCache
	values   []value // of the arguments, so that evaluating allocates nothing
}

// parseExpression reads the text behind \set NAME.
func parseExpression(text string) (*node, error) {
	p := &expressionParser{text: text}
	n, err := p.sum(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(p.text) {
		return nil, fmt.Errorf("%q is not understood", p.text[p.at:])
	}
	return n, nil
}

type expressionParser struct {
	text string
	at   int
}

// maxDepth bounds parentheses within parentheses.
const maxDepth = 200

func (p *expressionParser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// accept consumes one of these bytes, or returns 0.
func (p *expressionParser) accept(bytes string) byte {
	p.space()
	if p.at < len(p.text) && strings.IndexByte(bytes, p.text[p.at]) >= 0 {
		p.at++
		return p.text[p.at-1]
	}
	return 0
}

func (p *expressionParser) sum(depth int) (*node, error) {
	return p.chain("+-", depth, p.product)
}

func (p *expressionParser) product(depth int) (*node, error) {
	return p.chain("*/%", depth, p.signed)
}

// chain reads operands with left-associative operators between them.
func (p *expressionParser) chain(ops string, depth int, operand func(int) (*node, error)) (*node, error) {
	left, err := operand(depth)
	for err == nil {
		op := p.accept(ops)
		if op == 0 {
			return left, nil
		}
		var right *node
		right, err = operand(depth)
		left = &node{op: op, args: []*node{left, right}}
	}
	return nil, err
}

func (p *expressionParser) signed(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("more than %d levels of parentheses", maxDepth)
	}
	switch p.accept("+-") {
	case '-':
		n, err := p.signed(depth + 1)
		return &node{op: 'n', args: []*node{n}}, err
	case '+':
		return p.signed(depth + 1)
	}
	return p.primary(depth)
}

func (p *expressionParser) primary(depth int) (*node, error) {
	if p.accept("(") != 0 {
		n, err := p.sum(depth + 1)
		if err == nil && p.accept(")") == 0 {
			err = fmt.Errorf("a parenthesis is not closed")
		}
		return n, err
	}
	if p.accept(":") != 0 {
		name := p.word()
		if !isName(name) {
			return nil, fmt.Errorf("a variable's name is missing behind the colon")
		}
		return &node{variable: name}, nil
	}
	p.space()
	word := p.word()
	switch {
	case word == "" && p.at >= len(p.text):
		return nil, fmt.Errorf("an expression is missing at the end")
	case word == "" && p.text[p.at] != '.':
		return nil, fmt.Errorf("%q is not understood", p.text[p.at:])
	case word == "" || word[0] >= '0' && word[0] <= '9':
		return p.number(word)
	}
	return p.function(strings.ToLower(word), depth)
}

func (p *expressionParser) word() string {
	rest := p.text[p.at:]
	end := strings.IndexFunc(rest, func(r rune) bool { return !isNameRune(r) })
	if end < 0 {
		end = len(rest)
	}
	p.at += end
	return rest[:end]
}

// number reads an integer or a double; word is its beginning.
func (p *expressionParser) number(word string) (*node, error) {
	if p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		word += "." + p.word()
	}
	if last := word[len(word)-1]; (last == 'e' || last == 'E') && p.at < len(p.text) && strings.IndexByte("+-", p.text[p.at]) >= 0 {
		p.at++
		word += p.text[p.at-1:p.at] + p.word()
	}
	if i, err := strconv.ParseInt(word, 10, 64); err == nil {
		return &node{constant: intValue(i)}, nil
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil || strings.ContainsAny(word, "xX_") {
		return nil, fmt.Errorf("%q is not a number", word)
	}
	return &node{constant: floatValue(f)}, nil
}

func (p *expressionParser) function(name string, depth int) (*node, error) {
	i := slices.IndexFunc(functions, func(f function) bool { return f.name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown function %q; there are %s", name, functionNames())
	}
	n := &node{op: 'f', call: &functions[i]}
	if p.accept("(") == 0 {
		return nil, fmt.Errorf("function %s: its arguments stand in parentheses", name)
	}
	for p.accept(")") == 0 {
		if len(n.args) > 0 && p.accept(",") == 0 {
			return nil, fmt.Errorf("function %s: a comma or a closing parenthesis is missing", name)
		}
		arg, err := p.sum(depth + 1)
		if err != nil {
			return nil, err
		}
		n.args = append(n.args, arg)
	}
	if len(n.args) < n.call.least || len(n.args) > n.call.most {
		return nil, fmt.Errorf("function %s: it does not take %d arguments", name, len(n.args))
	}
	return n, nil
}

// bind returns a copy of the tree that can be evaluated, with a slot for each variable. Each client has its own: they must not
// share caches.
func (n *node) bind(slot func(name string) int) *node {
	c := *n
	if n.variable != "" {
		c.slot = slot(n.variable)
	}
	c.zipf, c.values = &zipfCache{}, make([]value, len(n.args))
	c.args = make([]*node, len(n.args))
	for i, a := range n.args {
		c.args[i] = a.bind(slot)
	}
	return &c
}

// variables calls f for each variable of the tree.
func (n *node) variables(f func(name string)) {
	if n.variable != "" {
		f(n.variable)
	}
	for _, a := range n.args {
		a.variables(f)
	}
}
