package lang

import (
	"errors"
	"fmt"
	"reflect"
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
	if out := program.Node().Type(); out != reflect.TypeFor[Claim]() {
		return nil, &Error{Msg: "the assertion does not compare anything that is measured",
			Hint: `such as relqps("hot-points") > 0.95`}
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

// translate turns an error of expr into ours, in the words of the language.
func translate(text string, err error) *Error {
	var at *file.Error
	if !errors.As(err, &at) {
		return &Error{Msg: err.Error()}
	}
	msg := typeWords.Replace(at.Message)
	hint := ""
	if strings.HasPrefix(msg, "invalid operation") && strings.Contains(msg, "time") {
		hint = "times are compared with seconds(2), ms(5), ..."
	}
	return &Error{Offset: textOffset(text, at.From), Msg: msg, Hint: hint}
}

var typeWords = strings.NewReplacer(
	"lang.TimeEstimate", "time estimate", "lang.TimeNumber", "time", "lang.Estimate", "estimate", "lang.Number", "number",
	"lang.Claim", "comparison", "lang.Seconds", "time", "float64", "number", "int", "number", "interface {}", "anything",
)

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
