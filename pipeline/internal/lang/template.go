package lang

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of a template. They are far above what an experiment needs and keep a hostile one from costing time or memory.
const (
	maxTemplate = 64 << 10 // bytes of the text and of the result
	maxPlaces   = 256      // `${ }` in one text
)

// A Part is a piece of a template: literal text, or the expression of one `${ }`.
type Part struct {
	Text   string
	Expr   bool
	Offset int // byte offset of the text, or of the expression's first character, in the template
}

// HasTemplate reports whether the text has anything that Split would not take literally.
func HasTemplate(text string) bool { return strings.Contains(text, "${") }

// Split cuts a text at its `${ }`. `$${` stands for a literal `${`; a lone `$` is only a dollar.
func Split(text string) ([]Part, error) {
	if len(text) > maxTemplate {
		return nil, &Error{Msg: fmt.Sprintf("a text with ${ } may have %d bytes, this one has %d", maxTemplate, len(text))}
	}
	var parts []Part
	var literal strings.Builder
	start, places := 0, 0
	for i := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "$${"):
			literal.WriteString("${")
			i += len("$${")
		case strings.HasPrefix(text[i:], "${"):
			end := closing(text, i+len("${"))
			if end < 0 {
				return nil, &Error{Offset: i, Msg: "${ has no closing }", Hint: "write $${ for a literal ${"}
			}
			if places++; places > maxPlaces {
				return nil, &Error{Offset: i, Msg: fmt.Sprintf("more than %d ${ } in one text", maxPlaces)}
			}
			if literal.Len() > 0 {
				parts = append(parts, Part{Text: literal.String(), Offset: start})
				literal.Reset()
			}
			parts = append(parts, trimmed(text, i+len("${"), end))
			i = end + 1
			start = i
		default:
			literal.WriteByte(text[i])
			i++
		}
	}
	if literal.Len() > 0 {
		parts = append(parts, Part{Text: literal.String(), Offset: start})
	}
	return parts, nil
}

// trimmed is the expression between two offsets without the spaces around it.
func trimmed(text string, from, to int) Part {
	expr := text[from:to]
	left := len(expr) - len(strings.TrimLeft(expr, " \t\r\n"))
	return Part{Text: strings.TrimSpace(expr), Expr: true, Offset: from + left}
}

// closing finds the brace that ends an expression: braces and quotes within it nest as they do in the language.
func closing(text string, from int) int {
	depth := 0
	for i := from; i < len(text); i++ {
		switch c := text[i]; c {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		case '"', '\'', '`':
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' && c != '`' {
					i++
				}
			}
		}
	}
	return -1
}

// Template replaces every `${ }` in a text by the value of its expression over env. Errors are *Error with an offset into text.
func Template(text string, env map[string]any) (string, error) {
	parts, err := Split(text)
	if err != nil {
		return "", err
	}
	return Join(parts, func(p Part) (string, error) {
		value, err := Eval(p.Text, env)
		return value, Shift(err, p.Offset)
	})
}

// Join puts a template together again, with what eval makes of each expression. The result is bounded.
func Join(parts []Part, eval func(Part) (string, error)) (string, error) {
	var out strings.Builder
	for _, p := range parts {
		text := p.Text
		if p.Expr {
			var err error
			if text, err = eval(p); err != nil {
				return "", err
			}
		}
		if out.Len()+len(text) > maxTemplate {
			return "", &Error{Offset: p.Offset, Msg: fmt.Sprintf("the text becomes longer than %d bytes", maxTemplate)}
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// Shift moves the offset of an *Error by n, for an expression that is part of a longer text. Other errors stay as they are.
func Shift(err error, n int) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	moved := *e
	moved.Offset += n
	return &moved
}

// Eval evaluates one expression over env and returns its value as text. Variables and axes are text, exactly as written; where
// an expression calculates with one (`rows * 2`) it is read as a number, with the suffixes k, M, G and T. Errors are *Error.
func Eval(expr string, env map[string]any) (string, error) {
	value, plain, err := lookUp(expr, env)
	if err != nil {
		return "", err
	}
	if !plain {
		if value, err = calculate(expr, env); err != nil {
			return "", err
		}
	}
	text, err := asText(value)
	if err != nil {
		return "", &Error{Msg: err.Error()}
	}
	return text, nil
}

// lookUp handles the expressions that are most of them, `name` and `name.field`, without compiling anything.
func lookUp(expr string, env map[string]any) (value any, plain bool, err error) {
	scope := env
	for at := 0; ; {
		name, rest, more := strings.Cut(expr[at:], ".")
		if !isName(name) || keywords[name] {
			return nil, false, nil
		}
		v, ok := scope[name]
		if !ok {
			return nil, true, unknownName(name, at, scope)
		}
		if !more {
			return v, true, nil
		}
		if scope, ok = v.(map[string]any); !ok {
			return nil, true, &Error{Offset: at, Msg: fmt.Sprintf("%q has no fields", name)}
		}
		at = len(expr) - len(rest)
	}
}

func unknownName(name string, at int, scope map[string]any) *Error {
	return &Error{Offset: at, Msg: fmt.Sprintf("unknown name %q", name), Hint: Suggest(name, Names(scope))}
}

// Names lists what a scope has, sorted.
func Names(scope map[string]any) []string {
	names := make([]string, 0, len(scope))
	for n := range scope {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// keywords are the words of the language that cannot name anything.
var keywords = map[string]bool{"in": true, "not": true, "and": true, "or": true, "let": true, "if": true, "else": true, "true": true,
	"false": true, "nil": true, "matches": true, "contains": true, "startsWith": true, "endsWith": true}

// Reserved reports whether a word has a meaning of its own in the language, so that no variable may have it as its name.
func Reserved(name string) bool { return keywords[name] }

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// asText writes a value the way a person would have typed it: whole numbers without a point, nothing in exponents.
func asText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return "", fmt.Errorf("gives a text that is not UTF-8")
		}
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "", fmt.Errorf("gives %v, not a number", v)
		}
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case nil:
		return "", fmt.Errorf("gives nothing")
	case map[string]any:
		return "", fmt.Errorf("gives several values, choose one of %s", strings.Join(Names(v), ", "))
	}
	return "", fmt.Errorf("gives a list or a map, not a text or a number")
}

// shortList is how many known names a hint lists before it stops.
const shortList = 12

// Suggest is the hint for an unknown name: the nearest known one, else all of them when they are few.
func Suggest(written string, known []string) string {
	if len(known) == 0 || len(known) > 1000 { // comparing with more costs more than the hint is worth
		return ""
	}
	if len(written) <= 64 {
		if hint := DidYouMean(written, known); hint != "" {
			return hint
		}
	}
	sorted := slices.Sorted(slices.Values(known))
	if len(sorted) > shortList {
		return "known are " + strings.Join(sorted[:shortList], ", ") + ", ..."
	}
	return "known are " + strings.Join(sorted, ", ")
}
