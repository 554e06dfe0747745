package lang

import "fmt"

// Error is a mistake in an expression. Whoever knows which file the expression came from turns it into file, line, column,
// the line itself and a caret.
type Error struct {
	// Offset of the mistake in the expression's text, in bytes from its first character.
	Offset int
	// Msg says what is wrong, without a full stop.
	Msg string
	// Hint says what would do, such as `did you mean "hot-points"?`; empty when there is nothing to suggest.
	Hint string
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Msg
	}
	return fmt.Sprintf("%s (%s)", e.Msg, e.Hint)
}
