package builder

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestArchiver(t *testing.T) {
	tools := []string{"gcc-ar", "gcc-ranlib", "gcc-ar-13", "gcc-ranlib-13", "llvm-ar-17", "llvm-ranlib-17"}
	tests := []struct{ cc, cflags, ar, want string }{
		{"", "-O3 -flto", "", "AR=gcc-ar RANLIB=gcc-ranlib"},
		{"", "-O3", "", ""},
		{"", "-O3 -fno-lto", "", ""},
		{"gcc-13 -m64", "-flto=auto", "", "AR=gcc-ar-13 RANLIB=gcc-ranlib-13"},
		{"/usr/bin/gcc-13", "-flto", "", "AR=gcc-ar-13 RANLIB=gcc-ranlib-13"},
		{"clang-17", "-flto", "", "AR=llvm-ar-17 RANLIB=llvm-ranlib-17"},
		{"clang-18", "-flto", "", ""}, // not installed
		{"icx", "-flto", "", ""},
		{"", "-flto", "my-ar", "RANLIB=gcc-ranlib"},
	}
	for _, test := range tests {
		env := bareMachine(t, tools...)
		env["CC"], env["AR"] = test.cc, test.ar
		j := &job{Spec: Spec{Env: env, CFLAGS: test.cflags}}
		if got := strings.Join(j.archiver(), " "); got != test.want {
			t.Errorf("%+v: got %q", test, got)
		}
	}
}

// The front adds what the build place needs, and nothing else; the compiler is one that prints its arguments.
func TestCompilerFront(t *testing.T) {
	s, log := fakeSpec(t)
	dir := place(t)
	writeFile(t, filepath.Join(dir, "mycc"), "#!/bin/sh\nprintf '[%s]' \"$@\"\necho\n", 0o755)
	s.Env = map[string]string{"CC": "mycc", "PATH": dir + ":/usr/bin:/bin"}
	j, err := newJob(s, "15.99")
	if err != nil {
		t.Fatal(err)
	}
	if err := j.frontCompilers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := j.run(t.Context(), command{dir: j.work, name: "mycc", args: []string{"-O2", "a b.c", "$x"}}); err != nil {
		t.Fatal(err)
	}
	if err := j.run(t.Context(), command{dir: j.work, name: "mycc", args: []string{"-flto", "-o", "x"}}); err != nil {
		t.Fatal(err)
	}
	maps := "[-ffile-prefix-map=" + s.Source + "=/pipeline/source][-ffile-prefix-map=" + j.work + "=/pipeline/build]"
	for _, want := range []string{maps + "[-O2][a b.c][$x]\n", maps + "[-flto][-o][x][-flto=2]\n"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in\n%s", want, log)
		}
	}
}
