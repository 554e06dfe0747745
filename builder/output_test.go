package builder

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCause(t *testing.T) {
	filler := strings.Repeat("gcc -c other.c\n", 40)
	tests := []struct{ name, output, want string }{
		{"end when nothing is marked", filler + "configure: error: no\nlook there",
			strings.Repeat("gcc -c other.c\n", 10) + "configure: error: no\nlook there"},
		{"first failure of parallel make, others go on", filler + "make[2]: Entering directory '/b/x'\ngcc -c x.c\nx.c:1: error: no\n" +
			"make[2]: *** [Makefile:9: x.o] Error 1\nmake[2]: Leaving directory '/b/x'\n" + filler + "make: *** [GNUmakefile:11: all] Error 2\n",
			"gcc -c x.c\nx.c:1: error: no\nmake[2]: *** [Makefile:9: x.o] Error 1"},
		{"killed compiler", "make[2]: Entering directory '/b'\ngcc -c y.c\nmake[2]: *** [Makefile:9: y.o] Killed\n",
			"gcc -c y.c\nmake[2]: *** [Makefile:9: y.o] Killed"},
		{"missing rule", "make: *** No rule to make target 'nonsense'.  Stop.", "make: *** No rule to make target 'nonsense'.  Stop."},
		{"ninja", "[1/3] cc a\nFAILED: b.o\ncc b\nb.c:1: error\n[2/3] cc c\nninja: build stopped", "FAILED: b.o\ncc b\nb.c:1: error"},
		{"long piece", "make[1]: Entering directory '/b'\ngcc -c z.c\n" + numbered(40) + "make[1]: *** [Makefile:9: z.o] Error 1",
			"gcc -c z.c\nline 1\nline 2\n... (19 lines, see the log)\n" + numbered(40)[len(numbered(21)):] + "make[1]: *** [Makefile:9: z.o] Error 1"},
	}
	for _, test := range tests {
		got := strings.Join(cause(strings.Split(strings.TrimSuffix(test.output, "\n"), "\n")), "\n")
		if got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestCommandErrorFitsScreen(t *testing.T) {
	err := &CommandError{Command: "make " + strings.Repeat("x", 5000) + " all", Lines: []string{strings.Repeat("y", 5000) + " z.c"}, Err: errors.New("make: exit status 2")}
	for line := range strings.Lines(err.Error()) {
		if len(line) > 420 {
			t.Errorf("a line of %d characters", len(line))
		}
	}
	if !strings.HasSuffix(err.Error(), "z.c") {
		t.Error("the end of the line, with the file's name, is lost")
	}
}

func TestQuote(t *testing.T) {
	for arg, want := range map[string]string{"--with-lz4": "--with-lz4", "": "''", "CFLAGS=-O2 -g": "'CFLAGS=-O2 -g'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := quote(arg); got != want {
			t.Errorf("%q is quoted as %s, want %s", arg, got, want)
		}
	}
}
