package sqlscript

import (
	"slices"
	"strings"
)

// changing are the words that begin a statement which changes the database, or locks it against those that would.
var changing = []string{"INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "CREATE", "ALTER", "DROP", "COMMENT", "GRANT", "REVOKE", "VACUUM", "ANALYZE",
	"REINDEX", "CLUSTER", "REFRESH", "LOCK", "IMPORT", "REASSIGN", "SECURITY", "CHECKPOINT"}

// Writes finds a statement that clearly changes the database and says which: "write.sql:3 has an UPDATE". It is "" when there is none; what a
// function does that a statement calls cannot be seen here.
func (s *Script) Writes() string {
	for _, c := range s.commands {
		if c.sql == "" {
			continue
		}
		if what := writes(words(c.sql)); what != "" {
			return (&Error{s.Name, c.line, what}).Error()
		}
	}
	return ""
}

// writes names what changes the database in a statement of these words; "" when nothing does.
func writes(w []string) string {
	if len(w) == 0 || w[0] == "EXPLAIN" && !slices.Contains(w, "ANALYZE") || w[0] == "PREPARE" || w[0] == "DECLARE" {
		return ""
	}
	if slices.Contains(changing, w[0]) {
		return w[0]
	}
	depth := 0
	for i, word := range w {
		before, after := "", ""
		if i > 0 {
			before = w[i-1]
		}
		if i+1 < len(w) {
			after = w[i+1]
		}
		switch word {
		case "(":
			depth++
		case ")":
			depth--
		case "INSERT", "UPDATE", "DELETE", "MERGE":
			// In WITH: the first word of a part, or of what follows the parts. After EXPLAIN ANALYZE too.
			if (before == "(" || before == ")" || before == "ANALYZE") && after != "(" && after != "," {
				return word
			}
		case "INTO":
			if depth == 0 && i > 0 {
				return "SELECT INTO"
			}
		case "FROM":
			if depth == 0 && w[0] == "COPY" {
				return "COPY FROM"
			}
		case "FOR":
			if lock := rowLock(w[i+1:]); lock != "" {
				return "SELECT FOR " + lock
			}
		case "NEXTVAL", "SETVAL":
			if after == "(" {
				return strings.ToLower(word) + "()"
			}
		}
	}
	return ""
}

// rowLock is what follows FOR when that locks rows, which is written into them: [NO KEY] UPDATE, [KEY] SHARE.
func rowLock(after []string) string {
	for i, word := range after {
		switch {
		case word == "UPDATE" || word == "SHARE":
			return strings.Join(after[:i+1], " ")
		case word != "NO" && word != "KEY":
			return ""
		}
	}
	return ""
}

// words are the words of a statement in capitals, with commas and parentheses among them, without strings, quoted names and comments.
func words(sql string) []string {
	var out []string
	s := &splitter{text: sql}
	for s.skipSpace(); !s.done(); s.skipSpace() {
		rest := s.text[s.at:]
		switch {
		case rest[0] == '\'' || rest[0] == '"':
			n, ok := quotedLength(rest, escaped(sql[:s.at], rest[0]))
			if !ok {
				return out
			}
			s.take(n)
			out = append(out, "?")
		case rest[0] == '$':
			s.take(dollarLength(rest, sql[:s.at]))
		case isNameRune(rune(rest[0])):
			end := strings.IndexFunc(rest, func(r rune) bool { return !isNameRune(r) })
			if end < 0 {
				end = len(rest)
			}
			out = append(out, strings.ToUpper(s.take(end)))
		default:
			out = append(out, s.take(1))
		}
	}
	return out
}
