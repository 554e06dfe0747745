package engine

import (
	"cmp"
	"strconv"
	"strings"
)

// Version is a version as it was written: "16.10", "17beta1", "16.4.0-beta.12". It compares by component, so 16.10 comes after
// 16.9.
type Version string

// Want says what a Version takes.
func (Version) Want() string { return "a version such as 17.0 or 18beta1" }

// Pattern is a regular expression for its texts.
func (Version) Pattern() string { return `^[0-9]{1,9}(\.[0-9]{1,9})*([-a-z][-.0-9a-zA-Z]*)?$` }

// UnmarshalText takes the text as it is, when it is a version.
func (v *Version) UnmarshalText(text []byte) error {
	parts, pre := Version(text).split()
	if len(parts) == 0 || strings.Trim(pre, "-.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" || len(text) > 60 {
		return &UnitError{Text: string(text), Want: v.Want()}
	}
	*v = Version(text)
	return nil
}

// MarshalText gives the text as it was written.
func (v Version) MarshalText() ([]byte, error) { return []byte(v), nil }

// split returns the numbers at the beginning and what follows them: "17beta1" is 17 and "beta1". A text that does not begin
// with numbers gives none.
func (v Version) split() (parts []int, pre string) {
	rest := string(v)
	for {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		n, err := strconv.Atoi(digits)
		if err != nil || len(digits) > 9 {
			return nil, rest
		}
		parts = append(parts, n)
		rest = rest[len(digits):]
		if !strings.HasPrefix(rest, ".") {
			break
		}
		rest = rest[1:]
	}
	if rest != "" && rest[0] != '-' && (rest[0] < 'a' || rest[0] > 'z') {
		return nil, rest
	}
	return parts, rest
}

// Major is the first component: 17 of "17.0". It is 0 for an empty version.
func (v Version) Major() int {
	parts, _ := v.split()
	if len(parts) == 0 {
		return 0
	}
	return parts[0]
}

// Compare is negative when v comes before w, zero when they are the same version, positive otherwise. Missing components are
// zero; a pre-release ("18beta1") comes before its release.
func (v Version) Compare(w Version) int {
	a, aPre := v.split()
	b, bPre := w.split()
	for i := range max(len(a), len(b)) {
		if c := cmp.Compare(at(a, i), at(b, i)); c != 0 {
			return c
		}
	}
	switch {
	case aPre == bPre:
		return 0
	case aPre == "":
		return 1
	case bPre == "":
		return -1
	}
	return comparePre(aPre, bPre)
}

func at(parts []int, i int) int {
	if i < len(parts) {
		return parts[i]
	}
	return 0
}

// comparePre compares "beta2" with "beta10" or "rc1": letters by the alphabet, numbers by value.
func comparePre(a, b string) int {
	const digits = "0123456789"
	for a != "" && b != "" {
		wordA, wordB := a[:prefix(a, digits, false)], b[:prefix(b, digits, false)]
		if c := strings.Compare(wordA, wordB); c != 0 {
			return c
		}
		a, b = a[len(wordA):], b[len(wordB):]
		numberA, numberB := a[:prefix(a, digits, true)], b[:prefix(b, digits, true)]
		x, _ := strconv.Atoi(numberA)
		y, _ := strconv.Atoi(numberB)
		if c := cmp.Compare(x, y); c != 0 {
			return c
		}
		a, b = a[len(numberA):], b[len(numberB):]
	}
	return cmp.Compare(len(a), len(b))
}

// prefix is the length of the longest beginning of s whose bytes are all in set, or all not in it.
func prefix(s, set string, in bool) int {
	for i := range len(s) {
		if strings.Contains(set, s[i:i+1]) != in {
			return i
		}
	}
	return len(s)
}

// Since reports whether v is the version bound or a later one; an empty bound holds for all. A pre-release of the bound counts:
// 18beta1 has what came with 18.
func (v Version) Since(bound Version) bool { return bound == "" || v.against(bound) >= 0 }

// Until reports whether v is the version bound or an earlier one; an empty bound holds for all. Only the components of the
// bound are looked at: 13.22 is until 13, and not until 13.4.
func (v Version) Until(bound Version) bool { return bound == "" || v.against(bound) <= 0 }

// Within reports whether v lies between two bounds, both included; either may be empty.
func (v Version) Within(since, until Version) bool { return v.Since(since) && v.Until(until) }

// against compares as many components as the bound has.
func (v Version) against(bound Version) int {
	b, pre := bound.split()
	if pre != "" {
		return v.Compare(bound)
	}
	a, _ := v.split()
	for i := range b {
		if c := cmp.Compare(at(a, i), b[i]); c != 0 {
			return c
		}
	}
	return 0
}
