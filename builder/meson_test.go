package builder

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMesonOptions(t *testing.T) {
	off := "-Dauto_features=disabled "
	on := "-Dreadline=enabled -Dzlib=enabled -Dicu=enabled"
	tests := []struct{ configure, want, err string }{
		{"", off + on, ""},
		{"--enable-debug --with-lz4", off + on + " -Ddebug=true -Dlz4=enabled", ""},
		{"--without-icu --with-openssl", off + "-Dreadline=enabled -Dzlib=enabled -Dicu=disabled -Dssl=openssl", ""},
		{"--with-ssl=openssl --without-ssl", off + on + " -Dssl=none", ""},
		{"--with-blocksize=16 --with-segsize-blocks=6", off + on + " -Dblocksize=16 -Dsegsize_blocks=6", ""},
		{"--with-perl --disable-cassert", off + on + " -Dplperl=enabled -Dcassert=false", ""},
		{"--with-uuid=e2fs", off + on + " -Duuid=e2fs", ""},
		{"-Dicu=disabled", off + "-Dicu=disabled " + on, ""},
		{"--with-nonsense", "", `option "--with-nonsense" has no translation`},
		{"--with-lz4=yes", "", `option "--with-lz4=yes" has no translation`},
		{"--with-blocksize", "", `option "--with-blocksize" has no translation`},
		{"--prefix=/x", "", `option "--prefix=/x" has no translation`},
	}
	for _, test := range tests {
		got, err := mesonOptions(strings.Fields(test.configure))
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%q: error %v, want %q", test.configure, err, test.err)
			}
			continue
		}
		if text := strings.Join(got, " "); err != nil || text != test.want {
			t.Errorf("%q:\n got %s, %v\nwant %s", test.configure, text, err, test.want)
		}
	}
}

// fakeMeson stands for meson and ninja: it notes how it is called and installs the tree in $TREE.
const fakeMeson = `#!/bin/sh
for arg; do printf '[%s] ' "$arg"; done >> "$TMPDIR/called"
printf 'CC=%s AR=%s\n' "$(command -v gcc)" "$AR" >> "$TMPDIR/called"
case $1 in
setup) echo "The Meson build system" ;;
install) mkdir -p "$5/pipeline" && cp -r "$TREE"/* "$5/pipeline" ;;
*) echo "[1/2] gcc -c a.c"; [ ! -e "$TREE/fail" ] || { echo "FAILED: b.o"; echo "gcc -c b.c"; echo "b.c:1: error: no"; echo "ninja: build stopped"; exit 1; } ;;
esac
`

func mesonSpec(t *testing.T) (Spec, *logBuffer) {
	tree := builtTree(t)
	s, log := fakeSpec(t)
	s.Recipe = Meson
	writeFile(t, filepath.Join(s.Source, "configure"), "PACKAGE_VERSION='16.1'\n", 0o644)
	writeFile(t, filepath.Join(s.Source, "meson.build"), "project('postgresql',\n  version: '16.1',\n)\n", 0o644)
	tools := filepath.Join(place(t), "bin")
	writeFile(t, filepath.Join(tools, "meson"), fakeMeson, 0o755)
	writeFile(t, filepath.Join(tools, "ninja"), fakeMeson, 0o755)
	s.Configure = []string{"--enable-debug", "--without-icu", "--without-readline", "--without-zlib"}
	s.Env = map[string]string{"PATH": tools + ":/usr/bin:/bin", "TREE": tree}
	return s, log
}

func TestMesonBuild(t *testing.T) {
	s, log := mesonSpec(t)
	s.CFLAGS, s.LDFLAGS = "-O3 -flto", "-flto"
	var progress []float64
	s.Progress = func(what string, done, total float64) {
		if what == "compile" {
			progress = append(progress, done, total)
		}
	}
	_, err := Build(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "the source says 16.1 and the server built from it says 15.99") {
		t.Errorf("a server of another version was taken: %v\n%s", err, log)
	}
	called, err := os.ReadFile(filepath.Join(s.Scratch, "tmp/called"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"[setup] [--prefix=/pipeline] [--libdir=lib] [-Drpath=false]",
		"[-Dc_link_args=['-flto', '-Wl,-rpath,$ORIGIN/../lib:$ORIGIN/..', '-Wl,--enable-new-dtags']] [-Dc_args=['-O3', '-flto']]",
		"[-Ddebug=true]", "CC=" + s.Scratch + "/tools/gcc AR=gcc-ar", "[-j2] [--verbose] ", "[install] [--no-rebuild]",
	} {
		if !strings.Contains(string(called), part) {
			t.Errorf("no %s in\n%s", part, called)
		}
	}
	if !slices.Equal(progress, []float64{1, 2}) {
		t.Errorf("progress %v", progress)
	}
}

func TestMesonFailure(t *testing.T) {
	s, _ := mesonSpec(t)
	writeFile(t, filepath.Join(s.Env["TREE"], "fail"), "", 0o644)
	_, err := Build(t.Context(), s)
	want := "ninja: exit status 1\n $ ninja -j2 --verbose\n | FAILED: b.o\n | gcc -c b.c\n | b.c:1: error: no"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
