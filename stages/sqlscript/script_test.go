package sqlscript

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgpipeline/stages/driver"
)

func TestStatements(t *testing.T) {
	s, err := Parse("x.sql", `-- a comment; not a statement
\set id random(1, \
   10)
SELECT c::text, ':id', "a:id", $$ ; :id $$, $q$ ; $q$, E'it\'s; ' /* hint; :id */ FROM t -- tail :id
 WHERE id = :id AND other[1:2] = :id + :delta;
\sleep 2 ms
/* between /* nested */ */
INSERT INTO t VALUES ('it''s; fine', :delta)`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range s.commands {
		switch {
		case c.sql != "":
			got = append(got, fmt.Sprintf("%d sql %s %v", c.line, strings.Join(strings.Fields(c.sql), " "), c.params))
		case c.set != "":
			got = append(got, fmt.Sprintf("%d set %s", c.line, c.set))
		default:
			got = append(got, fmt.Sprintf("%d sleep %v", c.line, c.unit))
		}
	}
	want := []string{
		"2 set id",
		`4 sql SELECT c::text, ':id', "a:id", $$ ; :id $$, $q$ ; $q$, E'it\'s; ' /* hint; :id */ FROM t WHERE id = $1 AND other[1:2] = $2 + $3 [id id delta]`,
		"6 sleep 1ms",
		"8 sql INSERT INTO t VALUES ('it''s; fine', $1) [delta]",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestScriptErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"SELECT 1;\n\\gset\n", `f.sql:2: meta command \gset is not supported`},
		{"\\if :x\nSELECT 1;", `f.sql:1: meta command \if is not supported`},
		{"\\set 1x 2\nSELECT 1;", `f.sql:1: \set: "1x" is not a variable's name`},
		{"SELECT 1;\n\n\\set x 1 +\n", `f.sql:3: \set x: an expression is missing at the end`},
		{"\\set x (1\nSELECT 1;", `f.sql:1: \set x: a parenthesis is not closed`},
		{"\\set x 1 2\nSELECT 1;", `f.sql:1: \set x: "2" is not understood`},
		{"\\set x rand(1)\nSELECT 1;", `unknown function "rand"; there are abs, double`},
		{"\\set x random(1)\nSELECT 1;", `function random: it does not take 1 arguments`},
		{"\\set x random(1 2)\nSELECT 1;", `function random: a comma or a closing parenthesis is missing`},
		{"\\set x 1x\nSELECT 1;", `"1x" is not a number`},
		{"\\set x :\nSELECT 1;", `a variable's name is missing`},
		{"\\sleep soon\nSELECT 1;", `f.sql:1: \sleep: unknown function "soon"`},
		{"SELECT 'a;\n", `f.sql:1: a string that begins with ' does not end`},
		{"SELECT 1\n\\set x 1\n", "f.sql:2: a meta command begins before the statement above has ended"},
		{"-- nothing\n\\set x 1\n", "f.sql:1: there is no SQL statement in it"},
		{"\\set x " + strings.Repeat("(", 300) + "\nSELECT 1;", "levels of parentheses"},
	} {
		if _, err := Parse("f.sql", c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	s, err := Parse("f.sql", "\\set x :y + 1\nSELECT :x, :z;")
	if err != nil {
		t.Fatal(err)
	}
	m := &Mix{Scripts: []Weighted{{s, 1}}}
	if err := m.Check(); err == nil || !strings.Contains(err.Error(), "f.sql:1: variable :y is set nowhere") {
		t.Errorf("unknown variable: %v", err)
	}
	m.Set = map[string]string{"y": "1", "z": "a"}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
}

func compute(t *testing.T, text string) (string, error) {
	t.Helper()
	n, err := parseExpression(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	r := driver.NewRand(1)
	slots := map[string]int{"a": 0, "f": 1, "t": 2, "unset": 3}
	v, err := n.bind(func(name string) int { return slots[name] }).eval([]value{intValue(7), floatValue(0.5), parseValue("text"), {}}, &r)
	return string(v.append(nil)), err
}

func TestExpressions(t *testing.T) {
	for text, want := range map[string]string{
		"1 + 2 * 3":                   "7",
		"(1 + 2) * 3":                 "9",
		"10 - 3 - 2":                  "5",
		"-7 / 2":                      "-3",
		"-7 % 3":                      "-1",
		"7 / 2.0":                     "3.5",
		"- -:a":                       "7",
		":a * :f":                     "3.5",
		"int(2.5) + int(3.5)":         "6",
		"greatest(1, 9, 3) + abs(-2)": "11",
		"least(2, 1.5)":               "1.5",
		"pow(2, 10)":                  "1024",
		"mod(10, 4)":                  "2",
		"1e3 + .5":                    "1000.5",
		"9223372036854775807":         "9223372036854775807",
		"random(3, 3)":                "3",
		"sqrt(16) * double(2)":        "8",
		":t":                          "text",
	} {
		if got, err := compute(t, text); err != nil || got != want {
			t.Errorf("%s = %s, %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]error{
		"1 / 0": errZero, "1 % 0": errZero, "1.0 / 0": errZero,
		"9223372036854775807 + 1": errOverflow, "9223372036854775807 * 2": errOverflow, "-9223372036854775807 - 2": errOverflow,
		"int(1e30)": errOverflow, ":t + 1": errText, ":unset + 1": errUnset,
		"random(2, 1)": errBounds, "random_zipfian(1, 10, 1)": errShape, "random_gaussian(1, 10, 1)": errShape, "random_exponential(1, 10, 0)": errShape,
	} {
		if got, err := compute(t, text); err != want {
			t.Errorf("%s = %s, %v, want the error %v", text, got, err, want)
		}
	}
}

// Each distribution stays within its bounds and has the shares that its definition gives.
func TestDistributions(t *testing.T) {
	const draws = 200_000
	normal := func(z float64) float64 { return 0.5 * (1 + math.Erf(z/math.Sqrt2)) }
	harmonic := 0.0
	for i := 1; i <= 10; i++ {
		harmonic += math.Pow(float64(i), -1.5)
	}
	for _, c := range []struct {
		text  string
		share float64 // of the first of ten numbers
	}{
		{"random(1, 10)", 0.1},
		{"random_exponential(1, 10, 2.5)", (1 - math.Exp(-0.25)) / (1 - math.Exp(-2.5))},
		{"random_gaussian(1, 10, 2.5)", (normal(-2) - normal(-2.5)) / (normal(2.5) - normal(-2.5))},
		{"random_zipfian(1, 10, 1.5)", 1 / harmonic},
	} {
		n, err := parseExpression(c.text)
		if err != nil {
			t.Fatal(err)
		}
		n = n.bind(nil)
		r := driver.NewRand(7)
		first, counts := 0, map[int64]int{}
		for range draws {
			v, err := n.eval(nil, &r)
			if err != nil {
				t.Fatal(err)
			}
			counts[v.i]++
			if v.i == 1 {
				first++
			}
		}
		if len(counts) != 10 || counts[10] == 0 {
			t.Errorf("%s: %d values, %d times the last", c.text, len(counts), counts[10])
		}
		got, sigma := float64(first)/draws, math.Sqrt(c.share*(1-c.share)/draws)
		if math.Abs(got-c.share) > 5*sigma {
			t.Errorf("%s: the first number comes in %.4f of the draws, want %.4f", c.text, got, c.share)
		}
	}
}

func TestEvaluatingAllocatesNothing(t *testing.T) {
	n, err := parseExpression("random_zipfian(1, :a * 1000, 1.2) + random_gaussian(1, 100, 3) + greatest(1, random(1, 9))")
	if err != nil {
		t.Fatal(err)
	}
	n = n.bind(func(string) int { return 0 })
	r := driver.NewRand(1)
	vars := []value{intValue(5)}
	if a := testing.AllocsPerRun(100, func() { _, err = n.eval(vars, &r) }); a != 0 || err != nil {
		t.Errorf("%v allocations per event, %v", a, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("\\set x random(1, 10)\nSELECT :x, '$q$', $q$ ; $q$;")
	f.Add("\\sleep 1 us\n/* x */ SELECT E'\\'';")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("fuzz", text)
		if err != nil {
			return
		}
		for _, c := range s.commands {
			for i := range c.params {
				if !strings.Contains(c.sql, fmt.Sprintf("$%d", i+1)) {
					t.Errorf("parameter %d of %q is not in it", i+1, c.sql)
				}
			}
		}
	})
}
