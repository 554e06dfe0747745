package builder

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// CommandError is a command of a build that did not succeed.
type CommandError struct {
	Command string
	// Lines are those of its output that matter: the part that failed where it can be found, else the end.
	Lines []string
	Err   error // the exit status, or why it was stopped
}

func (e *CommandError) Error() string {
	var b strings.Builder
	b.WriteString(e.Err.Error())
	if len(e.Lines) == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "\n $ %s", shorten(e.Command))
	for _, line := range e.Lines {
		b.WriteString("\n | " + shorten(line))
	}
	return b.String()
}

func (e *CommandError) Unwrap() error { return e.Err }

// shorten keeps a line to a width that a terminal can take; compiler commands run to thousands of characters and end with
// what they were about, so the middle goes.
func shorten(line string) string {
	const head, tail = 240, 150
	if len(line) <= head+tail {
		return line
	}
	return line[:head] + " ... " + line[len(line)-tail:]
}

const (
	shownLines = 24
	endLines   = 12
)

var (
	makeFailed  = regexp.MustCompile(`^\S*make(\[\d+\])?: \*\*\* .*(Error \d+|No rule to make|Segmentation|Killed|terminated)`)
	makeEnters  = regexp.MustCompile(`^\S*make(\[\d+\])?: (Entering|Leaving) directory `)
	ninjaFailed = regexp.MustCompile(`^FAILED: `)
	ninjaStep   = regexp.MustCompile(`^\[\d+/\d+\] `)
)

// cause finds the part of a failed command's output that says why. With parallel jobs the failure can be far from the end: the
// others are finished first. make prints each target's output in one piece (--output-sync), so the piece that ends with
// the first "***" holds the command and its errors; ninja marks the piece.
func cause(lines []string) []string {
	for i, line := range lines {
		if makeFailed.MatchString(line) {
			from := i
			for from > 0 && !makeEnters.MatchString(lines[from-1]) {
				from--
			}
			return condense(lines[from : i+1])
		}
		if ninjaFailed.MatchString(line) {
			to := i + 1
			for to < len(lines) && !ninjaStep.MatchString(lines[to]) && !strings.HasPrefix(lines[to], "ninja: ") {
				to++
			}
			return condense(lines[i:to])
		}
	}
	return lines[max(0, len(lines)-endLines):]
}

// condense keeps the beginning (the command) and the end (the error) of a long piece.
func condense(lines []string) []string {
	if len(lines) <= shownLines {
		return lines
	}
	const first = 3
	out := append([]string{}, lines[:first]...)
	out = append(out, fmt.Sprintf("... (%d lines, see the log)", len(lines)-shownLines+1))
	return append(out, lines[len(lines)-shownLines+first+1:]...)
}

// lineWriter passes everything on and calls each, unless it is nil, with every complete line.
type lineWriter struct {
	next io.Writer
	each func(line string)
	part []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	rest := p
	for w.each != nil {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		if !ended {
			w.part = append(w.part, line[:min(len(line), max(0, 4096-len(w.part)))]...)
			break
		}
		w.each(string(append(w.part, line...)))
		w.part, rest = w.part[:0], after
	}
	return w.next.Write(p)
}
