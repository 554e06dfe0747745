package builder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bareMachine is an environment in which builds find nothing but the named tools.
func bareMachine(t *testing.T, tools ...string) map[string]string {
	t.Helper()
	dir := place(t)
	for _, name := range tools {
		writeFile(t, filepath.Join(dir, name), "#!/bin/sh\n", 0o755)
	}
	return map[string]string{"PATH": dir, "PKG_CONFIG_LIBDIR": dir}
}

func TestRequirements(t *testing.T) {
	withGrammar := place(t)
	writeFile(t, filepath.Join(withGrammar, "src/backend/parser/gram.c"), "", 0o644)
	grammarPatch := "--- a/src/backend/parser/gram.y\n+++ b/src/backend/parser/gram.y\t2024-01-01\n"
	bare := bareMachine(t)
	none := []string{"--without-readline", "--without-zlib", "--without-icu"}
	tests := []struct {
		name string
		q    Query
		want string // packages
	}{
		{"release tarball before 17", Query{Recipe: Autotools, Version: "15.18", Source: withGrammar, Configure: none}, "gcc make mawk"},
		{"17 and later, and git", Query{Recipe: Autotools, Version: "18.6", Source: place(t), Configure: none}, "gcc bison flex perl make mawk pkg-config"},
		{"patched grammar", Query{Recipe: Autotools, Version: "15.18", Source: withGrammar, Configure: none, Patches: []string{grammarPatch}},
			"gcc bison flex patch make mawk"},
		{"other patch", Query{Recipe: Autotools, Version: "15.18", Source: withGrammar, Configure: none, Patches: []string{harmlessPatch}},
			"gcc patch make mawk"},
		{"libraries that are asked for", Query{Recipe: Autotools, Version: "18.6", Source: withGrammar,
			Configure: append(none, "--with-lz4", "--with-zstd", "--with-liburing", "--with-llvm")},
			"gcc make mawk pkg-config liblz4-dev libzstd-dev liburing-dev llvm-dev clang"},
		{"the last option counts", Query{Recipe: Autotools, Version: "15.18", Source: withGrammar,
			Configure: append(none, "--with-lz4", "--without-lz4", "--with-zstd=no")}, "gcc make mawk"},
		{"icu unasked since 16", Query{Recipe: Autotools, Version: "16.4", Source: withGrammar, Configure: none[:2]}, "gcc make mawk pkg-config libicu-dev"},
		{"no icu before", Query{Recipe: Autotools, Version: "15.18", Source: withGrammar, Configure: none[:2]}, "gcc make mawk"},
		{"unknown version", Query{Recipe: Autotools, Configure: none[:2]}, "gcc bison flex perl make mawk pkg-config libicu-dev"},
		{"meson", Query{Recipe: Meson, Version: "18.6", Source: withGrammar, Configure: append(none, "-Dlz4=enabled")},
			"gcc bison flex perl meson ninja-build pkg-config liblz4-dev"},
		{"prebuilt", Query{Recipe: Prebuilt}, ""},
	}
	for _, test := range tests {
		test.q.Env = bare
		missing := Requirements(test.q)
		var packages []string
		for _, m := range missing {
			if m.Package != "libc6-dev" { // headers are looked for in the system's own folders
				packages = append(packages, m.Package)
			}
		}
		if got := strings.Join(packages, " "); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

func TestRequirementsFindTools(t *testing.T) {
	env := bareMachine(t, "clang-17", "make", "awk")
	writeFile(t, filepath.Join(env["PKG_CONFIG_LIBDIR"], "liblz4.pc"), "Version: 1.9\n", 0o644)
	env["CC"] = "clang-17 -m64"
	missing := Requirements(Query{Recipe: Autotools, Version: "15.18", Configure: []string{"--without-readline", "--without-zlib", "--with-lz4"}, Env: env})
	var names []string
	for _, m := range missing {
		names = append(names, m.Name)
	}
	if got := strings.Join(names, " "); got != "bison flex perl pkg-config" {
		t.Errorf("missing %q", got)
	}
	if !HasLibrary("lz4", env) || HasLibrary("liburing", env) || !HasLibrary("debug", env) {
		t.Error("libraries are not told apart")
	}
}

func TestBuildNamesWhatIsMissing(t *testing.T) {
	s, log := fakeSpec(t)
	s.Env = bareMachine(t, "make", "awk")
	s.Configure = append(s.Configure, "--with-lz4")
	_, err := Build(t.Context(), s)
	sudo := "sudo "
	if os.Geteuid() == 0 {
		sudo = ""
	}
	want := "missing on this machine: gcc (compiling), pkg-config (finding libraries), lz4 (--with-lz4)\n" +
		"install it with: " + sudo + "apt-get install -y gcc pkg-config liblz4-dev"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if log.String() != "" {
		t.Errorf("something ran:\n%s", log)
	}
}
