package source

import "strings"

// compareDebian orders version numbers as dpkg does (deb-version(7)): the epoch, the upstream version and the revision are
// compared in turn; "~" sorts before everything, even the end; letters sort before other characters; digits are numbers.
func compareDebian(a, b string) int {
	ea, va, ra := splitDebian(a)
	eb, vb, rb := splitDebian(b)
	for _, p := range [][2]string{{ea, eb}, {va, vb}, {ra, rb}} {
		if c := compareDebianPart(p[0], p[1]); c != 0 {
			return c
		}
	}
	return 0
}

func splitDebian(v string) (epoch, upstream, revision string) {
	epoch, rest, ok := strings.Cut(v, ":")
	if !ok {
		epoch, rest = "0", v
	}
	if i := strings.LastIndexByte(rest, '-'); i >= 0 {
		return epoch, rest[:i], rest[i+1:]
	}
	return epoch, rest, "0"
}

func compareDebianPart(a, b string) int {
	for a != "" || b != "" {
		var ta, tb string
		ta, a = cutWhile(a, notDigit)
		tb, b = cutWhile(b, notDigit)
		if c := compareText(ta, tb); c != 0 {
			return c
		}
		ta, a = cutWhile(a, isDigit)
		tb, b = cutWhile(b, isDigit)
		if c := compareNumber(ta, tb); c != 0 {
			return c
		}
	}
	return 0
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func notDigit(c byte) bool { return !isDigit(c) }

func cutWhile(s string, f func(byte) bool) (head, rest string) {
	i := 0
	for i < len(s) && f(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

func compareText(a, b string) int {
	for i := 0; i < len(a) || i < len(b); i++ {
		if c := debianOrder(a, i) - debianOrder(b, i); c != 0 {
			return c
		}
	}
	return 0
}

func debianOrder(s string, i int) int {
	switch {
	case i >= len(s):
		return 0
	case s[i] == '~':
		return -1
	case s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z':
		return int(s[i])
	default:
		return int(s[i]) + 256
	}
}

func compareNumber(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// upstreamVersion is the version that the authors gave: without epoch and revision.
func upstreamVersion(v string) string {
	_, upstream, _ := splitDebian(v)
	return upstream
}
