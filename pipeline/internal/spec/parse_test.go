package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"pgpipeline/pipeline/internal/lang"
	"pgpipeline/pipeline/internal/spec"
)

// Values are the text that stands in the file, whatever YAML would make of it.
func TestTextIsKept(t *testing.T) {
	v, err := spec.Parse("x.yaml", []byte(`
a: 16.10
b: 010
c: 1_000
d: yes
e: 2026-01-02
f: 0x10
g: "q\tq"
h: 'it''s'
i: |
  one
   two
j: >-
  folded
  text
k: 1e3
l: .inf
m: ${x}
n: "" # empty, and not null
o: https://a.example/b#c
`))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"a": "16.10", "b": "010", "c": "1_000", "d": "yes", "e": "2026-01-02", "f": "0x10",
		"g": "q\tq", "h": "it's", "i": "one\n two\n", "j": "folded text", "k": "1e3", "l": ".inf", "m": "${x}", "n": "",
		"o": "https://a.example/b#c"} {
		if got := v.Get(key); got == nil || got.Kind != spec.Scalar || got.Text != want {
			t.Errorf("%s: got %+v, want text %q", key, got, want)
		}
	}
	for text, kind := range map[string]spec.Kind{"a:": spec.Null, "a: ~": spec.Null, "a: null": spec.Null, "a: 'null'": spec.Scalar,
		"a: []": spec.List, "a: {}": spec.Map} {
		v, err := spec.Parse("x.yaml", []byte(text))
		if err != nil || v.Get("a").Kind != kind {
			t.Errorf("%q: kind %v, error %v; want %v", text, v.Get("a").Kind, err, kind)
		}
	}
}

func TestAnchorsAndMergeKeys(t *testing.T) {
	v, err := spec.Parse("x.yaml", []byte(`
base: &b {x: 1, y: 2}
more: &m {y: 3, z: 4}
one: {<<: *b, y: 5}
two: {<<: [*b, *m]}
list: [*b, *b]
text: &t hello
again: *t
`))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"one.x": "1", "one.y": "5", "two.y": "2", "two.z": "4", "list.1.y": "2", "again": "hello"} {
		if got := v.Find(path); got == nil || got.Text != want {
			t.Errorf("%s = %+v, want %q", path, got, want)
		}
	}
}

// Ten lines that mean billions of values, and other texts that are cheap to write and dear to read.
func TestBombs(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	var merges strings.Builder
	merges.WriteString("m0: &m0 {k: 1}\n")
	for i := 1; i < 5000; i++ {
		fmt.Fprintf(&merges, "m%d: &m%d {<<: *m%d, k%d: 1}\n", i, i, i-1, i)
	}
	var chain strings.Builder
	chain.WriteString("c0: &c0 [x]\n")
	for i := 1; i < 80; i++ {
		fmt.Fprintf(&chain, "c%d: &c%d [*c%d]\n", i, i, i-1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"billion laughs": {laughs.String(), "aliases add more than 10000 values"},
		"merge keys":     {merges.String(), "aliases add more than 10000 values"},
		"alias chain":    {chain.String(), "nested deeper than 64 levels through alias"},
		"flow depth":     {"a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested deeper than 64 levels"},
		"much depth":     {"a: " + strings.Repeat("[", 20_000), "not valid YAML"},
		"mapping depth":  {strings.Repeat("{a: ", 5000), "not valid YAML"},
		"block depth":    {blockDepth(100), "nested deeper than 64 levels"},
		"values":         {"a: [" + strings.Repeat("x,", 101_000) + "]", "more than 100000 values"},
		"size":           {strings.Repeat("# comment\n", 200_000), "more than the 1048576 that are allowed"},
		"keys":           {"a: {" + strings.Repeat("x: 1, ", 20_000) + "}", "duplicate key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := spec.Parse("x.yaml", []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %.300v, want %q", err, c.want)
			}
			if n := len(err.Error()); n > 6000 {
				t.Errorf("the message has %d bytes", n)
			}
		})
	}
}

func blockDepth(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// A chain of fragments that each extend the one before would add up to gigabytes.
func TestFragmentBombs(t *testing.T) {
	var deep, wide strings.Builder
	deep.WriteString("version: 1\nstages:\n  - compare:\nconfigs:\n  c0: {}\n")
	for i := 1; i < 200; i++ {
		fmt.Fprintf(&deep, "  c%03d: {extends: c%03d, k%d: 1}\n", 200-i, 201-i, i)
	}
	fmt.Fprint(&deep, "  c200: {}\n")
	wide.WriteString("version: 1\nstages:\n  - compare:\nconfigs:\n  c0: {" + keys(2000) + "}\n")
	for i := 1; i < 1000; i++ {
		fmt.Fprintf(&wide, "  c%d: {extends: c0, a: 1}\n", i)
	}
	for text, want := range map[string]string{deep.String(): "extends goes deeper than 64 levels",
		wide.String(): "add up to more than 1000000 keys"} {
		_, err := spec.Load("x.yaml", spec.Options{Kinds: kindInfos(), ReadFile: files(map[string]string{"x.yaml": text})})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %.300v, want %q", err, want)
		}
	}
}

func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1, ", i)
	}
	return b.String()
}

// At finds every character of a text in the file, however the text is written.
func TestAt(t *testing.T) {
	for name, text := range map[string]string{
		"plain":           "k: some text X here\n",
		"plain, two":      "k: some\n  text X here\n",
		"plain, blank":    "k: some\n\n  text X here\n",
		"single":          "k: 'it''s X here'\n",
		"single, two":     "k: 'it\n   is X here'\n",
		"double":          "k: \"a \\u00e9 \\\" X here\"\n",
		"double, two":     "k: \"a\n  b X here\"\n",
		"literal":         "k: |\n  one\n  two X here\n",
		"literal, deeper": "k: |\n  one\n    two X here\n",
		"literal, blank":  "k: |\n  one\n\n  two X here\n",
		"literal, first":  "k: |-\n  X here\n",
		"literal, indent": "k: |2\n     X here\n",
		"folded":          "k: >-\n  one\n  two X here\n",
		"folded, blank":   "k: >\n  one\n\n  two X here\n",
		"anchor":          "k: &name some text X here\n",
		"anchor, quoted":  "k: &name   'some text X here'\n",
		"wide":            "k: é世 X here\n",
		"in a list":       "k: [a, {b: X here}]\n",
		"CRLF":            "a: b\r\nk: |\r\n  one\r\n  two X here\r\n",
		"first":           "k: X here\n",
		"next line":       "k:\n  X here\n",
	} {
		v, err := spec.Parse("x.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		v = v.Find("k.1.b")
		offset := strings.Index(v.Text, "X")
		if offset < 0 {
			t.Fatalf("%s: no X in %q", name, v.Text)
		}
		var want spec.Pos
		for n, line := range strings.Split(text, "\n") {
			if i := strings.Index(line, "X"); i >= 0 {
				want = spec.Pos{File: "x.yaml", Line: n + 1, Col: len([]rune(line[:i])) + 1}
			}
		}
		if got := v.At(offset); got != want {
			t.Errorf("%s: X is at %v, want %v", name, got, want)
		}
	}
}

func TestInterpolate(t *testing.T) {
	v, err := spec.Parse("x.yaml", []byte("a: ${x}\nb: [1, 'p-${y}-$${z}']\nc: {d: plain}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	out, err := v.Interpolate(func(expr string, at spec.Pos) (string, error) {
		places = append(places, fmt.Sprint(expr, "@", at.Line, ":", at.Col))
		return "<" + expr + ">", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(out.Get("a").Text, " ", out.Find("b.1").Text, " ", places); got != "<x> p-<y>-${z} [x@1:6 y@2:13]" {
		t.Errorf("got %s", got)
	}
	if v.Get("a").Text != "${x}" {
		t.Error("the original was changed")
	}
	if out.Get("c") != v.Get("c") {
		t.Error("a value without ${ } was copied")
	}
	again, _ := out.Interpolate(func(string, spec.Pos) (string, error) { return "", &lang.Error{Msg: "evaluated twice"} })
	if again.Find("b.1").Text != "p-<y>-${z}" {
		t.Error("an escaped ${ was evaluated the second time")
	}
	var none *spec.Value
	if got, err := none.Interpolate(nil); got != nil || err != nil {
		t.Errorf("nil gave %v, %v", got, err)
	}
}

func TestMerge(t *testing.T) {
	for _, c := range []struct{ base, over, want string }{
		{"{a: 1, b: {c: 2, d: 3}}", "{b: {d: 4, e: 5}, f: 6}", "{a: 1, b: {c: 2, d: 4, e: 5}, f: 6}"},
		{"{a: [1, 2]}", "{a: [3]}", "{a: [3]}"},
		{"{a: {b: 1}}", "{a: x}", "{a: x}"},
		{"{a: x}", "{a: {b: 1}}", "{a: {b: 1}}"},
		{"{a: 1, b: 2}", "{a: null}", "{b: 2}"},
		{"{a: 1, b: 2}", "{a: }", "{a: 1, b: 2}"},
		{"{a: 1}", "{b: null}", "{a: 1}"},
		{"{" + keys(20) + "}", "{k3: 5, k4: null}", "{" + strings.Replace(strings.Replace(keys(20), "k3: 1", "k3: 5", 1), "k4: 1, ", "", 1) + "}"},
	} {
		base, over, want := parse(t, c.base), parse(t, c.over), parse(t, c.want)
		if got := dump(spec.Merge(base, over)); got != dump(want) {
			t.Errorf("Merge(%s, %s) = %s", c.base, c.over, got)
		}
	}
	if v := parse(t, "{a: 1}"); spec.Merge(nil, v) != v || spec.Merge(v, nil) != v {
		t.Error("merging with nothing changed the value")
	}
}

func parse(t *testing.T, text string) *spec.Value {
	t.Helper()
	v, err := spec.Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// dump writes a value with its keys in order.
func dump(v *spec.Value) string {
	var parts []string
	switch v.Kind {
	case spec.Map:
		for _, k := range v.Keys {
			parts = append(parts, k.Name+": "+dump(k.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case spec.List:
		for _, item := range v.Items {
			parts = append(parts, dump(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprintf("%q", v.Text)
}
