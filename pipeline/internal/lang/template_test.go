package lang

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func templateEnv() map[string]any {
	return map[string]any{"pg": "16.10", "rows": "20M", "clients": "8", "flag": "true", "odd": "${x}",
		"host": map[string]any{"cpus": 6, "memory": int64(64 << 30)}}
}

func TestTemplate(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		"plain $5 text":                    "plain $5 text",
		"${pg}":                            "16.10",
		"v${ pg }/postgresql-${pg}.tar":    "v16.10/postgresql-16.10.tar",
		"$${pg} $$${pg}":                   "${pg} $${pg}",
		"${odd}":                           "${x}",
		"${rows * 2}":                      "40000000",
		"${clients + 1}":                   "9",
		"${1 + clients + clients}":         "17",
		"${pg + '-x'}":                     "16.10-x",
		"${host.cpus / 4}":                 "1.5",
		"${host.cpus * clients}":           "48",
		"${floor(host.memory / 4)}":        "17179869184",
		"${clients > 4 ? 'many' : 'few'}":  "many",
		"${clients == 8}":                  "true",
		"${pg == '16.10'}":                 "true",
		"${pg == '16.1'}":                  "false",
		"${replace(pg, '.', '_')}":         "16_10",
		"${flag == 'true' && clients < 9}": "true",
		"${pg in ['16.10', '17']}":         "true",
		"${'}'}":                           "}",
		"${\"a}b\" + 'it\\'s'}":            "a}bit's",
		"${-clients}":                      "-8",
		"${int(clients) % 3}":              "2",
		"${min(host.cpus, 4)}":             "4",
		"${pg startsWith '16'}":            "true",
		"${1e3}":                           "1000",
	} {
		got, err := Template(in, templateEnv())
		if err != nil || got != want {
			t.Errorf("Template(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestTemplateErrors(t *testing.T) {
	for _, c := range []struct {
		in, msg, hint string
		offset        int
	}{
		{"a ${pgg}", `unknown name "pgg"`, `did you mean "pg"?`, 4},
		{"a ${zzzzzz + 1}", `unknown name "zzzzzz"`, "known are clients, flag, host, odd, pg, rows", 4},
		{"${host.cpu}", `unknown name "cpu"`, `did you mean "cpus"?`, 7},
		{"${host}", "gives several values, choose one of cpus, memory", "", 2},
		{"${pg.x}", `"pg" has no fields`, "", 2},
		{"x ${pg", "${ has no closing }", "write $${ for a literal ${", 2},
		{"${ }", "${ } is empty", "write the name of a variable or axis in it", 3},
		{"${1 +}", "unexpected token EOF", "", 4},
		{"${pg * 'x'}", `"x" is not a number`, "", 7},
		{"${foo(1)}", `unknown function "foo"`, "", 2},
		{"${all(1..9, true)}", "ranges are not available in ${ }", "", 7},
		{"${repeat('x', 1000)}", `unknown function "repeat"`, "", 2},
		{"${let a = 1; a}", "", "", 6},
		{"${1..5}", "ranges are not available in ${ }", "", 3},
		{"${[1]}", "gives a list or a map, not a text or a number", "", 2},
		{"${1/0}", "gives +Inf, not a number", "", 2},
		{"${nil}", "gives nothing", "", 2},
		{"${$env}", "$env is not available in ${ }", "", 2},
	} {
		_, err := Template(c.in, templateEnv())
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("Template(%q): error %v, want *Error", c.in, err)
			continue
		}
		if c.msg != "" && e.Msg != c.msg || c.hint != "" && e.Hint != c.hint || e.Offset != c.offset {
			t.Errorf("Template(%q) = %q hint %q at %d, want %q hint %q at %d", c.in, e.Msg, e.Hint, e.Offset, c.msg, c.hint, c.offset)
		}
	}
}

// Expressions that would take minutes or gigabytes are refused.
func TestTemplateBombs(t *testing.T) {
	replace := "'aaaaaaaaaa'"
	for range 8 {
		replace = "replace(" + replace + ", 'a', 'aaaaaaaaaaaaaaaaaaaa')"
	}
	for name, in := range map[string]string{
		"nested replace": "${" + replace + "}",
		"long":           "${" + strings.Repeat("1+", 3000) + "1}",
		"many nodes":     "${" + strings.Repeat("1+", 1000) + "1}",
		"many places":    strings.Repeat("${pg}", 300),
		"long text":      strings.Repeat("x", 70<<10) + "${pg}",
		"deep":           "${" + strings.Repeat("(", 2000) + "1" + strings.Repeat(")", 2000) + "}",
		"loop":           "${len(filter(1..100000, any(1..100000, true)))}",
		"doubling":       "${let a = pg + pg; let b = a + a; b}",
	} {
		if out, err := Template(in, templateEnv()); err == nil && name != "deep" {
			t.Errorf("%s: gave %d bytes, want an error", name, len(out))
		}
	}
	env := map[string]any{"big": strings.Repeat("x", 60<<10)}
	if _, err := Template("${big}${big}", env); err == nil {
		t.Error("a result of 120 kB was not refused")
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"${pg}", "$${", "${rows*2}", "${'}'}", "${a?.b}", "${host['cpus']}", "${x ? 1 : 2}", "${1 in [1]}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, err := Template(in, templateEnv())
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Offset < 0 || e.Offset > len(in)) {
			t.Fatalf("%q: error %v is not a placed *Error", in, err)
		}
		if err == nil && len(out) > maxTemplate {
			t.Fatalf("%q: %d bytes", in, len(out))
		}
	})
}

func BenchmarkTemplate(b *testing.B) {
	env := templateEnv()
	for _, in := range []string{"${pg}", "https://example.org/v${pg}/postgresql-${pg}.tar.bz2", "${rows * 2}"} {
		b.Run(fmt.Sprint(len(in)), func(b *testing.B) {
			for b.Loop() {
				if _, err := Template(in, env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
