package source

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A repo is a git repository that a test makes.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB) *repo {
	r := &repo{t, t.TempDir()}
	r.git("init", "-q", "-b", "master")
	r.git("config", "user.email", "test@example.org")
	r.git("config", "user.name", "Test")
	return r
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_DATE=2024-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2024-01-01T00:00:00Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes a file and returns the commit.
func (r *repo) commit(name, text string) string {
	r.t.Helper()
	write(r.t, filepath.Join(r.dir, name), text)
	r.git("add", "-A")
	r.git("commit", "-q", "-m", name)
	return r.git("rev-parse", "HEAD")
}

func (r *repo) addr(query string) string { return "git::" + r.dir + query }

func TestGitPinsWhatMoves(t *testing.T) {
	r := newRepo(t)
	first := r.commit("src/a.c", "one")
	r.git("tag", "-a", "-m", "release", "REL_17_0")
	r.git("branch", "REL_17_STABLE")
	second := r.commit("src/a.c", "two")
	for _, c := range []struct{ query, commit, version string }{
		{"", second, "HEAD@" + second[:12]},
		{"?ref=master", second, "master@" + second[:12]},
		{"?ref=REL_17_0", first, "17.0"},
		{"?ref=refs/tags/REL_17_0", first, "17.0"},
		{"?ref=REL_17_STABLE", first, "17"},
		{"?ref=" + first, first, first[:12]},
	} {
		t.Run(c.query, func(t *testing.T) {
			got, f, dest := bring(t, Options{}, r.addr(c.query))
			if want := "git::" + r.dir + "?ref=" + c.commit; got.Address != want {
				t.Errorf("address %q, want %q", got.Address, want)
			}
			if got.Content() != "git:"+c.commit || got.Version != c.version || f.Verified != "git commit" {
				t.Errorf("content %q, version %q, verified %q", got.Content(), got.Version, f.Verified)
			}
			text, _ := os.ReadFile(filepath.Join(dest, "src/a.c"))
			if want := map[string]string{first: "one", second: "two"}[c.commit]; string(text) != want {
				t.Errorf("file has %q, want %q", text, want)
			}
			wantFiles(t, dest, "src/a.c")
		})
	}
	// The pin holds when the branch moves.
	pinned := resolved(t, Options{}, r.addr("?ref=master"))
	r.commit("src/a.c", "three")
	dest := filepath.Join(t.TempDir(), "dest")
	if _, err := Fetch(context.Background(), pinned, dest, Options{}); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(filepath.Join(dest, "src/a.c")); string(text) != "two" {
		t.Errorf("file has %q: the pin moved", text)
	}
}

func TestGitMirrorAndSubdirectory(t *testing.T) {
	r := newRepo(t)
	commit := r.commit("src/deep/a.c", "one")
	mirror := t.TempDir()
	r.git("clone", "-q", "--mirror", r.dir, mirror)
	got := resolved(t, Options{}, r.addr("//src/deep?ref=master"))
	if got.Content() != "git:"+commit+" folder src/deep" {
		t.Errorf("content %q", got.Content())
	}
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	dest := filepath.Join(t.TempDir(), "dest")
	f, err := Fetch(context.Background(), got, dest, Options{Mirrors: []string{"git::" + mirror + "//src/deep?ref=master"}})
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dest, "a.c")
	if !strings.Contains(f.Address, mirror) {
		t.Errorf("address %q is not the mirror's", f.Address)
	}
}

func TestGitErrors(t *testing.T) {
	r := newRepo(t)
	r.commit("a", "one")
	r.git("tag", "twice")
	second := r.commit("a", "two")
	r.git("branch", "twice")
	r.git("branch", "feature/15")
	for query, want := range map[string]string{
		"?ref=gone":                "no such branch or tag",
		"?ref=15":                  "no such branch or tag",
		"?ref=twice":               "write refs/heads/twice or refs/tags/twice",
		"?ref=" + second[:10]:      "all 40 digits",
		"?checksum=sha256:" + "00": "checksum= is for files",
	} {
		_, err := Resolve(context.Background(), []string{r.addr(query)}, Options{})
		wantError(t, err, want)
	}
	missing := strings.Repeat("0123456789", 4)
	_, err := Fetch(context.Background(), Resolved{Address: r.addr("?ref=" + missing)}, t.TempDir(), Options{})
	wantError(t, err, "git: exit status")
}

// TestGitRunsNothing uses a repository whose configuration and hooks would run programs, and links that lead out.
func TestGitRunsNothing(t *testing.T) {
	r := newRepo(t)
	r.commit("a", "one")
	if err := os.Symlink("/etc/passwd", filepath.Join(r.dir, "out")); err != nil {
		t.Fatal(err)
	}
	commit := r.commit("b", "two")
	dest := filepath.Join(t.TempDir(), "dest")
	_, err := Fetch(context.Background(), Resolved{Address: r.addr("?ref=" + commit)}, dest, Options{})
	wantError(t, err, `symbolic link to the absolute path "/etc/passwd"`)
	wantFiles(t, dest)

	ran := filepath.Join(t.TempDir(), "ran")
	write(t, filepath.Join(r.dir, "evil.sh"), "#!/bin/sh\ntouch "+ran+"\n")
	if err := os.Chmod(filepath.Join(r.dir, "evil.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("config", "core.fsmonitor", filepath.Join(r.dir, "evil.sh"))
	if err := os.Remove(filepath.Join(r.dir, "out")); err != nil {
		t.Fatal(err)
	}
	_, _, dest = bring(t, Options{}, r.dir)
	wantFiles(t, dest, "a", "b", "evil.sh")
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository was run")
	}
}
