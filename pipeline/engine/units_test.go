package engine

import (
	"encoding"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
)

// quantity is what every unit type is.
type quantity interface {
	encoding.TextUnmarshaler
	encoding.TextMarshaler
	Want() string
	Pattern() string
}

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		into quantity
		text string
		want string // canonical; "" for an error
		hint string // part of it
	}{
		{new(Bytes), "70GB", "70GB", ""},
		{new(Bytes), "8kB", "8kB", ""},
		{new(Bytes), "8KiB", "8kB", ""},
		{new(Bytes), "1024", "1kB", ""},
		{new(Bytes), "1.5MB", "1536kB", ""},
		{new(Bytes), "1536 kB", "1536kB", ""},
		{new(Bytes), "1B", "1B", ""},
		{new(Bytes), "0", "0", ""},
		{new(Bytes), "2048GB", "2TB", ""},
		{new(Bytes), "0.3B", "", "whole"},
		{new(Bytes), "70GX", "", "units are TB, GB, MB, kB, B"},
		{new(Bytes), "70mb", "", "units are"},
		{new(Bytes), "-1GB", "", "negative"},
		{new(Bytes), "8388608TB", "", "too large"},
		{new(Bytes), "GB", "", ""},
		{new(Bytes), "", "", ""},
		{new(Bytes), "1e3", "", ""},
		{new(Count), "20M", "20M", ""},
		{new(Count), "20000000", "20M", ""},
		{new(Count), "1.5k", "1500", ""},
		{new(Count), "1500", "1500", ""},
		{new(Count), "010", "10", ""},
		{new(Count), "8", "8", ""},
		{new(Count), "20_000", "", "write 20000"},
		{new(Count), "20,000", "", "write 20000"},
		{new(Count), "1.5", "", "whole"},
		{new(Count), "20m", "", "units are T, G, M, k"},
		{new(Count), "10000000T", "", "too large"},
		{new(Duration), "30m", "30m", ""},
		{new(Duration), "1h30m", "1h30m", ""},
		{new(Duration), "90m", "1h30m", ""},
		{new(Duration), "2d", "48h", ""},
		{new(Duration), "60s", "1m", ""},
		{new(Duration), "1.5s", "1.5s", ""},
		{new(Duration), "100us", "100us", ""},
		{new(Duration), "0", "0", ""},
		{new(Duration), "0s", "0", ""},
		{new(Duration), "30", "", "write 30s or 30m"},
		{new(Duration), "30 m", "", "units are"},
		{new(Duration), "1y", "", "units are d, h"},
		{new(Duration), "-5s", "", "negative"},
		{new(Duration), "1h.", "", ""},
		{new(Duration), "300000d", "", "too long"},
		{new(Duration), "soon", "", ""},
		{new(Rate), "2000/s", "2000/s", ""},
		{new(Rate), "1.5k/s", "1500/s", ""},
		{new(Rate), "120/m", "2/s", ""},
		{new(Rate), "1/h", "0.0002777777777777778/s", ""},
		{new(Rate), "2000", "", "per second"},
		{new(Rate), "2000/d", "", "per second"},
		{new(Rate), "x/s", "", ""},
		{new(Rate), "1e5/s", "", ""},
	} {
		err := c.into.UnmarshalText([]byte(c.text))
		if c.want == "" {
			unit, ok := errors.AsType[*UnitError](err)
			if !ok || !strings.Contains(unit.Hint(), c.hint) || !strings.Contains(err.Error(), c.into.Want()) {
				t.Errorf("%T %q: error %v", c.into, c.text, err)
			}
			continue
		}
		got, _ := c.into.MarshalText()
		if err != nil || string(got) != c.want {
			t.Errorf("%T %q = %s, %v; want %s", c.into, c.text, got, err, c.want)
		}
		again := c.into
		if err := again.UnmarshalText(got); err != nil {
			t.Errorf("%T: canonical %q cannot be read: %v", c.into, got, err)
		}
		if back, _ := again.MarshalText(); string(back) != c.want {
			t.Errorf("%T: canonical %q comes back as %q", c.into, got, back)
		}
	}
}

// Editors check texts by the pattern, the tool by reading them: what is read must match.
func FuzzUnits(f *testing.F) {
	for _, s := range []string{"70GB", "8kB", "20M", "1.5k", "30m", "1h30m", "2d", "2000/s", "16.10", "18beta1", "0", "1.", "9 GB", "1iB", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, q := range []quantity{new(Bytes), new(Count), new(Duration), new(Rate), new(Version)} {
			if err := q.UnmarshalText([]byte(text)); err != nil {
				continue
			}
			if !regexp.MustCompile(q.Pattern()).MatchString(text) {
				t.Errorf("%T reads %q, which does not match %s", q, text, q.Pattern())
			}
			first, _ := q.MarshalText()
			if err := q.UnmarshalText(first); err != nil {
				t.Errorf("%T %q: canonical %q: %v", q, text, first, err)
			}
			if second, _ := q.MarshalText(); string(first) != string(second) {
				t.Errorf("%T %q: canonical %q becomes %q", q, text, first, second)
			}
		}
	})
}

func TestUnitsInJSON(t *testing.T) {
	text, err := json.Marshal(map[string]any{"b": Bytes(1 << 30), "c": Count(2e6), "d": Duration(time.Minute), "r": Rate(5), "v": Version("16.10")})
	if want := `{"b":"1GB","c":"2M","d":"1m","r":"5/s","v":"16.10"}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestVersionCompare(t *testing.T) {
	ordered := []Version{"9.6", "10.1", "10.10", "11.21", "16.1", "16.4.0-beta.2", "16.4.0-beta.12", "16.4", "16.9", "16.10", "17alpha1", "17beta1", "17beta2",
		"17beta10", "17rc1", "17", "17.1", "18devel", "18.0"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := a.Compare(b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("Compare(%s, %s) = %d", a, b, got)
			}
		}
	}
	if Version("17").Compare("17.0.0") != 0 {
		t.Error("17 and 17.0.0 differ")
	}
	if m := Version("16.10").Major(); m != 16 || Version("").Major() != 0 {
		t.Errorf("major is %d", m)
	}
}

func TestVersionBounds(t *testing.T) {
	for _, c := range []struct {
		v, since, until Version
		want            bool
	}{
		{"13.22", "", "", true},
		{"13.22", "13", "", true},
		{"13.22", "13.23", "", false},
		{"13.22", "", "13", true},
		{"13.22", "", "13.4", false},
		{"13.4", "", "13.4", true},
		{"13.4.1", "", "13.4", true},
		{"12.9", "13", "", false},
		{"18beta1", "18", "", true},
		{"18beta1", "", "17", false},
		{"18beta1", "18beta2", "", false},
		{"18", "18beta2", "", true},
		{"15", "14", "16", true},
	} {
		if got := c.v.Within(c.since, c.until); got != c.want {
			t.Errorf("%s within %q..%q: %v", c.v, c.since, c.until, got)
		}
	}
}

func TestVersionText(t *testing.T) {
	for text, good := range map[string]bool{"17": true, "16.10": true, "18beta1": true, "16.4.0-beta.12": true, "18.6-1.pgdg": true, "latest": false,
		"": false, "17.": false, "v17": false, "17 ": false, "99999999999999999999": false, "REL_17": false, "17beta1;rm": false} {
		var v Version
		if err := v.UnmarshalText([]byte(text)); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
