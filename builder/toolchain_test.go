package builder

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// newVersions makes the test's own cache the current one.
func newVersions(t *testing.T, home string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", home)
	forget := func() {
		versionsMu.Lock()
		versions = nil
		versionsMu.Unlock()
	}
	forget()
	t.Cleanup(forget)
}

// countingTool is a tool that says a version and counts how often it is asked.
func countingTool(t *testing.T, path, version string) (asked func() int) {
	t.Helper()
	count := path + ".count"
	writeFile(t, path, "#!/bin/sh\necho x >> "+count+"\necho '"+version+"'\necho more\n", 0o755)
	if err := os.WriteFile(count, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(count, 0o666); err != nil {
		t.Fatal(err)
	}
	return func() int {
		text, err := os.ReadFile(count)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "x")
	}
}

func TestToolchainAsksOnce(t *testing.T) {
	home, dir := t.TempDir(), place(t)
	newVersions(t, home)
	asked := countingTool(t, filepath.Join(dir, "gcc-99"), "gcc 99.1")
	tools := Tools{Recipe: Autotools, Env: map[string]string{"CC": "gcc-99", "PATH": dir + ":/usr/bin:/bin", "PKG_CONFIG_LIBDIR": dir}}
	describe := func() []string {
		t.Helper()
		lines, err := Toolchain(t.Context(), tools)
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	if lines := describe(); lines[0] != "compiler: gcc 99.1" || !slices.Contains(lines, "library icu: absent") {
		t.Errorf("toolchain %q", lines)
	}
	describe()
	newVersions(t, home) // as the next process
	describe()
	if n := asked(); n != 1 {
		t.Errorf("an unchanged compiler was asked %d times", n)
	}
	asked = countingTool(t, filepath.Join(dir, "gcc-99"), "gcc 99.20")
	if lines := describe(); lines[0] != "compiler: gcc 99.20" || asked() != 1 {
		t.Errorf("a new compiler was asked %d times: %q", asked(), lines)
	}
	if err := os.Chtimes(filepath.Join(dir, "gcc-99"), time.Time{}, time.Unix(1000, 0)); err != nil {
		t.Fatal(err)
	}
	if describe(); asked() != 2 {
		t.Error("a compiler of the same size and another time was not asked")
	}
	writeFile(t, filepath.Join(home, "pipeline/toolchain.json"), "{damaged", 0o644)
	newVersions(t, home)
	if lines := describe(); lines[0] != "compiler: gcc 99.20" {
		t.Errorf("with a damaged cache: %q", lines)
	}
}

func TestToolchainSaysWhatIsAbsentOrMatters(t *testing.T) {
	newVersions(t, t.TempDir())
	dir := place(t)
	writeFile(t, filepath.Join(dir, "liblz4.pc"), "Name: lz4\nVersion: 1.2.3\n", 0o644)
	tools := Tools{Recipe: Autotools, Configure: []string{"--with-lz4", "--without-icu"}, Env: map[string]string{"PATH": dir, "PKG_CONFIG_LIBDIR": dir}}
	lines, err := Toolchain(t.Context(), tools)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(lines, "\n")
	if !strings.Contains(text, "compiler: absent\n") || !strings.Contains(text, "library lz4: 1.2.3") || strings.Contains(text, "icu") ||
		strings.Contains(text, "cpu") {
		t.Errorf("toolchain:\n%s", text)
	}
	tools.Flags = []string{"-O3 -march=native"}
	if lines, err = Toolchain(t.Context(), tools); err != nil || !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "cpu: ") }) {
		t.Errorf("-march=native without the CPU: %q, %v", lines, err)
	}
	tools.Recipe = Prebuilt
	if lines, err = Toolchain(t.Context(), tools); err != nil || len(lines) > 0 {
		t.Errorf("binaries depend on a toolchain: %q, %v", lines, err)
	}
}

func TestToolchainReportsBrokenCompiler(t *testing.T) {
	newVersions(t, t.TempDir())
	dir := place(t)
	writeFile(t, filepath.Join(dir, "gcc"), "#!/bin/sh\necho broken >&2\nexit 3\n", 0o755)
	_, err := Toolchain(t.Context(), Tools{Recipe: Autotools, Env: map[string]string{"PATH": dir}})
	if err == nil || !strings.Contains(err.Error(), "ask gcc for its version") || !strings.Contains(err.Error(), "broken") {
		t.Errorf("error %v", err)
	}
}

func TestNeedsCPU(t *testing.T) {
	for flags, want := range map[string]bool{"-O3 -march=native": true, "-mtune=native": true, "-mcpu=native": true, "-O3 -march=x86-64-v3": false, "": false,
		"-DX=-march=native": false} {
		if NeedsCPU("", flags) != want {
			t.Errorf("%q: want %v", flags, want)
		}
	}
}

// The promise is less than 5 ms for tools that have not changed.
func BenchmarkToolchainWarm(b *testing.B) {
	tools := Tools{Recipe: Autotools, Configure: []string{"--enable-debug", "--with-lz4"}, Flags: []string{"-O3 -march=native"}}
	for b.Loop() {
		versionsMu.Lock()
		versions = nil // read from the file, as a new process does
		versionsMu.Unlock()
		if _, err := Toolchain(b.Context(), tools); err != nil {
			b.Fatal(err)
		}
	}
}
