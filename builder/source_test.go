package builder

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestSourceVersion(t *testing.T) {
	tests := []struct{ file, text, want, err string }{
		{"configure", "#! /bin/sh\n# comment\nPACKAGE_NAME='PostgreSQL'\nPACKAGE_VERSION='18.6'\n", "18.6", ""},
		{"configure", "PACKAGE_VERSION='19devel'\n", "19devel", ""},
		{"configure", "PACKAGE_VERSION='$(rm -rf /)'\n", "", `names "$(rm -rf /)", which is no version`},
		{"meson.build", "project('postgresql',\n  ['c'],\n  version: '17beta2',\n", "17beta2", ""},
		{"configure.ac", "AC_INIT([PostgreSQL], [16.4], [bugs])\n", "16.4", ""},
		{"configure.in", "AC_INIT([PostgreSQL], [13.16], [bugs])\n", "13.16", ""},
		{"README", "PostgreSQL\n", "", "is no source tree of PostgreSQL"},
		{"bin/postgres", "", "", `holds binaries, not sources; use recipe "prebuilt"`},
	}
	for _, test := range tests {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, test.file), test.text, 0o644)
		got, err := SourceVersion(dir)
		if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s %q: got %q, %v; want %q, %s", test.file, test.text, got, err, test.want, test.err)
		}
	}
}

func TestVersionNum(t *testing.T) {
	for version, want := range map[string]int{"18.6": 180006, "19devel": 190000, "18beta1": 180000, "17rc1": 170000, "11.21": 110021, "9.6.24": 90624,
		"10": 100000, "": 0, "PostgreSQL": 0, "18.x": 0} {
		if got := VersionNum(version); got != want {
			t.Errorf("%q is %d, want %d", version, got, want)
		}
	}
	if Major("9.6.24") != 9 || Major("18beta1") != 18 {
		t.Error("major versions are wrong")
	}
}
