package source

import (
	"context"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
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

// TestGitPasswordIsNotShown serves a repository to those who know the password, and looks at each request what everybody on
// the machine can see of the processes that make it.
func TestGitPasswordIsNotShown(t *testing.T) {
	r := newRepo(t)
	commit := r.commit("a.c", "private")
	const password = "p4ss w0rd-in-git"
	backend := &cgi.Handler{Path: filepath.Join(r.git("--exec-path"), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + r.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null"}, Stderr: io.Discard}
	var served, shown atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if user, given, ok := req.BasicAuth(); !ok || user != "joe" || given != password {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		served.Add(1)
		if argv := argvWith(t, "git", "4ss"); argv != "" {
			shown.Add(1)
			t.Errorf("a process shows the password: %q", argv)
		}
		if argvWith(t, "git", req.Host) == "" {
			t.Error("no process shows the address: this test looks in the wrong place")
		}
		backend.ServeHTTP(w, req)
	}))
	defer server.Close()
	addr := "git::" + strings.Replace(server.URL, "://", "://joe:"+url.PathEscape(password)+"@", 1) + "/.git"
	_, facts, dir := bring(t, Options{}, addr+"?ref=master")
	wantFiles(t, dir, "a.c")
	if served.Load() < 2 || !strings.Contains(facts.Address, commit) || strings.Contains(facts.Address, "w0rd") {
		t.Errorf("%d requests; %s", served.Load(), facts.Address)
	}
}

// argvWith returns the arguments of a running program that hold a text.
func argvWith(t *testing.T, program, text string) string {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		argv, _ := os.ReadFile(path) // it may have ended
		if name, _, _ := strings.Cut(string(argv), "\x00"); strings.Contains(filepath.Base(name), program) && strings.Contains(string(argv), text) {
			return string(argv)
		}
	}
	return ""
}

func TestGitRefusesWhatWouldShow(t *testing.T) {
	for _, addr := range []string{"git::ssh://joe:s3cr3t@host/a.git", "git::git://joe:s3cr3t@host/a.git"} {
		_, err := Resolve(t.Context(), []string{addr}, Options{Scratch: t.TempDir()})
		wantError(t, err, "takes no password from an address")
		if strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%v", err)
		}
	}
}
