// Package redact keeps secrets out of everything that is shown or written for others: reports, terminal, annotations.
// Experiments should not hold secrets, yet addresses with credentials and connection strings do turn up in error texts.
package redact

import (
	"regexp"
	"strings"
)

// Mask stands in for what was taken out.
const Mask = "***"

var patterns = []struct {
	find *regexp.Regexp
	with string
}{
	// scheme://user:password@host, and scheme://token@host
	{regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s@"']+@`), "${1}" + Mask + "@"},
	// password=..., token: ..., sshkey=..., X-Amz-Signature=... in queries, connection strings and headers
	{regexp.MustCompile(`(?i)\b([a-z0-9_-]*(?:password|passwd|secret|token|sshkey|api[_-]?key|access[_-]?key(?:_id)?|signature|credential))(\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s&,;"']+)`), "${1}${2}" + Mask},
	{regexp.MustCompile(`(?i)\b(authorization:\s*)(?:(?:basic|bearer|token)\s+)?\S+`), "${1}" + Mask},
	{regexp.MustCompile(`(?i)\b(bearer\s+)[a-z0-9._~+/=-]{8,}`), "${1}" + Mask},
	{regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{12,}|AKIA[0-9A-Z]{16})`), Mask},
	{regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), Mask},
}

// settings of PostgreSQL whose names look like secrets and that hold none.
var harmless = regexp.MustCompile(`(?i)\bpassword_encryption\b`)

// Text returns s with everything that looks like a secret replaced by Mask.
func Text(s string) string {
	s = Values(s)
	if !suspicious(s) {
		return s
	}
	for _, p := range patterns {
		s = p.find.ReplaceAllString(s, p.with)
	}
	return s
}

// suspicious is a cheap test: almost every string that a report shows fails it.
func suspicious(s string) bool {
	lower := strings.ToLower(s)
	for _, word := range []string{"@", "pass", "secret", "token", "key", "signature", "credential", "authorization", "bearer", "gh", "glpat", "akia", "private"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}

// Value redacts a named value: the whole of it when the name says that it is a secret.
func Value(name, value string) string {
	if secretName.MatchString(name) && !harmless.MatchString(name) && value != "" {
		return Mask
	}
	return Text(value)
}

var secretName = regexp.MustCompile(`(?i)(password|passwd|secret|token|sshkey|api[_-]?key|access[_-]?key|credential)`)
