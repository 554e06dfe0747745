package spec

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is an error about a place in a file.
type Error struct {
	Pos
	Msg    string
	Hint   string // a next step, or ""
	Source string // the line, or "" when there is none to show
}

// Error gives the message after its place, then the line and a caret with the hint:
//
//	experiments/io.yaml:14:9: unknown key "jbos"
//	 |         jbos: 8
//	 |         ^ did you mean "jobs"?
func (e *Error) Error() string {
	head := e.Msg
	if e.File != "" {
		head = e.Pos.String() + ": " + e.Msg
	}
	if e.Line == 0 || e.Source == "" {
		if e.Hint == "" {
			return head
		}
		return head + "\n | " + e.Hint
	}
	line, column := excerpt(e.Source, e.Col)
	caret := "\n | " + strings.Repeat(" ", column) + "^"
	if e.Hint != "" {
		caret += " " + e.Hint
	}
	return head + "\n | " + line + caret
}

// excerpt returns what to show of a line, and how many characters of it stand before the caret. Long lines are cut around the
// place, and what a terminal would act on is replaced.
func excerpt(line string, col int) (string, int) {
	const width = 120
	runes := []rune(strings.TrimRight(line, "\r\n"))
	for i, r := range runes {
		if r == '\t' {
			runes[i] = ' '
		} else if !unicode.IsPrint(r) {
			runes[i] = utf8.RuneError
		}
	}
	before := min(max(col-1, 0), len(runes))
	if len(runes) <= width {
		return string(runes), before
	}
	from := max(0, min(before-width/2, len(runes)-width))
	to := min(len(runes), from+width)
	shown, shift := string(runes[from:to]), -from
	if from > 0 {
		shown, shift = "..."+shown, shift+3
	}
	if to < len(runes) {
		shown += "..."
	}
	return shown, before + shift
}

// maxErrors is how many errors are shown at once; more would only scroll the first ones away.
const maxErrors = 10

// keptErrors is how many errors are collected; to go on would only cost time and memory.
const keptErrors = 100

// Errors are several errors, in the order of the files.
type Errors []*Error

func (e Errors) Error() string {
	var lines []string
	for i, err := range e {
		if i == maxErrors {
			lines = append(lines, fmt.Sprintf("... and %d more", len(e)-maxErrors))
			break
		}
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, err := range e {
		out[i] = err
	}
	return out
}

// Tidy returns the errors sorted by place and without repetitions, or nil when there are none.
func (e Errors) Tidy() error {
	if len(e) == 0 {
		return nil
	}
	sorted := append(Errors(nil), e...)
	sort.SliceStable(sorted, func(i, j int) bool {
		a, b := sorted[i].Pos, sorted[j].Pos
		if a.File != b.File {
			return a.File < b.File
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Col < b.Col
	})
	out := sorted[:1]
	for _, err := range sorted[1:] {
		if *err != *out[len(out)-1] {
			out = append(out, err)
		}
	}
	return out
}

// full reports whether there are enough errors to stop looking for more.
func (e Errors) full() bool { return len(e) >= keptErrors }

// add appends the errors that err holds; nil adds none.
func (e *Errors) add(err error) {
	var several Errors
	var one *Error
	switch {
	case err == nil:
	case errors.As(err, &several):
		*e = append(*e, several...)
	case errors.As(err, &one):
		*e = append(*e, one)
	default:
		*e = append(*e, &Error{Msg: err.Error()})
	}
}

// Prefix puts words such as `stage "build": ` before the message of every error in err.
func Prefix(words string, err error) error {
	var all Errors
	all.add(err)
	out := make(Errors, len(all))
	for i, e := range all {
		copied := *e
		copied.Msg = words + e.Msg
		out[i] = &copied
	}
	return out.Tidy()
}

// source is a file that was read, for showing its lines.
type source struct {
	name  string
	lines []string
}

func newSource(name, text string) *source {
	return &source{name: name, lines: strings.Split(text, "\n")}
}

func (s *source) line(n int) string {
	if s == nil || n < 1 || n > len(s.lines) {
		return ""
	}
	return strings.TrimSuffix(s.lines[n-1], "\r")
}

func (s *source) errorAt(at Pos, hint, msg string) *Error {
	return &Error{Pos: at, Msg: msg, Hint: hint, Source: s.line(at.Line)}
}

// quote quotes user text for a message, cut to a length that a message can bear.
func quote(text string) string {
	const longest = 60
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest-3]) + "..."
	}
	return strconv.Quote(text)
}
