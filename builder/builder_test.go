package builder

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgpipeline/pipeline/proc"
)

func TestBuildInstallsTree(t *testing.T) {
	s, log := fakeSpec(t)
	s.CFLAGS, s.LDFLAGS = "-O1 -fno-omit-frame-pointer", "-Wl,-O1"
	var steps []string
	s.Progress = func(what string, _, _ float64) {
		if !slices.Contains(steps, what) {
			steps = append(steps, what)
		}
	}
	before := listing(t, s.Source)
	r, err := Build(t.Context(), s)
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if r.Version != "15.99" || r.BinDir != "bin" {
		t.Errorf("version %q in %q, want 15.99 in bin", r.Version, r.BinDir)
	}
	want := "'--prefix=/pipeline' '--enable-debug' '--without-readline' '--without-zlib' 'CFLAGS=-O1 -fno-omit-frame-pointer' 'LDFLAGS=-Wl,-O1'"
	if r.Configure != want {
		t.Errorf("options\n got %s\nwant %s", r.Configure, want)
	}
	if got := strings.Join(r.Extensions, " "); got != "pg_prewarm pgstattuple plpgsql" {
		t.Errorf("extensions %q", got)
	}
	if r.Facts["cflags"] != s.CFLAGS || r.Facts["lz4"] != "no" {
		t.Errorf("facts %v", r.Facts)
	}
	if got := strings.Join(steps, " "); got != "configure compile install" {
		t.Errorf("progress went through %q", got)
	}
	if !strings.Contains(log.String(), "$ make -j2 ") || !strings.Contains(log.String(), "configure: creating GNUmakefile") {
		t.Errorf("the log lacks commands or their output:\n%s", log)
	}
	if after := listing(t, s.Source); after != before {
		t.Errorf("the source changed from\n%s\nto\n%s", before, after)
	}
}

// listing describes all files of a tree.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		b.WriteString(path + " " + info.ModTime().String() + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBuiltTreeRunsWhereverItIs(t *testing.T) {
	s, log := fakeSpec(t)
	if _, err := Build(t.Context(), s); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	moved := filepath.Join(place(t), "somewhere", "else")
	if err := os.MkdirAll(filepath.Dir(moved), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.Dest, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.Scratch); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := proc.Run(t.Context(), proc.Cmd{Path: filepath.Join(moved, "bin/psql"), Args: []string{"--version"}, Env: proc.Environ(), As: s.As, Stdout: &out})
	if err != nil || out.String() != "psql (PostgreSQL) 15.99\n" {
		t.Errorf("psql says %q, %v", out.String(), err)
	}
}

func TestBuiltTreeBelongsToUs(t *testing.T) {
	s, log := fakeSpec(t)
	if _, err := Build(t.Context(), s); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	err := filepath.WalkDir(s.Dest, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; int(uid) != os.Geteuid() {
			t.Errorf("%s belongs to user %d", path, uid)
		}
		if info.Mode()&0o022 != 0 || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The same recipe must give the same bytes wherever the scratch directory is.
func TestBuildDoesNotDependOnScratch(t *testing.T) {
	var programs [2][]byte
	for i := range programs {
		s, log := fakeSpec(t)
		s.Scratch = filepath.Join(s.Scratch, strings.Repeat("deeper/", i*3)+"scratch")
		if err := os.MkdirAll(filepath.Dir(s.Scratch), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := Build(t.Context(), s); err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		text, err := os.ReadFile(filepath.Join(s.Dest, "bin/postgres"))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(s.Scratch)) || bytes.Contains(text, []byte(s.Source)) {
			t.Error("postgres contains the path of its build")
		}
		if !bytes.Contains(text, []byte("/pipeline/source/src/backend/main.c")) {
			t.Error("postgres has no debug information with neutral paths")
		}
		programs[i] = text
	}
	if !bytes.Equal(programs[0], programs[1]) {
		t.Error("two builds of one recipe differ")
	}
}

func TestBuildWithLTO(t *testing.T) {
	s, log := fakeSpec(t)
	s.CFLAGS, s.LDFLAGS, s.Jobs = "-O3 -flto", "-flto", 3
	r, err := Build(t.Context(), s)
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if !strings.Contains(r.Configure, "'AR=gcc-ar'") || !strings.Contains(r.Configure, "'CFLAGS=-O3 -flto'") {
		t.Errorf("options %s", r.Configure)
	}
	front, err := os.ReadFile(filepath.Join(s.Scratch, "tools", "gcc"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(front), "-flto=3") {
		t.Errorf("the compiler front links on one core:\n%s", front)
	}
}

const breakingPatch = `--- a/src/backend/main.c
+++ b/src/backend/main.c
@@ -4,3 +4,3 @@
 
-extern int pq_answer(void);
+extern int pq_answer(void;
 extern int gram_answer(void);
`

const harmlessPatch = `--- a/configure
+++ b/configure
@@ -2,3 +2,3 @@
 # A stand-in for PostgreSQL's configure script: the same interface, outside the source tree, and it can fail.
-PACKAGE_VERSION='15.99'
+PACKAGE_VERSION='15.99' # patched
 srcdir=$(cd "$(dirname "$0")" && pwd)
`

func TestFailures(t *testing.T) {
	tests := []struct {
		name   string
		change func(s *Spec)
		want   []string // parts of the message
		log    string   // part of the log
	}{
		{"configure", func(s *Spec) { s.Configure = append(s.Configure, "--with-trouble") },
			[]string{"exit status 1", "$ sh ", "--with-trouble", " | configure: error: trouble library not found"},
			"--- config.log\ntrouble.c:1: undeclared"},
		{"option", func(s *Spec) { s.Configure = append(s.Configure, "--with-nonsense") },
			[]string{" | configure: error: unrecognized option: --with-nonsense"}, ""},
		{"compiler", func(s *Spec) { s.Patches = []string{breakingPatch} },
			[]string{"$ make -j2", " | gcc -O2 -g ", "src/backend/main.c:6:", "error: storage class", "*** [GNUmakefile:", "Error 1"}, ""},
		{"patch", func(s *Spec) { s.Patches = []string{harmlessPatch, harmlessPatch} },
			[]string{"apply patch 2 of 2:", "Reversed (or previously applied) patch detected"}, ""},
		{"make", func(s *Spec) { s.Make = []string{"CC=false"} }, []string{"| false ", "*** [GNUmakefile:"}, ""},
		{"contrib", func(s *Spec) { s.Contrib = []string{"pgstattuple", "pg_nonsense"} }, []string{"the source has no contrib/pg_nonsense"}, ""},
		{"recipe", func(s *Spec) { s.Recipe = "cmake" }, []string{`unknown recipe "cmake"; there are autotools, meson, prebuilt`}, ""},
		{"version", func(s *Spec) { s.Recipe = Meson }, []string{`PostgreSQL 15.99 cannot be built with recipe "meson", which takes 16 and later`}, ""},
		{"prebuilt", func(s *Spec) { s.Recipe = Prebuilt }, []string{"holds no server"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, log := fakeSpec(t)
			test.change(&s)
			_, err := Build(t.Context(), s)
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the message lacks %q:\n%v", part, err)
				}
			}
			if !strings.Contains(log.String(), test.log) {
				t.Errorf("the log lacks %q:\n%s", test.log, log)
			}
			if exists(s.Dest) {
				t.Error("something was installed")
			}
		})
	}
}

func TestPatchedBuild(t *testing.T) {
	s, log := fakeSpec(t)
	s.Patches = []string{harmlessPatch}
	before := listing(t, s.Source)
	if _, err := Build(t.Context(), s); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if !strings.Contains(log.String(), "patching file configure") {
		t.Error("the patch was not applied")
	}
	if listing(t, s.Source) != before {
		t.Error("the patch was applied to the source itself")
	}
}

func TestBuildStopsWhenCancelled(t *testing.T) {
	s, log := fakeSpec(t)
	s.Configure = append(s.Configure, "--with-patience")
	log.marker, log.seen = "checking for patience", make(chan struct{})
	seen := log.seen
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-seen
		cancel()
	}()
	if _, err := Build(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestBuildNamesClosedFolder(t *testing.T) {
	s, _ := fakeSpec(t)
	if s.As == nil {
		s.As = &proc.Account{Name: "somebody", UID: 12345, GID: 12345}
	}
	closed := filepath.Join(place(t), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := reachable(filepath.Join(closed, "scratch"), s.As); err == nil || !strings.Contains(err.Error(), "cannot enter "+closed+" ") {
		t.Errorf("error %v", err)
	}
	if err := reachable(s.Source, s.As); err != nil {
		t.Error(err)
	}
}
