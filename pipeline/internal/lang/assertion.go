package lang

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
)

// Limits of an assertion's size. The longest that make sense are a tenth of this.
const (
	maxBytes = 4096
	maxNodes = 400
	maxDepth = 40
)

// Assertion is a compiled assertion.
type Assertion struct {
	Text string
	// Calls are the measuring calls in the order of the text.
	Calls []Call
	// Guarded is how many comparisons with an interval it makes: its share in m.
	Guarded int

	program *vm.Program
	kinds   []Kind // of Calls
}

// CompileAssertion checks and compiles an assertion. Errors are *Error.
func CompileAssertion(text string, functions []Function) (*Assertion, error) {
	if len(text) > maxBytes {
		return nil, &Error{Msg: fmt.Sprintf("assertion of %d bytes is too long, the limit is %d", len(text), maxBytes)}
	}
	a, err := inspect(text, functions)
	if err != nil {
		return nil, err
	}
	program, compileErr := expr.Compile(text, a.options()...)
	if compileErr != nil {
		return nil, translate(text, compileErr)
	}
	a.program = program
	return a, nil
}

// Eval judges the assertion with the answers of one resolver.
func (a *Assertion) Eval(resolve Resolver) (Claim, []Atom, error) {
	t := &trace{}
	answer := func(i int) any {
		switch v := resolve(a.Calls[i]).(type) {
		case *Quantity:
			q := *v
			q.Text, q.trace = a.Calls[i].Text, t
			return &q
		case Judged:
			q := *v.Quantity
			q.Text = a.Calls[i].Text
			t.atoms = append(t.atoms, Atom{Quantity: &q, Claim: v.Claim, Reason: v.Reason})
			return v.Claim
		default:
			return fmt.Errorf("%s: the resolver gave a %T", a.Calls[i].Text, v)
		}
	}
	out, err := expr.Run(a.program, map[string]any{answerName: answer})
	if err != nil {
		return Claim{}, t.atoms, fmt.Errorf("evaluate %q: %w", a.Text, err)
	}
	return out.(Claim), t.atoms, nil
}

// translate turns an error of expr into ours. After inspection only the parser has something to say.
func translate(text string, err error) *Error {
	var at *file.Error
	switch {
	case strings.Contains(err.Error(), "maximum allowed nodes"):
		return &Error{Msg: fmt.Sprintf("the assertion is too large: it has more than %d parts", maxNodes), Hint: "split it into several"}
	case !errors.As(err, &at):
		return &Error{Msg: err.Error()}
	}
	return &Error{Offset: textOffset(text, at.From), Msg: at.Message}
}

// textOffset converts expr's offsets, which count characters.
func textOffset(text string, runes int) int {
	for i := range text {
		if runes == 0 {
			return i
		}
		runes--
	}
	return len(text)
}
