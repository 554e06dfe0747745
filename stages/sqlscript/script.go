package sqlscript

import (
	"fmt"
	"strings"
	"time"
)

// Script is one parsed file.
type Script struct {
	Name     string // for messages and latencies
	commands []command
}

// command is one of: a statement, a \set, a \sleep.
type command struct {
	line   int
	sql    string   // with $1, $2, ...
	params []string // variables behind them
	set    string   // variable that expr is assigned to
	expr   *node    // of \set and \sleep
	unit   time.Duration
}

// Error is a mistake in a script.
type Error struct {
	Name string
	Line int
	Msg  string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.Name, e.Line, e.Msg) }

// Parse reads a script.
func Parse(name, text string) (*Script, error) {
	p := &parser{script: &Script{Name: name}, name: name}
	if err := p.all(text); err != nil {
		return nil, err
	}
	for _, c := range p.script.commands {
		if c.sql != "" {
			return p.script, nil
		}
	}
	return nil, &Error{name, 1, "there is no SQL statement in it"}
}

type parser struct {
	script *Script
	name   string
}

func (p *parser) bad(line int, format string, args ...any) error {
	return &Error{p.name, line, fmt.Sprintf(format, args...)}
}

// all takes the text apart: meta commands stand on lines of their own between statements.
func (p *parser) all(text string) error {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	s := &splitter{text: text, line: 1}
	for {
		s.skipSpace()
		if s.done() {
			return nil
		}
		line := s.line
		if s.peek() == '\\' {
			if err := p.meta(s.metaLine(), line); err != nil {
				return err
			}
			continue
		}
		st, err := s.statement()
		if err != "" {
			return p.bad(s.line, "%s", err)
		}
		if st.sql != "" {
			p.script.commands = append(p.script.commands, command{line: line, sql: st.sql, params: st.params})
		}
	}
}

// meta reads one meta command.
func (p *parser) meta(text string, line int) error {
	name, rest, _ := strings.Cut(strings.TrimPrefix(text, `\`), " ")
	name, rest = strings.TrimSpace(name), strings.TrimSpace(rest)
	switch name {
	case "set":
		return p.set(rest, line)
	case "sleep":
		return p.sleep(rest, line)
	}
	return p.bad(line, `meta command \%s is not supported; there are \set and \sleep (driver: pgbench runs the others)`, name)
}

func (p *parser) set(text string, line int) error {
	variable, rest, _ := strings.Cut(text, " ")
	if !isName(variable) {
		return p.bad(line, `\set: %q is not a variable's name`, variable)
	}
	expr, err := parseExpression(rest)
	if err != nil {
		return p.bad(line, `\set %s: %v`, variable, err)
	}
	p.script.commands = append(p.script.commands, command{line: line, set: variable, expr: expr})
	return nil
}

func (p *parser) sleep(text string, line int) error {
	unit := time.Second
	for suffix, u := range map[string]time.Duration{"us": time.Microsecond, "ms": time.Millisecond, "s": time.Second} {
		if number, ok := strings.CutSuffix(text, suffix); ok && number != "" && (suffix != "s" || !strings.HasSuffix(number, "u") && !strings.HasSuffix(number, "m")) {
			text, unit = strings.TrimSpace(number), u
			break
		}
	}
	expr, err := parseExpression(text)
	if err != nil {
		return p.bad(line, `\sleep: %v`, err)
	}
	p.script.commands = append(p.script.commands, command{line: line, expr: expr, unit: unit})
	return nil
}

func isName(s string) bool {
	for i, r := range s {
		if !isNameRune(r) || i == 0 && r >= '0' && r <= '9' {
			return false
		}
	}
	return s != ""
}

func isNameRune(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 127
}
