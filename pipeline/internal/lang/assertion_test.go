package lang

import (
	"errors"
	"strings"
	"testing"
)

// fakeFunctions are enough of a library to exercise the language; "gone" is a step that does not exist.
func fakeFunctions() []Function {
	check := func(c Call) *ArgError {
		if len(c.Args) > 0 && c.Args[0].Value == "gone" {
			return &ArgError{Msg: `unknown step "gone"`, Hint: "known: a, b"}
		}
		return nil
	}
	return []Function{
		{Name: "relqps", Kind: EstimateKind, Check: check, Doc: "relqps(step)"},
		{Name: "p99", Kind: TimeEstimateKind, Check: check},
		{Name: "qps", Kind: NumberKind, Check: check},
		{Name: "maxrt", Kind: TimeNumberKind, Check: check},
		{Name: "slower", Kind: ClaimKind, Check: check},
	}
}

// Mistakes are found before anything runs, at the place where they are.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ text, at, msg, hint string }{
		{`relqsp("a") > 1`, `relqsp`, `unknown function "relqsp"`, `did you mean "relqps"?`},
		{`frobnicate("a") > 1`, `frobnicate`, `unknown function "frobnicate"`, `functions: lo, hi`},
		{`relqps("a") > 1 && relqps("gone") > 1`, `"gone"`, `unknown step "gone"`, `known: a, b`},
		{`relqps("a") > relqps("b")`, `> relqps("b")`, `two estimates cannot be compared`, `use a ratio`},
		{`let x = p99("a"); x < p99("b")`, `< p99`, `two estimates cannot be compared`, ``},
		{`relqps("a") == 1`, `==`, `"==" does not go between an estimate and a constant`, `same(step, within)`},
		{`p99("a") < 5`, `<`, `"<" does not go between an estimated time and a constant`, `seconds(2)`},
		{`relqps("a") < seconds(1)`, `<`, `"<" does not go between an estimate and a time`, `seconds(2)`},
		{`relqps("a") * 2 > 1`, `*`, `"*" does not go between an estimate and a constant`, `point(`},
		{`relqps("a") > "x"`, `>`, `">" does not go between an estimate and a text`, ``},
		{`relqps(hot-points) > 1`, `-points`, `arguments are written out`, `"hot-points"`},
		{`relqps(a) > 1`, `a) >`, `unknown name "a"`, `write "a"`},
		{`hot > 1`, `hot`, `unknown name "hot"`, `in quotes`},
		{`relqps > 1`, `relqps`, `unknown name "relqps"`, `relqps is a function: relqps(step)`},
		{`1 < 2`, `1`, `does not compare anything that is measured`, `relqps("hot-points")`},
		{`relqps("a")`, `relqps`, `does not compare anything that is measured`, ``},
		{`relqps("a"`, `"a"`, `unexpected token EOF`, ``},
		{`slower("a") ? true : false`, ``, `a condition is not part`, ``},
		{`all(["a"], relqps(#) > 1)`, ``, `a loop is not part`, ``},
		{`[relqps("a") > 1][0]`, ``, `access to a member is not part`, ``},
		{`relqps("a", {x: 1, x: 2}) > 1`, `x: 2`, `option "x" is given twice`, ``},
		{`seconds(1, 2) < maxrt("a")`, ``, `seconds() takes one argument`, ``},
		{`relqps("ä") > 1 && relqps("gone") > 1`, `"gone"`, `unknown step "gone"`, ``},
		{`!!!0 || slower("a")`, `!0`, `"!" cannot stand before a constant`, ``},
		{`slower("a") && (1 && slower("b"))`, `&& slower("b")`, `"&&" does not go between a constant and a comparison`, ``},
		{`"a" in "ab" || slower("a")`, `in`, `"in" does not go`, `not part of`},
		{`qps("a") ** 2 > 1`, `**`, ``, `not part of`},
		{`lo(qps("a")) > 1`, `qps`, `lo() does not take a measured number`, ``},
		{`relqps("a") > qps("a")`, `>`, `between an estimate and a measured number`, `constant`},
		{`slower("a") == slower("b")`, `==`, `between a comparison and a comparison`, ``},
		{strings.Repeat("(", 60) + `slower("a")` + strings.Repeat(")", 60) + strings.Repeat(` && slower("a")`, 60), ``, `deep`, ``},
		{strings.Repeat("!", 60) + `slower("a")`, ``, `nested more than`, ``},
		{strings.Repeat(`slower("a") && `, 150) + `slower("a")`, ``, `too large`, `split`},
		{`slower("` + strings.Repeat("a", maxBytes) + `")`, ``, `too long`, ``},
	} {
		_, err := CompileAssertion(c.text, fakeFunctions())
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%.60s: %v, want an error", c.text, err)
			continue
		}
		if !strings.Contains(e.Msg, c.msg) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%.60s: %q with hint %q, want %q with %q", c.text, e.Msg, e.Hint, c.msg, c.hint)
		}
		if c.at != "" && !strings.HasPrefix(c.text[e.Offset:], c.at) && !strings.HasPrefix(c.text[max(0, e.Offset-len(c.at)+1):], c.at) {
			t.Errorf("%.60s: points at %q, want %q", c.text, c.text[e.Offset:], c.at)
		}
	}
}

// fixed is evidence that has made up its mind; strict is what it dares to say when it has to be sure.
type fixed struct{ lenient, strict Truth }

func (f fixed) Decide(_ float64, above, below Care) Truth {
	truth := f.lenient
	if truth == True && above == Strict || truth == False && below == Strict {
		return f.strict
	}
	return truth
}
func (f fixed) Bounds() (lo, hi float64) { return 0.9, 1.1 }

// world answers a step's name with what is written in it.
func world(c Call) any {
	name := c.Args[0].Value.(string)
	if c.Name == "slower" {
		truth := map[string]Truth{"yes": True, "no": False, "maybe": Unknown}[name]
		return Judged{Quantity: &Quantity{Point: 1}, Claim: Claim{truth, truth}, Reason: "budget"}
	}
	q := &Quantity{Point: 1}
	switch name {
	case "above":
		q.Evidence = fixed{True, True}
	case "below":
		q.Evidence = fixed{False, False}
	case "rather above": // enough for a pass, too little for a failure
		q.Evidence = fixed{True, Unknown}
	case "rather below":
		q.Evidence = fixed{False, Unknown}
	case "open":
		q.Evidence = fixed{Unknown, Unknown}
	case "missing":
		q.Missing = "missing"
	case "two":
		q.Point = 2
	}
	return q
}

// The truth tables of Kleene's logic, and that each side is as sure as it has to be.
func TestEval(t *testing.T) {
	for text, want := range map[string]Truth{
		`relqps("above") > 1`:                                      True,
		`relqps("below") > 1`:                                      False,
		`relqps("open") > 1`:                                       Unknown,
		`relqps("missing") > 1`:                                    Unknown,
		`relqps("above") < 1`:                                      False,
		`1 < relqps("above")`:                                      True,
		`0.5 < relqps("above") < 2`:                                False,
		`relqps("rather above") > 1`:                               True,
		`relqps("rather below") > 1`:                               Unknown,
		`relqps("rather above") < 1`:                               Unknown,
		`relqps("rather below") < 1`:                               True,
		`!(relqps("rather above") > 1)`:                            Unknown,
		`!(relqps("rather below") > 1)`:                            True,
		`!!(relqps("rather above") > 1)`:                           True,
		`not (relqps("above") > 1)`:                                False,
		`relqps("below") > 1 && relqps("open") > 1`:                False,
		`relqps("open") > 1 && relqps("below") > 1`:                False,
		`relqps("above") > 1 && relqps("open") > 1`:                Unknown,
		`relqps("above") > 1 || relqps("open") > 1`:                True,
		`relqps("open") > 1 or relqps("above") > 1`:                True,
		`relqps("below") > 1 || relqps("missing") > 1`:             Unknown,
		`relqps("missing") > 1 && 1 > 2`:                           False,
		`1 < 2 and relqps("above") > 1`:                            True,
		`!(relqps("open") > 1)`:                                    Unknown,
		`slower("yes") && !slower("no")`:                           True,
		`!slower("maybe")`:                                         Unknown,
		`p99("below") < ms(5) && p99("below") <= minutes(1)`:       True,
		`qps("two") / qps("one") > 1.7`:                            True,
		`qps("two") - 1 == 1 && 3 * qps("one") + qps("two") > 4`:   True,
		`qps("two") / (qps("one") - 1) > 1`:                        Unknown,
		`qps("missing") * 2 > 1`:                                   Unknown,
		`maxrt("two") / maxrt("one") >= 2`:                         True,
		`maxrt("two") > maxrt("one")`:                              True,
		`maxrt("two") < seconds(2) || maxrt("two") < seconds(3)`:   True,
		`lo(relqps("above")) > 0.8 && hi(p99("above")) < ms(2000)`: True,
		`point(relqps("open")) != 1`:                               False,
		`lo(relqps("missing")) > 0`:                                Unknown,
		`let r = relqps("above"); r > 0.9 && r > 0.8`:              True,
	} {
		a, err := CompileAssertion(text, fakeFunctions())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		claim, atoms, err := a.Eval(world)
		if err != nil || claim.Pos != want {
			t.Errorf("%s = %v (%v), want %v", text, claim.Pos, err, want)
		}
		if len(atoms) == 0 {
			t.Errorf("%s: no comparison was noted", text)
		}
	}
}

// Both sides are evaluated and noted, so that a report shows what was not needed too.
func TestAtoms(t *testing.T) {
	a, err := CompileAssertion(`relqps("below") > 0.95 && p99("open", {x: 1}) < ms(5) || slower("no")`, fakeFunctions())
	if err != nil {
		t.Fatal(err)
	}
	if a.Guarded != 3 {
		t.Errorf("%d comparisons share the error budget, want 3", a.Guarded)
	}
	_, atoms, err := a.Eval(world)
	var got []string
	for _, x := range atoms {
		got = append(got, x.Text()+" "+x.Claim.Pos.String())
	}
	want := `relqps("below") > 0.95 false; p99("open", {x: 1}) < 5 ms unknown; slower("no") false`
	if s := strings.Join(got, "; "); err != nil || s != want {
		t.Errorf("atoms %q (%v), want %q", s, err, want)
	}
	if atoms[1].Reason != "budget" {
		t.Errorf("an open question has the reason %q", atoms[1].Reason)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"hot-points", "point-query", "scan"}
	for written, want := range map[string]string{"hot-point": "hot-points", "hto-points": "hot-points", "SCAN": "scan", "sacn": "scan", "frobnicate": "", "": ""} {
		if got := Nearest(written, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", written, got, want)
		}
	}
}

func TestFormatSeconds(t *testing.T) {
	for s, want := range map[float64]string{0: "0 s", 2e-9: "2 ns", 1.5e-6: "1.5 µs", 0.0123: "12.3 ms", 2: "2 s", 3600: "3600 s"} {
		if got := FormatSeconds(s); got != want {
			t.Errorf("%g: %q, want %q", s, got, want)
		}
	}
}

// Whatever the text, compiling returns; and what compiles can be evaluated.
func FuzzAssertion(f *testing.F) {
	for _, s := range []string{`relqps("a") > 0.95`, `!(p99("b", {x: 1}) < ms(5)) || slower("c")`, `let x = qps("a"); x / 2 > 1`, `((((`, "1..9", `"a" in "b"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		functions := fakeFunctions()
		for i := range functions {
			functions[i].Check = nil
		}
		a, err := CompileAssertion(text, functions)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(text) {
				t.Fatalf("%q: error %#v has no place", text, err)
			}
			return
		}
		if _, _, err := a.Eval(func(c Call) any { return &Quantity{Point: 1} }); err != nil && !strings.Contains(err.Error(), "expected a claim") {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
