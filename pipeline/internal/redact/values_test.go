package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestHiddenValues(t *testing.T) {
	if Hides() {
		t.Fatal("something is hidden already")
	}
	Hide("s3cret<&>\"x", "s3cret-and-more", "s3cret", "", "abc", "first line\nsecond line\n")
	for in, want := range map[string]string{
		"with s3cret-and-more here": "with *** here",
		"s3cret, s3cret":            "***, ***",
		`a s3cret<&>"x b`:           "a *** b",
		"first line":                "***",
		"-> second line <-":         "-> *** <-",
		"abc stays":                 "abc stays",
	} {
		if got := Values(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		if got := string(Bytes([]byte(in))); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		text, err := json.Marshal(in)
		if got := string(Bytes(text)); err != nil || got != `"`+strings.ReplaceAll(strings.ReplaceAll(want, "<", `\u003c`), ">", `\u003e`)+`"` {
			t.Errorf("JSON %s became %s", text, got)
		}
	}
	if !Hides() || Text("s3cret-and-more") != "***" {
		t.Error("Text shows what is hidden")
	}
}

// TestWriter writes a hidden value in pieces of every size.
func TestWriter(t *testing.T) {
	Hide("v4lue-to-hide")
	in := "one v4lue-to-hide\ntwo v4lue-to-hide and no end v4lue-to-hide"
	for size := 1; size <= len(in); size++ {
		var out bytes.Buffer
		w := Writer(&out)
		for rest := in; rest != ""; {
			n := min(size, len(rest))
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), "one ***\ntwo *** and no end ***"; got != want {
			t.Errorf("in pieces of %d: %q", size, got)
		}
	}
}
