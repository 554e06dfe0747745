package spec

import (
	"strings"
	"unicode/utf8"
)

// At is the place in the file of the character at a byte offset of v's text. In folded and escaped texts it is as good as the
// rules of YAML let it be; it never leaves the value.
func (v *Value) At(offset int) Pos {
	if v.src == nil || v.Line < 1 || v.Line > len(v.src.lines) {
		return v.Pos
	}
	w := walker{src: v.src, line: v.Line, col: byteColumn(v.src.line(v.Line), v.Col)}
	w.begin(v)
	for i := 0; i < len(v.Text) && i < offset; {
		r, size := utf8.DecodeRuneInString(v.Text[i:])
		if !w.over(r, v.style) {
			break
		}
		i += size
	}
	col := min(w.col, len(w.text()))
	return Pos{v.File, w.line, utf8.RuneCountInString(w.text()[:col]) + 1}
}

// byteColumn turns a column in characters into an offset in bytes.
func byteColumn(line string, col int) int {
	at := 0
	for i := 1; i < col && at < len(line); i++ {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return at
}

// walker steps through the file as the text of a scalar goes on.
type walker struct {
	src    *source
	line   int
	col    int // byte offset in the line
	indent int // of a block scalar
}

func (w *walker) text() string { return w.src.line(w.line) }
func (w *walker) rest() string { return w.text()[min(w.col, len(w.text())):] }

// begin moves to the first character of the text: over an anchor, the opening quote, or the header of a block scalar.
func (w *walker) begin(v *Value) {
	if strings.HasPrefix(w.rest(), "&") {
		word := strings.IndexByte(w.rest(), ' ')
		if word < 0 {
			return
		}
		w.col += word
		w.col += len(w.rest()) - len(strings.TrimLeft(w.rest(), " "))
	}
	switch v.style {
	case singleQuoted, doubleQuoted:
		w.col++
	case literal, folded:
		w.nextLine()
		for w.line < len(w.src.lines) && strings.TrimSpace(w.text()) == "" && !strings.HasPrefix(v.Text, "\n") {
			w.nextLine()
		}
		w.indent = len(w.text()) - len(strings.TrimLeft(w.text(), " "))
		if lead := len(v.Text) - len(strings.TrimLeft(v.Text, " ")); lead <= w.indent {
			w.indent -= lead
		}
		w.col = w.indent
	}
}

func (w *walker) nextLine() {
	if w.line < len(w.src.lines) {
		w.line++
		w.col = 0
	}
}

// over moves past one character of the text, and reports whether the file agrees.
func (w *walker) over(r rune, s style) bool {
	if w.rest() == "" || (r == '\n' || r == ' ') && s != literal && s != folded && strings.TrimSpace(w.rest()) == "" {
		return w.fold(r, s)
	}
	rest := w.rest()
	switch {
	case s == singleQuoted && strings.HasPrefix(rest, "''"):
		w.col += 2
		return true
	case s == doubleQuoted && rest[0] == '\\':
		w.col += escapeLength(rest)
		return true
	}
	found, size := utf8.DecodeRuneInString(rest)
	if found != r {
		return false
	}
	w.col += size
	return true
}

// fold moves past a line break that the text has as a space or a newline.
func (w *walker) fold(r rune, s style) bool {
	if r != ' ' && r != '\n' || w.line >= len(w.src.lines) {
		return false
	}
	inText := strings.TrimSpace(w.text()) != ""
	w.nextLine()
	if r == '\n' && s != literal && inText && strings.TrimSpace(w.text()) == "" {
		w.nextLine() // a blank line is the newline; the break before it is not in the text
	}
	if s == literal || s == folded {
		w.col = min(w.indent, len(w.text()))
		return true
	}
	w.col = len(w.text()) - len(strings.TrimLeft(w.text(), " \t"))
	return true
}

// escapeLength is the length of an escape sequence of a double-quoted text.
func escapeLength(rest string) int {
	if len(rest) < 2 {
		return len(rest)
	}
	n := 2
	switch rest[1] {
	case 'x':
		n = 4
	case 'u':
		n = 6
	case 'U':
		n = 10
	}
	return min(n, len(rest))
}
