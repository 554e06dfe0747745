package stages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgpipeline/builder"
	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/proc"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
	"pgpipeline/stages/source"
)

// openDir is a directory that the building account can get to.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// buildRun is an environment for one build, and what the stage said in it.
type buildRun struct {
	env      *engine.Env
	log      bytes.Buffer
	warnings []string
	facts    map[string]string
}

func newBuildRun(t *testing.T, fetched string) *buildRun {
	t.Helper()
	dir := openDir(t)
	r := &buildRun{facts: map[string]string{}}
	r.env = &engine.Env{
		Dir: filepath.Join(dir, "entry"), Scratch: filepath.Join(dir, "scratch"), Host: engine.ThisHost(), Log: &r.log,
		Inputs:   map[string]engine.Input{"fetch": {Kind: "fetch", Dir: fetched}},
		Progress: func(engine.Progress) {},
		Warn:     func(format string, args ...any) { r.warnings = append(r.warnings, fmt.Sprintf(format, args...)) },
		Fact:     func(name, value string) { r.facts[name] = value },
	}
	for _, d := range []string{r.env.Dir, r.env.Scratch} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// standIn is a copy of builder's stand-in for a source tree that others can read.
func standIn(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(openDir(t), "source")
	if err := os.CopyFS(dir, os.DirFS("../builder/testdata/fakepg")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func newBuild() *BuildStage { return Build.New().(*BuildStage) }

func TestBuildStage(t *testing.T) {
	r := newBuildRun(t, standIn(t))
	b := newBuild()
	b.CFLAGS = "-O1"
	b.Configure = map[string]BuildOption{
		"enable-debug": {Value: "true"}, "without-readline": {Value: "true"}, "without-zlib": {Value: "true"},
		"with-nonsense": {Value: "true", Since: "16"}, // not for the version of the stand-in, which would refuse it
	}
	if err := b.Check(r.env.Host); err != nil {
		t.Fatal(err)
	}
	if err := b.Run(t.Context(), r.env); err != nil {
		t.Fatalf("%v\n%s", err, &r.log)
	}
	info, err := ReadBuild(r.env.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Version != "15.99" || info.VersionNum != 150099 || info.CFLAGS != "-O1" || info.Recipe != "autotools" || info.Features["lz4"] {
		t.Errorf("build says %+v", info)
	}
	if !slices.Contains(info.HasContrib, "pgstattuple") || strings.Contains(info.Configure, "nonsense") {
		t.Errorf("build has %v, configured with %s", info.HasContrib, info.Configure)
	}
	if _, err := os.Stat(info.Program("initdb")); err != nil {
		t.Error(err)
	}
	if r.facts["version"] != "15.99" || r.facts["configure"] != "--enable-debug --without-readline --without-zlib" {
		t.Errorf("facts %v", r.facts)
	}
}

func TestReadBuildErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadBuild(dir); err == nil || !strings.Contains(err.Error(), "no build stage made it") {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, buildInfoFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadBuild(dir); err == nil || !strings.Contains(err.Error(), "build.json: unexpected end") {
		t.Errorf("error %v", err)
	}
}

func TestBuildOptions(t *testing.T) {
	b := newBuild()
	b.Env = map[string]BuildVariable{"PKG_CONFIG_LIBDIR": {Value: t.TempDir()}}
	b.Configure = map[string]BuildOption{
		"enable-debug":   {Value: "true"},
		"with-blocksize": {Value: "16"},
		"enable-cassert": {Value: "false"},
		"with-lz4":       {Value: "true", Since: "14"},
		"with-old":       {Value: "true", Until: "13"},
		"Dicu":           {Value: "disabled", Since: "16"},
		"with-liburing":  {Value: "true", Since: "18", Optional: true},
	}
	tests := []struct{ version, want, warning string }{
		{"13.16", "--enable-debug --with-blocksize=16 --with-old", ""},
		{"14.1", "--enable-debug --with-blocksize=16 --with-lz4", ""},
		{"16.0", "-Dicu=disabled --enable-debug --with-blocksize=16 --with-lz4", ""},
		{"18beta1", "-Dicu=disabled --enable-debug --with-blocksize=16 --with-lz4",
			"built without --with-liburing, whose library is not on this machine: "},
	}
	for _, test := range tests {
		warning := ""
		got := b.options(engine.Version(test.version), func(format string, args ...any) { warning += fmt.Sprintf(format, args...) })
		if strings.Join(got, " ") != test.want || !strings.HasPrefix(warning, test.warning) || test.warning == "" && warning != "" {
			t.Errorf("%s: got %v, %q; want %s, %q", test.version, got, warning, test.want, test.warning)
		}
	}
}

func TestBuildSecrets(t *testing.T) {
	t.Setenv("PIPELINE_TEST_TOKEN", "t0ken-51a7e")
	t.Setenv("PIPELINE_TEST_SHORT", "abc")
	tests := map[string]struct{ secret, value, err string }{
		"set":       {"PIPELINE_TEST_TOKEN", "t0ken-51a7e", ""},
		"not set":   {"PIPELINE_TEST_NONE", "", "the secret T: $PIPELINE_TEST_NONE is not set"},
		"too short": {"PIPELINE_TEST_SHORT", "", "$PIPELINE_TEST_SHORT has fewer than 6 characters"},
	}
	for name, test := range tests {
		b := newBuild()
		b.Env = map[string]BuildVariable{"T": {Secret: test.secret}, "LC_TIME": {Value: "C"}}
		if err := b.Check(engine.HostFacts{}); err != nil {
			t.Errorf("%s: planning takes no secret: %v", name, err)
		}
		env, err := b.environment()
		if test.err == "" && (err != nil || env["T"] != test.value || env["LC_TIME"] != "C") || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: %v, %v", name, env, err)
		}
		if !slices.Contains(b.Secrets(), test.value) && test.value != "" {
			t.Errorf("%s: the secrets are %q", name, b.Secrets())
		}
		recipe := engine.ParamRecipe(&Build, b)
		if !strings.Contains(recipe, "env.T: secret "+test.secret+"\n") || !strings.Contains(recipe, "env.LC_TIME: C\n") || strings.Contains(recipe, "51a7e") {
			t.Errorf("%s: the recipe is\n%s", name, recipe)
		}
	}
}

func TestBuildCheck(t *testing.T) {
	tests := []struct {
		change      func(b *BuildStage)
		field, want string
	}{
		{func(b *BuildStage) { b.Jobs = -1 }, "jobs", "jobs is -1"},
		{func(b *BuildStage) { b.Configure = map[string]BuildOption{"prefix": {Value: "/x"}} }, "configure.prefix", `"prefix" is no option`},
		{func(b *BuildStage) { b.Configure = map[string]BuildOption{"--with-lz4": {Value: "true"}} }, "configure.--with-lz4", "is no option"},
		{func(b *BuildStage) { b.Contrib = []string{"../src"} }, "contrib", "no folder below contrib/"},
		{func(b *BuildStage) { b.Env = map[string]BuildVariable{"HOME": {Value: "/root"}} }, "env.HOME", `"HOME" cannot be set`},
		{func(b *BuildStage) { b.Env = map[string]BuildVariable{"CFLAGS": {Secret: "X"}} }, "env.CFLAGS", "becomes part of what is built"},
		{func(b *BuildStage) { b.Env = map[string]BuildVariable{"T": {Secret: "X", Value: "y"}} }, "env.T", "both a value and a secret"},
		{func(b *BuildStage) { b.Recipe, b.CFLAGS = "prebuilt", "-O3" }, "cflags", "compiles nothing, so cflags has no meaning"},
		{func(b *BuildStage) { b.Recipe, b.Patches = "prebuilt", []string{"x"} }, "patches", "compiles nothing"},
	}
	for _, test := range tests {
		b := newBuild()
		test.change(b)
		err := b.Check(engine.HostFacts{})
		var field *engine.FieldError
		if !errors.As(err, &field) || field.Field != test.field || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %s: %s", err, test.field, test.want)
		}
	}
	if err := newBuild().Check(engine.HostFacts{}); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}

// The fingerprint holds what is not in the parameters and yet changes the result.
func TestBuildFingerprint(t *testing.T) {
	dir := t.TempDir()
	patch := filepath.Join(dir, "fix.patch")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(patch, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	print := func(change func(b *BuildStage)) string {
		t.Helper()
		b := newBuild()
		b.SetBase(dir)
		b.Patches = []string{"fix.patch"}
		change(b)
		lines, err := b.Fingerprint(t.Context(), engine.HostFacts{Arch: "amd64"})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(lines, "\n")
	}
	same := func(*BuildStage) {}
	write("one")
	first := print(same)
	for _, part := range []string{"compiler: ", "make: ", "library readline: ", "environment PATH: /", "environment LC_ALL: C", "architecture: amd64"} {
		if !strings.Contains(first, part) {
			t.Errorf("no %q in\n%s", part, first)
		}
	}
	if strings.Contains(first, "cpu") || strings.Contains(first, dir) || strings.Contains(first, "HOME") {
		t.Errorf("more than it needs in\n%s", first)
	}
	if again := print(same); again != first {
		t.Errorf("it differs from call to call:\n%s\n%s", first, again)
	}
	if native := print(func(b *BuildStage) { b.CFLAGS = "-march=native" }); !strings.Contains(native, "cpu: ") {
		t.Errorf("no CPU in\n%s", native)
	}
	write("two")
	if print(same) == first {
		t.Error("another patch makes no difference")
	}
	if lines := print(func(b *BuildStage) { b.Recipe, b.Patches = "prebuilt", nil }); lines != "" {
		t.Errorf("binaries depend on the machine: %s", lines)
	}
}

func TestPatchFiles(t *testing.T) {
	b := newBuild()
	b.SetBase(t.TempDir())
	b.Patches = []string{"--- a\n+++ b\n"}
	if texts, err := b.patchTexts(); err != nil || texts[0] != b.Patches[0] {
		t.Errorf("a patch in the file: %q, %v", texts, err)
	}
	for patch, want := range map[string]string{"none.patch": "no such file", ".": "not a file of at most"} {
		b.Patches = []string{patch}
		if _, err := b.patchTexts(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", patch, err, want)
		}
	}
}

// One real build: fetched, compiled, moved, started. No optimisation, since compiling is most of it.
func TestRealBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles PostgreSQL, which takes minutes")
	}
	r := newBuildRun(t, fetchSource(t, "apt::postgresql-15?suite=bookworm"))
	b := newBuild()
	b.CFLAGS = "-O0"
	b.Configure = map[string]BuildOption{"with-lz4": {Value: "true", Since: "14"}, "enable-debug": {Value: "false"}}
	var missing *builder.MissingError
	if err := b.Run(t.Context(), r.env); errors.As(err, &missing) {
		t.Fatal(err)
	} else if err != nil {
		t.Fatalf("%v\n%s", err, r.log.Bytes()[max(0, r.log.Len()-4000):])
	}
	moved := filepath.Join(openDir(t), "moved")
	if err := os.Rename(r.env.Dir, moved); err != nil {
		t.Fatal(err)
	}
	info, err := ReadBuild(moved)
	if err != nil {
		t.Fatal(err)
	}
	if !info.Features["lz4"] || info.VersionNum/10000 != 15 {
		t.Errorf("build says %+v", info)
	}
	install, err := postgres.Open(moved)
	if err != nil {
		t.Fatal(err)
	}
	server := pgtest.Server(t, install, "wal_compression = lz4")
	got := query(t, info, server, "create extension pgstattuple; create extension pg_prewarm; select pg_prewarm('pg_class') > 0")
	if got != "t" {
		t.Errorf("psql of the build says %q", got)
	}
}

func fetchSource(t *testing.T, address string) string {
	t.Helper()
	dir := filepath.Join(openDir(t), "source")
	opt := source.Options{}
	resolved, err := source.Resolve(context.Background(), []string{address}, opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Fetch(context.Background(), resolved, dir, opt); err != nil {
		t.Fatal(err)
	}
	return dir
}

// query runs SQL with the build's own psql, as the account that owns the server.
func query(t *testing.T, info BuildInfo, server *postgres.Server, sql string) string {
	t.Helper()
	as, err := proc.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	args := []string{"--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--command", sql, server.ConnString("postgres")}
	if err := proc.Run(t.Context(), proc.Cmd{Path: info.Program("psql"), Args: args, Env: proc.Environ(), As: as, Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}
