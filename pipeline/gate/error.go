package gate

import (
	"fmt"
	"strings"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/lang"
)

// Error is a mistake in an assertion, with its place in the experiment file.
type Error struct {
	File         string
	Line, Column int
	Expr         string // the assertion's text
	Offset       int    // in bytes within Expr
	Msg, Hint    string
}

// Error prints the place, the assertion's line and a caret:
//
//	experiments/io.yaml:31:12: unknown step "hot-point"
//	 | relqps("hot-point") > 0.95
//	 |        ^ did you mean "hot-points"?
func (e *Error) Error() string {
	before := e.Expr[:min(e.Offset, len(e.Expr))]
	start := strings.LastIndexByte(before, '\n') + 1
	line, _, _ := strings.Cut(e.Expr[start:], "\n")
	pad := strings.Repeat(" ", len([]rune(before[start:])))
	caret := strings.TrimRight(fmt.Sprintf(" | %s^ %s", pad, e.Hint), " ")
	return fmt.Sprintf("%s:%d:%d: %s\n | %s\n%s", e.File, e.Line, e.Column, e.Msg, line, caret)
}

// locate gives an error of the language its place. A line break within the assertion moves it down; the column is then
// counted from the start of the assertion's own line.
func locate(a engine.Assertion, err *lang.Error) *Error {
	before := a.Expr[:min(err.Offset, len(a.Expr))]
	e := &Error{File: a.File, Line: a.Line, Column: a.Column + len([]rune(before)), Expr: a.Expr, Offset: err.Offset, Msg: err.Msg, Hint: err.Hint}
	if down := strings.Count(before, "\n"); down > 0 {
		e.Line += down
		e.Column = len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
	}
	return e
}

// whole is an error about an assertion as such.
func whole(a engine.Assertion, hint, format string, args ...any) *Error {
	return locate(a, &lang.Error{Msg: fmt.Sprintf(format, args...), Hint: hint})
}
