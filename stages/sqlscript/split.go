package sqlscript

import (
	"fmt"
	"strings"
)

// splitter takes SQL text apart, as far as that is needed to find the ends of statements and the variables in them.
type splitter struct {
	text string
	at   int
	line int
}

func (s *splitter) done() bool { return s.at >= len(s.text) }

// peek is the next byte, 0 at the end.
func (s *splitter) peek() byte {
	if s.done() {
		return 0
	}
	return s.text[s.at]
}

// take consumes n bytes.
func (s *splitter) take(n int) string {
	part := s.text[s.at:min(s.at+n, len(s.text))]
	s.at += len(part)
	s.line += strings.Count(part, "\n")
	return part
}

// skipSpace also skips comments between statements.
func (s *splitter) skipSpace() {
	for !s.done() {
		rest := s.text[s.at:]
		switch {
		case strings.ContainsRune(" \t\n\r\f", rune(rest[0])):
			s.take(1)
		case strings.HasPrefix(rest, "--"):
			s.take(lineLength(rest))
		case strings.HasPrefix(rest, "/*"):
			s.take(commentLength(rest))
		default:
			return
		}
	}
}

// metaLine is a line that begins with a backslash, joined with those that follow a backslash at its end.
func (s *splitter) metaLine() string {
	var b strings.Builder
	for {
		line := s.take(lineLength(s.text[s.at:]))
		s.take(1)
		part, more := strings.CutSuffix(strings.TrimRight(line, " \t"), `\`)
		b.WriteString(part)
		if !more || s.done() {
			return strings.TrimSpace(b.String())
		}
		b.WriteByte(' ')
	}
}

func lineLength(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return i
	}
	return len(text)
}

// commentLength is that of a comment with comments inside.
func commentLength(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "/*"):
			depth++
			i++
		case strings.HasPrefix(text[i:], "*/"):
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// sqlStatement is a statement with its variables as parameters.
type sqlStatement struct {
	sql    string
	params []string
}

// maxParams is what the protocol allows; more in one statement is a mistake.
const maxParams = 65535

// statement reads up to the next semicolon outside of quotes, comments and parentheses, or to the end.
func (s *splitter) statement() (st sqlStatement, problem string) {
	var b strings.Builder
	for !s.done() {
		rest := s.text[s.at:]
		switch {
		case rest[0] == ';':
			s.take(1)
			st.sql = strings.TrimSpace(b.String())
			return st, ""
		case rest[0] == '\\' && strings.HasSuffix(strings.TrimRight(b.String(), " \t"), "\n"):
			return st, "a meta command begins before the statement above has ended with a semicolon"
		case rest[0] == '\'' || rest[0] == '"':
			n, ok := quotedLength(rest, escaped(b.String(), rest[0]))
			if !ok {
				return st, fmt.Sprintf("a string that begins with %c does not end", rest[0])
			}
			b.WriteString(s.take(n))
		case strings.HasPrefix(rest, "--"):
			s.take(lineLength(rest)) // servers need not read comments
		case strings.HasPrefix(rest, "/*"):
			b.WriteString(s.take(commentLength(rest))) // but hints are comments
		case rest[0] == '$':
			b.WriteString(s.take(dollarLength(rest, b.String())))
		case strings.HasPrefix(rest, "::"), strings.HasPrefix(rest, ":="):
			b.WriteString(s.take(2))
		case rest[0] == ':':
			s.variable(&b, &st)
		default:
			b.WriteString(s.take(1))
		}
	}
	st.sql = strings.TrimSpace(b.String())
	if len(st.params) > maxParams {
		return st, "a statement has more parameters than the protocol allows"
	}
	return st, ""
}

// variable replaces :name by $n. Each place has a number of its own: the server may want another type there.
func (s *splitter) variable(b *strings.Builder, st *sqlStatement) {
	rest := s.text[s.at+1:]
	end := strings.IndexFunc(rest, func(r rune) bool { return !isNameRune(r) })
	if end < 0 {
		end = len(rest)
	}
	name := rest[:end]
	if !isName(name) { // array slices such as [1:2]
		b.WriteString(s.take(1))
		return
	}
	s.take(1 + end)
	st.params = append(st.params, name)
	fmt.Fprintf(b, "$%d", len(st.params))
}

// escaped says that a quote opens a string with backslash escapes: E'...'.
func escaped(before string, quote byte) bool {
	if quote != '\'' || before == "" || before[len(before)-1] != 'E' && before[len(before)-1] != 'e' {
		return false
	}
	return len(before) == 1 || !isNameRune(rune(before[len(before)-2]))
}

func quotedLength(text string, escapes bool) (int, bool) {
	for i := 1; i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\':
			i++
		case text[i] == text[0] && i+1 < len(text) && text[i+1] == text[0]:
			i++
		case text[i] == text[0]:
			return i + 1, true
		}
	}
	return 0, false
}

// dollarLength is the length of a string in dollar quotes, or 1 when the dollar opens none.
func dollarLength(text, before string) int {
	if before != "" && isNameRune(rune(before[len(before)-1])) {
		return 1
	}
	end := strings.IndexByte(text[1:], '$')
	if end < 0 || end > 0 && !isName(text[1:1+end]) {
		return 1
	}
	tag := text[:end+2]
	if close := strings.Index(text[len(tag):], tag); close >= 0 {
		return len(tag) + close + len(tag)
	}
	return 1
}
