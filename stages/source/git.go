package source

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-getter/v2"

	"pgpipeline/pipeline/proc"
)

// gitSettings keep git from running anything and from asking anything, whatever a repository or its configuration says, and add
// settings of one call to those. The user's own configuration still counts: it has the proxies, the credential helpers and the
// address rewrites.
func gitSettings(more ...gitSetting) []string {
	out := []string{"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh", "GIT_SSH_COMMAND=ssh -oBatchMode=yes"}
	settings := append([]gitSetting{{"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"}, {"protocol.ext.allow", "never"},
		{"fetch.recurseSubmodules", "false"}}, more...)
	for i, s := range settings {
		out = append(out, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.value))
	}
	return append(out, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)))
}

type gitSetting struct{ key, value string }

const gitTimeout = 30 * time.Minute

// gitGetter fetches one commit of a repository: git::ADDRESS?ref=BRANCH|TAG|COMMIT. go-getter's own git getter is not used:
// it clones the whole history with the tool's environment, follows submodules to wherever they point, and checks links out
// as the repository has them. Here the commit comes as an archive and is unpacked as carefully as any other.
//
// Submodules are not fetched; PostgreSQL has none.
type gitGetter struct{ job *job }

func (g *gitGetter) name() string { return "git" }

var gitDetectors = []getter.Detector{new(getter.GitHubDetector), new(getter.GitLabDetector), new(getter.GitDetector)}

// Detect implements getter.Getter: git:: in front, a scheme that is git's, or a well-known host's short form.
func (g *gitGetter) Detect(req *getter.Request) (bool, error) {
	if req.Forced != "" && req.Forced != "git" {
		return false, nil
	}
	if u, err := url.Parse(req.Src); err == nil && u.Scheme != "" && strings.Contains(req.Src, "://") {
		return req.Forced == "git" || u.Scheme == "git" || u.Scheme == "ssh", nil
	}
	for _, d := range gitDetectors {
		if found, ok, err := d.Detect(req.Src, req.Pwd); err != nil || ok {
			req.Src = strings.TrimPrefix(found, "git::")
			return ok && err == nil, err
		}
	}
	if req.Forced != "git" {
		return false, nil
	}
	if !filepath.IsAbs(req.Src) {
		req.Src = filepath.Join(req.Pwd, req.Src)
	}
	return true, nil
}

// Mode implements getter.Getter.
func (g *gitGetter) Mode(context.Context, *url.URL) (getter.Mode, error) { return getter.ModeDir, nil }

// GetFile implements getter.Getter.
func (g *gitGetter) GetFile(context.Context, *getter.Request) error {
	return errors.New("a git repository is no single file; name it as a subdirectory: git::ADDRESS//FILE")
}

var (
	commitPattern = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	shortCommit   = regexp.MustCompile(`^[0-9a-f]{7,39}$`)
	// refPattern is stricter than git: letters, digits and what branch names have in practice.
	refPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./+#%@=,-]*$`)
)

func isCommit(ref string) bool { return commitPattern.MatchString(ref) }

func checkRef(ref string) error {
	if !refPattern.MatchString(ref) || strings.Contains(ref, "..") || strings.Contains(ref, "@{") || strings.HasSuffix(ref, ".lock") {
		return fmt.Errorf("ref=%q: not the name of a branch, a tag or a commit", ref)
	}
	return nil
}

// checkRepository refuses addresses that git could take for an option or a command.
func checkRepository(src string) error {
	if strings.HasPrefix(src, "-") || strings.Contains(src, "::") {
		return fmt.Errorf("git address %q: not an address of a repository", Mask(src))
	}
	if !strings.Contains(src, "://") {
		return nil // a path
	}
	u, err := url.Parse(src)
	if err != nil {
		return fmt.Errorf("git address %q: %w", Mask(src), err)
	}
	if !slices.Contains([]string{"file", "git", "http", "https", "ssh"}, u.Scheme) {
		return fmt.Errorf("git address %q: scheme %q is not allowed (https, ssh, git, file)", Mask(src), u.Scheme)
	}
	if _, hasPassword := u.User.Password(); hasPassword && !overHTTP(u) {
		return fmt.Errorf("git address %q: %s takes no password from an address; use a key and an ssh agent, or https", Mask(src), u.Scheme)
	}
	if strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-") {
		return fmt.Errorf("git address %q: host and user may not start with a dash", Mask(src))
	}
	return nil
}

// resolve asks the repository for the commit that ref is at now.
func (g *gitGetter) resolve(ctx context.Context, a *address) (Resolved, error) {
	if err := g.check(a); err != nil {
		return Resolved{}, err
	}
	ref := a.query.Get("ref")
	fixed := func(commit string) string {
		return "git::" + a.fixed(a.src, url.Values{"ref": {commit}})
	}
	if isCommit(ref) {
		return Resolved{Address: fixed(ref), Version: ref[:12], Verified: "git commit"}, nil
	}
	if ref == "" {
		ref = "HEAD"
	}
	commit, name, err := g.lookUp(ctx, a.src, ref)
	if err != nil {
		return Resolved{}, err
	}
	version := versionOfTag(name)
	if version == "" {
		version = strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/tags/") + "@" + commit[:12]
	}
	return Resolved{Address: fixed(commit), Version: version, Verified: "git commit",
		Notes: []string{fmt.Sprintf("%s is commit %s", ref, commit)}}, nil
}

func (g *gitGetter) check(a *address) error {
	if a.checksum != "" {
		return errors.New("checksum= is for files; a git source is verified by its commit: ?ref=COMMIT")
	}
	if ref := a.query.Get("ref"); ref != "" {
		if err := checkRef(ref); err != nil {
			return err
		}
	}
	if a.query.Get("sshkey") != "" {
		return errors.New("sshkey= would put a private key into a file that is shared; use an ssh agent or ~/.ssh/config")
	}
	return checkRepository(a.src)
}

func overHTTP(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" }

// withoutLogin takes user and password out of an address. They reach git in its environment, which only this account can
// read; arguments are shown to everybody on the machine.
func withoutLogin(src string) (plain string, login []gitSetting) {
	u, err := url.Parse(src)
	if err != nil || u.User == nil || !overHTTP(u) {
		return src, nil
	}
	password, _ := u.User.Password()
	basic := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))
	u.User = nil
	return u.String(), []gitSetting{{"http." + u.Scheme + "://" + u.Host + "/.extraHeader", "Authorization: Basic " + basic}}
}

// lookUp returns the commit of a branch or a tag, and the full name that was found. A name that is both is an error unless
// both are the same commit.
func (g *gitGetter) lookUp(ctx context.Context, src, ref string) (commit, name string, err error) {
	var out bytes.Buffer
	plain, login := withoutLogin(src)
	err = g.run(ctx, proc.Cmd{Dir: g.job.Scratch, Stdout: &out, Timeout: 2 * time.Minute,
		Args: []string{"ls-remote", "--", plain, ref, ref + "^{}"}}, login...)
	if err != nil {
		return "", "", err
	}
	found := map[string]string{}
	for line := range strings.Lines(out.String()) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && isCommit(id) {
			// ls-remote matches the end of names, so "15" would find refs/heads/feature/15 too.
			for _, full := range []string{ref, "refs/" + ref, "refs/heads/" + ref, "refs/tags/" + ref} {
				if name == full || name == full+"^{}" {
					found[name] = id
				}
			}
		}
	}
	var names []string
	for name := range found {
		if _, peeled := found[name+"^{}"]; !peeled { // an annotated tag stands for its commit
			names = append(names, name)
		}
	}
	slices.Sort(names)
	switch {
	case len(names) == 0 && shortCommit.MatchString(ref):
		return "", "", fmt.Errorf("ref=%s: no branch or tag; write all 40 digits of a commit", ref)
	case len(names) == 0:
		return "", "", fmt.Errorf("ref=%s: the repository has no such branch or tag", ref)
	}
	for _, n := range names[1:] {
		if found[n] != found[names[0]] {
			return "", "", fmt.Errorf("ref=%s is ambiguous: write %s", ref, strings.ReplaceAll(strings.Join(names, " or "), "^{}", ""))
		}
	}
	return found[names[0]], strings.TrimSuffix(names[0], "^{}"), nil
}

// Get implements getter.Getter. The request's ref must be a commit.
func (g *gitGetter) Get(ctx context.Context, req *getter.Request) error {
	u := *req.URL()
	q := u.Query()
	commit := q.Get("ref")
	q.Del("ref")
	q.Del("depth") // only the one commit is fetched anyway
	u.RawQuery = q.Encode()
	src := u.String()
	if !isCommit(commit) {
		return fmt.Errorf("ref=%q is not a commit", commit)
	}
	if err := checkRepository(src); err != nil {
		return err
	}
	repo := filepath.Join(g.job.Scratch, "repository")
	if err := os.RemoveAll(repo); err != nil {
		return err
	}
	defer os.RemoveAll(repo)
	if err := g.run(ctx, proc.Cmd{Dir: g.job.Scratch, Args: []string{"init", "-q", "--bare", "--template=", repo}}); err != nil {
		return err
	}
	if err := g.fetch(ctx, repo, src, commit); err != nil {
		return err
	}
	return g.export(ctx, repo, commit, req.Dst)
}

// fetch brings the commit alone. Some servers give only what a branch or tag points at: then everything is fetched.
func (g *gitGetter) fetch(ctx context.Context, repo, src, commit string) error {
	src, login := withoutLogin(src)
	args := []string{"fetch", "-q", "--no-tags", "--no-recurse-submodules", "--depth=1", "--", src, commit}
	g.job.Progress("git fetch", 0, 0)
	first := g.run(ctx, proc.Cmd{Dir: repo, Args: args, Timeout: gitTimeout}, login...)
	if first == nil || ctx.Err() != nil {
		return first
	}
	g.job.logf("the server does not give a single commit, fetching all branches and tags: %s", firstLine(first))
	args = []string{"fetch", "-q", "--no-recurse-submodules", "--", src, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"}
	if err := g.run(ctx, proc.Cmd{Dir: repo, Args: args, Timeout: gitTimeout}, login...); err != nil {
		return errors.Join(first, err)
	}
	return nil
}

// export unpacks the commit's files. git verifies every object against its name while fetching, and the name of the tree
// is in the commit, so the content is the commit's.
func (g *gitGetter) export(ctx context.Context, repo, commit, dst string) error {
	if err := os.MkdirAll(dst, 0o755); err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	t, err := newTree(dst, g.job.Limits)
	if err != nil {
		w.Close()
		return err
	}
	defer t.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path, env := "git", networkEnv(gitSettings()...)
	child, err := proc.Start(ctx, proc.Cmd{Path: path, Dir: repo, Env: env, Stdout: w, Timeout: gitTimeout,
		Args: []string{"archive", "--format=tar", commit + "^{commit}"}})
	w.Close()
	if err != nil {
		return err
	}
	g.job.Progress("git export", 0, 0)
	if err := untar(t, contextReader{ctx, r}); err != nil {
		cancel()
		if waitErr := child.Wait(); waitErr != nil && isTruncation(err) {
			return waitErr
		}
		return err
	}
	return child.Wait()
}

// run runs git with its usual settings and more.
func (g *gitGetter) run(ctx context.Context, c proc.Cmd, more ...gitSetting) error {
	c.Path, c.Env = "git", networkEnv(gitSettings(more...)...)
	if sock := os.Getenv("SSH_AUTH_SOCK"); sock != "" {
		c.Env = append(c.Env, "SSH_AUTH_SOCK="+sock)
	}
	err := proc.Run(ctx, c)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w; git is needed for this source: apt-get install git", err)
	}
	return err
}
