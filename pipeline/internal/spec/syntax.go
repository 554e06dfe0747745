package spec

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

var syntaxLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxError places what the YAML parser says. The parser knows the line at best, and often only where it noticed.
func syntaxError(src *source, err error) *Error {
	reported, msg := 0, err.Error()
	if m := syntaxLine.FindStringSubmatch(msg); m != nil {
		reported, _ = strconv.Atoi(m[1])
		msg = m[2]
	}
	if at, ok := tabIndent(src, reported); ok {
		return src.errorAt(at, "indent with spaces", "a tab in the indentation")
	}
	if name, ok := strings.CutPrefix(msg, "unknown anchor '"); ok {
		name = strings.TrimSuffix(name, "' referenced")
		return src.errorAt(findWord(src, "*"+name), "define it above with &"+name, fmt.Sprintf("unknown alias %q", "*"+name))
	}
	line := culprit(src, reported)
	hint := syntaxHint(msg)
	if noSpace.MatchString(src.line(line - 1)) {
		hint = fmt.Sprintf("the key on line %d needs a space after its colon", line-1)
	}
	return src.errorAt(Pos{src.name, line, syntaxColumn(src.line(line), msg)}, hint, "not valid YAML: "+msg)
}

// noSpace is a line with a key whose colon has no space after it: it is valid, as a text.
var noSpace = regexp.MustCompile(`^\s*(- )?[A-Za-z_][\w-]*:[^\s/:]\S*$`)

// culprit is the line that the mistake is in: the first one that no longer is the end of a valid text. Near the line that the
// parser reported, the text is cut off after each line in turn, backwards, until the parser accepts it.
func culprit(src *source, reported int) int {
	const most = 200       // lines to try
	const budget = 1 << 20 // bytes to parse while trying
	last := len(src.lines)
	if reported == 0 {
		reported = last
	}
	start := min(reported+2, last)
	size, tried := 0, 0
	for _, l := range src.lines[:start] {
		size += len(l) + 1
	}
	for n := start; n > 0 && start-n < most && tried < budget; n-- {
		if valid(strings.Join(src.lines[:n], "\n")) {
			return min(n+1, last)
		}
		tried += size
		size -= len(src.lines[n-1]) + 1
	}
	return min(max(reported, 1), last)
}

func valid(text string) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	var n yaml.Node
	return yaml.Unmarshal([]byte(text), &n) == nil
}

// syntaxColumn is where in the line the mistake most likely is.
func syntaxColumn(line, msg string) int {
	at := len(line) - len(strings.TrimLeft(line, " "))
	switch {
	case strings.Contains(msg, "mapping values are not allowed"):
		if i := strings.LastIndex(line, ": "); i >= 0 {
			at = i
		}
	case strings.Contains(msg, "cannot start any token"):
		if i := cannotStart.FindStringIndex(line); i != nil {
			at = i[1] - 1
		}
	}
	return utf8.RuneCountInString(line[:at]) + 1
}

var cannotStart = regexp.MustCompile("(^|[ \\[{,])[@`%\t]")

func syntaxHint(msg string) string {
	switch {
	case strings.Contains(msg, "mapping values are not allowed"):
		return "put a text that contains \": \" in quotes, or check the indentation"
	case strings.Contains(msg, "did not find expected key"), strings.Contains(msg, "did not find expected '-' indicator"):
		return "check the indentation here and on the lines above"
	case strings.Contains(msg, "cannot start any token"):
		return "put a text that begins with @, ` or % in quotes"
	case strings.Contains(msg, "could not find expected ':'"):
		return "a key needs a colon and a space after it"
	case strings.Contains(msg, "did not find expected ',' or"):
		return "a [ or { is not closed, or a text with special characters needs quotes"
	case strings.Contains(msg, "unexpected end of stream"):
		return "a quote is not closed"
	}
	return ""
}

// tabIndent finds the first tab in the indentation of a line up to the one that the parser stopped at.
func tabIndent(src *source, last int) (Pos, bool) {
	if last == 0 {
		last = len(src.lines)
	}
	for n := 1; n <= min(last+1, len(src.lines)); n++ {
		text := src.line(n)
		rest := strings.TrimLeft(text, " ")
		if strings.HasPrefix(rest, "\t") && strings.TrimSpace(rest) != "" && !strings.HasPrefix(strings.TrimSpace(rest), "#") {
			return Pos{src.name, n, len(text) - len(rest) + 1}, true
		}
	}
	return Pos{}, false
}

func findWord(src *source, word string) Pos {
	for i, l := range src.lines {
		if at := strings.Index(l, word); at >= 0 {
			return Pos{src.name, i + 1, utf8.RuneCountInString(l[:at]) + 1}
		}
	}
	return Pos{File: src.name}
}
