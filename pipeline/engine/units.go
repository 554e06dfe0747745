package engine

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// The types below are what parameter structs use for quantities: they read what a person writes and write one canonical text,
// so that 20M and 20000000 have the same key.

// UnitError says that a text is not a quantity of some kind.
type UnitError struct {
	Text string // as written
	Want string // "a size such as 70GB"
	Note string // what is wrong or would do; may be empty
}

func (e *UnitError) Error() string { return fmt.Sprintf("%q is not %s", shorten(e.Text), e.Want) }

// Hint is the next step, for the line below the caret.
func (e *UnitError) Hint() string { return e.Note }

func shorten(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "..."
	}
	return s
}

// suffix is one unit and what it multiplies by.
type suffix struct {
	name  string
	scale int64
}

// Bytes is a size in bytes. As in PostgreSQL's settings kB, MB, GB and TB are powers of 1024.
type Bytes int64

// Largest first.
var byteUnits = []suffix{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}, {"B", 1}}

// byteSpellings are other ways to write the units.
var byteSpellings = strings.NewReplacer("TiB", "TB", "GiB", "GB", "MiB", "MB", "kiB", "kB", "KiB", "kB", "KB", "kB")

// Want says what a Bytes takes.
func (Bytes) Want() string { return "a size such as 8kB or 70GB" }

// Pattern is a regular expression for its texts.
func (Bytes) Pattern() string { return `^[0-9]+(\.[0-9]+)? ?([TGM]i?B|[kK]i?B|B)?$` }

// UnmarshalText reads "70GB", "1.5MB", "8192"; KiB, MiB, GiB and TiB mean the same as kB, MB, GB and TB.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := string(text)
	n, err := parseScaled(s, byteSpellings.Replace(s), b.Want(), byteUnits)
	*b = Bytes(n)
	return err
}

// MarshalText writes the largest unit that divides the size.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

func (b Bytes) String() string { return formatScaled(int64(b), byteUnits) }

// Count is a number of things: rows, clients, operations. k, M, G and T are powers of 1000.
type Count int64

var countUnits = []suffix{{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"", 1}}

// Want says what a Count takes.
func (Count) Want() string { return "a count such as 500 or 20M" }

// Pattern is a regular expression for its texts.
func (Count) Pattern() string { return `^[0-9]+(\.[0-9]+)? ?[kMGT]?$` }

// UnmarshalText reads "20M", "1.5k", "800".
func (c *Count) UnmarshalText(text []byte) error {
	n, err := parseScaled(string(text), string(text), c.Want(), countUnits)
	*c = Count(n)
	return err
}

// MarshalText writes the largest suffix that divides the count.
func (c Count) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

func (c Count) String() string { return formatScaled(int64(c), countUnits) }

// parseScaled reads a decimal number with a unit, which must come out whole. text is what the user wrote; s is the same with
// other spellings of the units replaced.
func parseScaled(text, s, want string, units []suffix) (int64, error) {
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit := s[len(digits):]
	digits = strings.TrimSuffix(digits, " ")
	whole, fraction, point := strings.Cut(digits, ".")
	if !allDigits(whole) || point && !allDigits(fraction) || len(digits) > 30 {
		return 0, &UnitError{Text: text, Want: want, Note: plainNumberHint(digits)}
	}
	var names []string
	for _, u := range units {
		if u.name == unit || unit == "" && u.scale == 1 {
			return scaled(text, want, digits, u.scale)
		}
		if u.name != "" {
			names = append(names, u.name)
		}
	}
	return 0, &UnitError{Text: text, Want: want, Note: "units are " + strings.Join(names, ", ")}
}

func scaled(text, want, digits string, scale int64) (int64, error) {
	value, ok := new(big.Rat).SetString(digits)
	if !ok {
		return 0, &UnitError{Text: text, Want: want}
	}
	value.Mul(value, new(big.Rat).SetInt64(scale))
	switch {
	case !value.IsInt():
		return 0, &UnitError{Text: text, Want: want, Note: "it does not come out whole"}
	case !value.Num().IsInt64():
		return 0, &UnitError{Text: text, Want: want, Note: "it is too large"}
	}
	return value.Num().Int64(), nil
}

func plainNumberHint(digits string) string {
	if plain := strings.NewReplacer("_", "", ",", "").Replace(digits); plain != digits && allDigits(plain) {
		return "write " + plain
	}
	if strings.HasPrefix(digits, "-") {
		return "it cannot be negative"
	}
	return ""
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// formatScaled writes n with the largest unit that divides it.
func formatScaled(n int64, units []suffix) string {
	for _, u := range units {
		if n != 0 && n%u.scale == 0 {
			return strconv.FormatInt(n/u.scale, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Duration is a length of time, never negative.
type Duration time.Duration

var durationUnits = []struct {
	name string
	unit time.Duration
}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond},
	{"ns", time.Nanosecond}}

// Want says what a Duration takes.
func (Duration) Want() string { return "a duration such as 30s, 20m or 1h30m" }

// Pattern is a regular expression for its texts.
func (Duration) Pattern() string { return `^(0|([0-9]+(\.[0-9]+)?(d|h|m|s|ms|us|ns))+)$` }

// Std is the duration for the standard library.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// UnmarshalText reads "30m", "1h30m", "1.5s", "2d", "0".
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	fail := func(note string) error { return &UnitError{Text: s, Want: d.Want(), Note: note} }
	switch {
	case s == "0":
		*d = 0
		return nil
	case allDigits(s):
		return fail(fmt.Sprintf("of what? write %ss or %sm", shorten(s), shorten(s)))
	case strings.HasPrefix(s, "-"):
		return fail("it cannot be negative")
	case s == "" || len(s) > 60:
		return fail("")
	}
	total := new(big.Rat)
	for rest := s; rest != ""; {
		number := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789."))]
		rest = rest[len(number):]
		name := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz"))]
		rest = rest[len(name):]
		unit := durationUnit(name)
		if unit == 0 {
			return fail("units are d, h, m, s, ms, us, ns")
		}
		value, ok := new(big.Rat).SetString(number)
		if !ok || strings.HasPrefix(number, ".") || strings.HasSuffix(number, ".") {
			return fail("")
		}
		total.Add(total, value.Mul(value, new(big.Rat).SetInt64(int64(unit))))
	}
	ns := new(big.Int).Quo(total.Num(), total.Denom())
	if !ns.IsInt64() {
		return fail("it is too long")
	}
	*d = Duration(ns.Int64())
	return nil
}

func durationUnit(name string) time.Duration {
	for _, u := range durationUnits {
		if u.name == name {
			return u.unit
		}
	}
	return 0
}

// MarshalText writes hours, minutes and seconds: "60h", "1h30m", "1.5s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d Duration) String() string {
	if d == 0 {
		return "0"
	}
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return strings.Replace(s, "µs", "us", 1)
}

// Rate is events per second.
type Rate float64

// Want says what a Rate takes.
func (Rate) Want() string { return "a rate such as 2000/s" }

// Pattern is a regular expression for its texts.
func (Rate) Pattern() string { return `^[0-9]+(\.[0-9]+)? ?[kMGT]?/(s|m|h)$` }

// UnmarshalText reads "2000/s", "1.5k/s", "120/m".
func (r *Rate) UnmarshalText(text []byte) error {
	s := string(text)
	fail := func(note string) error { return &UnitError{Text: s, Want: r.Want(), Note: note} }
	number, per, ok := strings.Cut(s, "/")
	seconds := map[string]float64{"s": 1, "m": 60, "h": 3600}[per]
	if !ok || seconds == 0 {
		return fail("write it per second, minute or hour: 2000/s, 120/m, 10/h")
	}
	scale := 1.0
	for _, u := range countUnits {
		if cut, ok := strings.CutSuffix(number, u.name); ok && u.name != "" {
			number, scale = cut, float64(u.scale)
		}
	}
	value, err := strconv.ParseFloat(strings.TrimSuffix(number, " "), 64)
	if err != nil || strings.Trim(number, "0123456789. ") != "" || math.IsInf(value*scale, 0) {
		return fail("")
	}
	*r = Rate(value * scale / seconds)
	return nil
}

// MarshalText writes the rate per second.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r Rate) String() string { return strconv.FormatFloat(float64(r), 'f', -1, 64) + "/s" }
