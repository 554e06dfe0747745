package spec_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgpipeline/pipeline/internal/spec"
)

// errorCase is an input that is wrong in one way. The text of x.yaml is `version: 1`, a stage, and what the case adds; a text
// that begins with "!" is the whole file.
type errorCase struct {
	name string
	text string
	libs map[string]string
	set  []string
}

func (c errorCase) file() string {
	if whole, ok := strings.CutPrefix(c.text, "!"); ok {
		return whole
	}
	return "version: 1\nstages:\n  - fetch: {source: a}\n" + c.text
}

func lib(text string) map[string]string { return map[string]string{"lib.yaml": text} }

var errorCases = []errorCase{
	// YAML
	{name: "empty", text: "!# nothing\n"},
	{name: "two documents", text: "---\nversion: 1\n"},
	{name: "not a mapping", text: "!- a\n- b\n"},
	{name: "tab indentation", text: "vars:\n\trows: 1\n"},
	{name: "bad indentation", text: "vars:\n  a: 1\n b: 2\n"},
	{name: "colon in a text", text: "doc: see: there\n"},
	{name: "special first character", text: "vars:\n  a: @home\n"},
	{name: "unclosed bracket", text: "include: [a\n"},
	{name: "unclosed quote", text: "doc: \"a\n"},
	{name: "missing space after colon", text: "vars:\n  a:1\n  b: 2\n"},
	{name: "not UTF-8", text: "doc: caf\xe9\n"},
	{name: "control character", text: "doc: a\x00b\n"},
	{name: "bidirectional text", text: "doc: \"a\u202eb\"\n"},
	{name: "unknown alias", text: "doc: *d\n"},
	{name: "alias to itself", text: "vars: &v {a: *v}\n"},
	{name: "tag", text: "vars: {a: !!int 3}\n"},
	{name: "list as key", text: "vars: {[a]: 1}\n"},
	{name: "duplicate key", text: "doc: a\nname: b\ndoc: c\n"},
	{name: "merge of a text", text: "vars: {<<: x}\n"},
	{name: "long line", text: "doc: " + strings.Repeat("a", 300) + "\nvars: {" + strings.Repeat(" ", 200) + "a: [1]," + strings.Repeat(" ", 200) + "b: 1}\n"},
	// Top level
	{name: "unknown top-level key", text: "matrx: {}\n"},
	{name: "no version", text: "!stages:\n  - fetch: {source: a}\n"},
	{name: "unknown version", text: "!version: 2\nstages:\n  - fetch: {source: a}\n"},
	{name: "version in words", text: "!version: one\nstages:\n  - fetch: {source: a}\n"},
	{name: "bad name", text: "name: My Test\n"},
	{name: "gate", text: "gate: {on_inconclusive: fial}\n"},
	{name: "doc is a list", text: "doc: [a]\n"},
	// Variables
	{name: "variable that cannot be named", text: "vars: {max-rows: 1}\n"},
	{name: "variable with a reserved name", text: "vars: {host: 1, in: 2}\n"},
	{name: "variable without value", text: "vars:\n  rows:\n"},
	{name: "variable with a list", text: "vars: {rows: [1, 2]}\n"},
	{name: "set without =", set: []string{"rows"}},
	{name: "set of an unknown variable", text: "vars: {rows: 1, pg: 17}\n", set: []string{"row=2"}},
	{name: "set without variables", set: []string{"row=2"}},
	// Includes
	{name: "include of nothing", text: "include: lib/none.yaml\n"},
	{name: "include of an address", text: "include: https://example.org/lib.yaml\n"},
	{name: "include of an absolute path", text: "include: [/etc/passwd]\n"},
	{name: "include with a template", text: "include: [\"${lib}.yaml\"]\n"},
	{name: "include in a circle", text: "include: lib.yaml\n", libs: lib("include: more/a.yaml\n")},
	{name: "include of itself", text: "include: x.yaml\n"},
	{name: "stages in an include", text: "include: lib.yaml\n", libs: lib("stages: []\nassert: [a]\n")},
	{name: "unknown key in an include", text: "include: lib.yaml\n", libs: lib("build: {}\n")},
	{name: "name defined twice", text: "include: lib.yaml\nbuilds:\n  o2: {}\nvars: {a: 1}\ngroups: {g: [x]}\n",
		libs: lib("builds: {o2: {}}\nvars: {a: 2}\ngroups: {g: [y]}\n")},
	{name: "built-in name defined again", text: "builds: {def: {}}\n"},
	{name: "fragment is a text", text: "configs: {base: fast}\n"},
	// Fragments
	{name: "extends unknown", text: "configs:\n  base: {}\n  a1: {extends: bsae}\n"},
	{name: "extends in a circle", text: "configs:\n  a: {extends: b}\n  b: {extends: [c]}\n  c: {extends: a}\n"},
	{name: "extends a mapping", text: "configs:\n  a: {extends: {b: c}}\n"},
	{name: "use of an unknown fragment", text: "!version: 1\nbuilds: {o2: {}}\nstages:\n  - build: {use: o3}\n"},
	{name: "use without include", text: "!version: 1\nstages:\n  - config: {use: a1}\n"},
	// Matrix
	{name: "axis without list", text: "matrix: {pg: 17}\n"},
	{name: "axis with an empty list", text: "matrix: {pg: []}\n"},
	{name: "axis value twice", text: "matrix: {pg: [\"17\", 17]}\n"},
	{name: "axis value is a list", text: "matrix: {pg: [[17]]}\n"},
	{name: "axis value with a template", text: "vars: {new: 18}\nmatrix: {pg: [17, \"${new}\"]}\n"},
	{name: "axis named like a variable", text: "vars: {pg: 17}\nmatrix: {pg: [17, 18]}\n"},
	{name: "too many cells", text: "matrix: {" + wideMatrix() + "}\n"},
	{name: "exclude of an unknown axis", text: "matrix: {pg: [17, 18], exclude: [{gp: 17}]}\n"},
	{name: "exclude of an unknown value", text: "matrix: {pg: [17.0, 18.0], exclude: [{pg: 17}]}\n"},
	{name: "exclude is a text", text: "matrix: {pg: [17, 18], exclude: 17}\n"},
	{name: "include lacks an axis", text: "matrix: {pg: [17, 18], c: [1], include: [{pg: 19}]}\n"},
	{name: "baseline of an unknown axis", text: "matrix: {config: [a, b]}\nbaseline: {confg: a}\n"},
	{name: "baseline of an unknown value", text: "matrix: {config: [a16, a18]}\nbaseline: {config: a61}\n"},
	{name: "baseline without matrix", text: "baseline: {config: a}\n"},
	// Stages
	{name: "no stages", text: "!version: 1\n"},
	{name: "empty stages", text: "!version: 1\nstages: []\n"},
	{name: "stages as a mapping", text: "!version: 1\nstages:\n  fetch: {}\n"},
	{name: "unknown stage", text: "  - biuld: {}\n"},
	{name: "unknown stage, none near", text: "  - deploy: {}\n"},
	{name: "stage without kind", text: "  - id: x\n"},
	{name: "stage as a text", text: "  - compare\n"},
	{name: "two kinds in one item", text: "  - build: {}\n    config: {}\n"},
	{name: "parameter beside the kind", text: "  - build:\n    jobs: 8\n"},
	{name: "mistyped sibling", text: "  - build: {}\n    need: fetch\n"},
	{name: "parameters as a list", text: "  - run: [a]\n"},
	{name: "second stage without id", text: "  - fetch: {source: b}\n"},
	{name: "id taken", text: "  - run: {}\n    id: fetch\n"},
	{name: "bad id", text: "  - run: {}\n    id: a/b\n"},
	{name: "needs unknown", text: "  - build: {}\n    needs: [fetsh]\n"},
	{name: "needs a later stage", text: "!version: 1\nstages:\n  - build: {}\n    needs: fetch\n  - fetch: {source: a}\n"},
	{name: "pin of an unknown value", text: "  - build: {}\n    pin: {pg: 16}\nmatrix: {pg: [17, 18]}\n"},
	// Parameters
	{name: "unknown parameter", text: "  - build:\n      jbos: 8\n"},
	{name: "unknown parameter, none near", text: "  - compare: {threshold: 3}\n"},
	{name: "missing parameter", text: "!version: 1\nstages:\n  - fetch: {sha256: a}\n"},
	{name: "number in words", text: "  - build: {jobs: many}\n"},
	{name: "number with _", text: "  - build: {jobs: 1_000}\n"},
	{name: "number with suffix", text: "  - build: {jobs: 2k}\n"},
	{name: "number out of range", text: "  - run: {ports: [80000]}\n"},
	{name: "negative number", text: "  - run: {seed: -1}\n"},
	{name: "not a number", text: "  - run: {factor: .nan}\n"},
	{name: "yes for true", text: "  - build: {assert: yes}\n"},
	{name: "not one of", text: "  - build: {recipe: mesno}\n"},
	{name: "list for a text", text: "  - build: {cflags: [-O2]}\n"},
	{name: "text for a list", text: "  - config: {initdb: -k}\n"},
	{name: "text for a mapping", text: "  - config: {settings: fast}\n"},
	{name: "list for a short form", text: "  - config: {settings: {a: [1]}}\n"},
	{name: "empty value", text: "  - build:\n      cflags:\n"},
	{name: "null for a text", text: "  - build: {cflags: null}\n"},
	{name: "size", text: "!version: 1\nstages:\n  - fetch: {source: a, limit: 70GX}\n"},
	{name: "size is a list", text: "!version: 1\nstages:\n  - fetch: {source: a, limit: []}\n"},
	{name: "count", text: "  - run: {clients: 1.5}\n"},
	{name: "count with _", text: "  - run: {clients: 20_000}\n"},
	{name: "duration without unit", text: "  - run: {duration: 30}\n"},
	{name: "rate", text: "  - run: {rate: 2000}\n"},
	{name: "version", text: "!version: 1\nstages:\n  - fetch: {source: a, since: latest}\n"},
	{name: "several at once", text: "  - build:\n      jbos: 8\n      jobs: x\n      assert: on\n  - run: {budget: {block: 2}}\n"},
	{name: "more than ten", text: "!version: 1\nstages:\n  - build: {a1: 1, a2: 1, a3: 1, a4: 1, a5: 1, a6: 1, a7: 1, a8: 1, a9: 1, a10: 1, a11: 1, a12: 1}\n"},
	// Templates
	{name: "unknown name", text: "  - build: {jobs: \"${jbos}\"}\n"},
	{name: "unclosed template", text: "  - build: {cflags: '-O2 ${flags'}\n"},
	{name: "bad expression", text: "  - build:\n      cflags: >\n        first line\n        and ${jobs +} there\n"},
	{name: "template in a key", text: "  - build: {env: {\"${name}\": x}}\n"},
	{name: "text in arithmetic", text: "  - build: {jobs: \"${name * 2}\"}\n"},
	{name: "wrong type after a template", text: "  - build: {jobs: \"${name}\"}\n"},
	// Assertions
	{name: "empty assertion", text: "assert:\n  -\n"},
	{name: "assertion is a list", text: "assert: [[a]]\n"},
	{name: "assertion without expr", text: "assert: [{severity: warn}]\n"},
	{name: "severity", text: "assert: [{expr: a, severity: wran}]\n"},
	{name: "where with an unknown axis", text: "matrix: {pg: [17, 18]}\nassert:\n  - expr: a\n    where: {pq: 17}\n"},
	{name: "group without list", text: "groups: {g: {a: b}}\n"},
}

func wideMatrix() string {
	var axes []string
	for _, axis := range []string{"a", "b", "c", "d", "e"} {
		axes = append(axes, axis+": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]")
	}
	return strings.Join(axes, ", ")
}

// The texts of errors are part of what the tool promises: they are kept in a file that a review sees.
func TestErrorTexts(t *testing.T) {
	env := map[string]any{"jobs": "8", "name": "x"}
	var got strings.Builder
	for _, c := range errorCases {
		disk := map[string]string{"x.yaml": c.file(), "more/a.yaml": "include: ../lib.yaml\n"}
		for name, text := range c.libs {
			disk[name] = text
		}
		e, err := spec.Load("x.yaml", spec.Options{Kinds: kindInfos(), Set: c.set, ReadFile: files(disk)})
		if err == nil {
			err = decodeAll(e, env)
		}
		if err == nil {
			t.Errorf("%s: no error", c.name)
		}
		if _, ok := errors.AsType[spec.Errors](err); !ok {
			t.Errorf("%s: error is %T, want spec.Errors", c.name, err)
		}
		fmt.Fprintf(&got, "== %s\n%v\n\n", c.name, err)
	}
	golden(t, "testdata/errors.golden", got.String())
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("%s differs from line %d on; run the test with -update and look at the difference.\ngot:  %q\nwant: %q", path, i+1,
				at(gotLines, i), at(wantLines, i))
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end of file)"
}
