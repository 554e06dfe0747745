package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-getter/v2"

	"pgpipeline/pipeline/proc"
)

// aptGetter fetches the upstream tarball of a Debian source package: apt::PACKAGE[=VERSION][?suite=trixie].
//
// The package is looked up in a private apt state (aptstate.go) that uses the system's mirror and keys, so the checksum is
// that of an index which apt has verified. Resolved, the address is that of the file itself, apt::http://MIRROR/pool/...,
// which does not move, and which later is fetched without any index. A package name goes on working when the distribution
// moves on to the next minor release: it means the newest version that is really served.
type aptGetter struct{ job *job }

func (g *aptGetter) name() string { return "apt" }

// Detect implements getter.Getter.
func (g *aptGetter) Detect(req *getter.Request) (bool, error) { return req.Forced == "apt", nil }

// Mode implements getter.Getter.
func (g *aptGetter) Mode(context.Context, *url.URL) (getter.Mode, error) { return getter.ModeFile, nil }

// Get implements getter.Getter.
func (g *aptGetter) Get(context.Context, *getter.Request) error {
	return errors.New("a source package is fetched as a file")
}

var (
	packagePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)
	aptVersion     = regexp.MustCompile(`^[0-9][A-Za-z0-9.+~:-]*$`)
	suitePattern   = regexp.MustCompile(`^[a-z][a-z0-9./-]*$`)
)

// isFile says whether the address is already that of a file in a mirror's pool.
func (g *aptGetter) isFile(a *address) bool { return strings.Contains(a.src, ":/") }

func (g *aptGetter) resolve(ctx context.Context, a *address) (Resolved, error) {
	if err := g.check(a); err != nil {
		return Resolved{}, err
	}
	if g.isFile(a) {
		return g.job.resolveFile(ctx, a, "apt::"+a.fixed(a.src, nil))
	}
	pkg, version, _ := strings.Cut(a.src, "=")
	state, err := g.updated(ctx, a.query.Get("suite"))
	if err != nil {
		return Resolved{}, err
	}
	r, err := g.choose(ctx, state, pkg, version)
	if err != nil {
		return Resolved{}, err
	}
	r.Address = "apt::" + a.fixed(r.Address, nil)
	return r, nil
}

// check refuses what could be taken for an option or an expression by apt.
func (g *aptGetter) check(a *address) error {
	if g.isFile(a) {
		return nil
	}
	pkg, version, _ := strings.Cut(a.src, "=")
	suite := a.query.Get("suite")
	switch {
	case !packagePattern.MatchString(pkg):
		return fmt.Errorf("%q is not the name of a source package", pkg)
	case version != "" && !aptVersion.MatchString(version):
		return fmt.Errorf("%q is not a version", version)
	case suite != "" && (!suitePattern.MatchString(suite) || hasDotDot(suite)):
		return fmt.Errorf("suite=%q is not the name of a suite", suite)
	}
	return nil
}

// updated is the state for a suite with its indexes fetched, which is done once per job.
func (g *aptGetter) updated(ctx context.Context, suite string) (*aptState, error) {
	if s := g.job.apt[suite]; s != nil {
		return s, nil
	}
	s, err := g.state(suite)
	if err != nil {
		return nil, err
	}
	if err := s.update(ctx); err != nil {
		return nil, err
	}
	g.job.apt[suite] = s
	return s, nil
}

func (g *aptGetter) state(suite string) (*aptState, error) {
	entries, err := systemEntries(aptFiles())
	if err != nil {
		return nil, err
	}
	own := release("/etc/os-release")
	asked := suite != "" && suite != own
	if suite == "" {
		suite = own
	}
	if suite == "" {
		return nil, errors.New("apt:: needs a system of Debian's family, or ?suite=")
	}
	main, more := sourcesFor(entries, suite, own)
	if len(main) == 0 {
		return nil, fmt.Errorf("apt has no mirror configured for %s (looked in /etc/apt/sources.list and sources.list.d)", suite)
	}
	state, err := newAptState(g.job, main, more)
	if err != nil {
		return nil, err
	}
	state.expired = asked
	for _, e := range main {
		if e.trusted {
			state.notes = append(state.notes, "the index is not signed: this machine's apt trusts it all the same ([trusted=yes])")
		}
	}
	return state, nil
}

// choose takes the newest version that fits and that the mirror really serves: an index may list one that is already gone,
// or that has not arrived yet.
func (g *aptGetter) choose(ctx context.Context, s *aptState, pkg, version string) (Resolved, error) {
	listed, err := s.versions(ctx, pkg)
	if err != nil {
		return Resolved{}, err
	}
	if len(listed) == 0 {
		return Resolved{}, fmt.Errorf("there is no source package %q in this suite%s", pkg, g.similar(ctx, s))
	}
	notes := slices.Clone(s.notes)
	fits := 0
	for _, v := range listed {
		if version != "" && v != version && upstreamVersion(v) != version {
			continue
		}
		fits++
		file, gone, err := g.served(ctx, s, pkg, v)
		if err != nil {
			return Resolved{}, err
		}
		if gone != "" {
			notes = append(notes, fmt.Sprintf("%s %s is in the index but not on the mirror (%s): taking the next older one", pkg, v, gone))
			continue
		}
		r := Resolved{Address: withoutUser(file.uri), Version: upstreamVersion(v), SHA256: file.sha256, Verified: "signed apt index", Notes: notes}
		r.Notes = append(r.Notes, fmt.Sprintf("source package %s %s", pkg, v))
		if strings.Contains(strings.Join(notes, " "), "not signed") {
			r.Verified = "unverified: the apt index is not signed"
		}
		return r, nil
	}
	if fits == 0 {
		return Resolved{}, fmt.Errorf("source package %s has no version %s, but %s", pkg, version, strings.Join(listed, ", "))
	}
	return Resolved{}, fmt.Errorf("the mirror serves no version of %s that its index lists:\n%s", pkg, strings.Join(notes, "\n"))
}

// served finds a place that has the tarball of one version; gone says why there is none. A security fix is in the main
// archive too once the next point release includes it, so each place is asked.
func (g *aptGetter) served(ctx context.Context, s *aptState, pkg, version string) (file sourceFile, gone string, err error) {
	tried := map[string]bool{}
	for _, from := range append([]string{""}, s.alone...) {
		files, err := s.files(ctx, pkg, version, from)
		if err != nil && from == "" {
			return sourceFile{}, "", err
		}
		if err != nil { // this place does not have the version
			continue
		}
		file, err := tarball(files)
		if err != nil {
			return sourceFile{}, "", fmt.Errorf("source package %s %s: %w", pkg, version, err)
		}
		if tried[file.uri] {
			continue
		}
		tried[file.uri] = true
		if gone = g.gone(ctx, file.uri); gone == "" {
			return file, "", nil
		}
	}
	return sourceFile{}, gone, nil
}

// tarball is the one file of a source package that upstream made.
func tarball(files []sourceFile) (sourceFile, error) {
	for _, native := range []bool{false, true} {
		for _, f := range files {
			isOrig := strings.Contains(f.name, ".orig.tar.")
			if isOrig || native && strings.Contains(f.name, ".tar.") && !strings.Contains(f.name, ".debian.tar.") {
				if path.Ext(f.name) != ".asc" {
					return f, nil
				}
			}
		}
	}
	return sourceFile{}, errors.New("it has no upstream tarball")
}

// similar names the PostgreSQL versions that the suite has, for the error about one that it has not.
func (g *aptGetter) similar(ctx context.Context, s *aptState) string {
	out, err := s.run(ctx, "apt-cache", "--only-source", "showsrc", "postgresql-common", "postgresql-13", "postgresql-14",
		"postgresql-15", "postgresql-16", "postgresql-17", "postgresql-18", "postgresql-19", "postgresql-20")
	if err != nil && out == "" {
		return ""
	}
	blocks, _ := paragraphs(strings.NewReader(out))
	var names []string
	seen := map[string]bool{}
	for _, b := range blocks {
		if name := b["package"]; name != "postgresql-common" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; it has " + strings.Join(names, ", ") + " (?suite=NAME looks in another)"
}

// gone says why a file is not served; "" when it is, or when only a download could tell.
func (g *aptGetter) gone(ctx context.Context, uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "file", "copy":
		if _, err := os.Stat(u.Path); err != nil {
			return err.Error()
		}
		return ""
	case "http", "https":
	default:
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, stallLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, uri, nil)
	if err != nil {
		return ""
	}
	resp, err := newHTTPClient(g.proxy(ctx)).Do(req)
	if err == nil {
		resp.Body.Close()
		return ""
	}
	var status *statusError
	if errors.As(err, &status) && (status.code == http.StatusNotFound || status.code == http.StatusGone || status.code == http.StatusForbidden) {
		return fmt.Sprint(status.code)
	}
	return ""
}

// proxy is how apt reaches its mirrors: the variables, or what apt.conf says.
func (g *aptGetter) proxy(ctx context.Context) func(*http.Request) (*url.URL, error) {
	return func(req *http.Request) (*url.URL, error) {
		if u, err := http.ProxyFromEnvironment(req); u != nil || err != nil {
			return u, err
		}
		var out strings.Builder
		err := proc.Run(ctx, proc.Cmd{Path: "apt-config", Env: proc.Environ(), Stdout: &out, Timeout: time.Minute,
			Args: []string{"shell", "ONE", "Acquire::" + req.URL.Scheme + "::Proxy::" + req.URL.Hostname(),
				"ALL", "Acquire::" + req.URL.Scheme + "::Proxy"}})
		if err != nil {
			return nil, nil
		}
		return aptProxy(out.String())
	}
}

// aptProxy reads what `apt-config shell` prints: the entry of the host wins over the general one.
func aptProxy(shell string) (*url.URL, error) {
	values := map[string]string{}
	for line := range strings.Lines(shell) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[name] = strings.Trim(value, "'")
	}
	value := values["ONE"]
	if value == "" {
		value = values["ALL"]
	}
	if value == "" || value == "DIRECT" || value == "false" {
		return nil, nil
	}
	return url.Parse(value)
}

func withoutUser(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.User != nil {
		u.User = nil
		return u.String()
	}
	return uri
}

const aptHelper = "/usr/lib/apt/apt-helper"

// GetFile implements getter.Getter for an address in a mirror's pool. It is fetched as any other file, by way of apt's
// proxy; where that does not do (another transport, a mirror with a password in auth.conf), apt's own downloader is asked.
func (g *aptGetter) GetFile(ctx context.Context, req *getter.Request) error {
	u := req.URL()
	var first error
	if u.Scheme == "http" || u.Scheme == "https" {
		h := newHTTPGetter(g.job)
		h.Client = newHTTPClient(g.proxy(ctx))
		if first = h.GetFile(ctx, req); first == nil || ctx.Err() != nil {
			return first
		}
		var status *statusError
		if errors.As(first, &status) && status.code == http.StatusNotFound {
			return fmt.Errorf("%w: the distribution has moved on; `pipeline lock --update` takes what it serves now", first)
		}
	}
	if _, err := os.Stat(aptHelper); err != nil || u.Scheme == "" {
		if first == nil {
			first = fmt.Errorf("apt address %q: not resolved, or no apt on this machine to fetch it", Mask(u.String()))
		}
		return first
	}
	state, err := newAptState(g.job, nil, nil)
	if err != nil {
		return err
	}
	defer os.RemoveAll(state.dir)
	g.job.Progress("apt download", 0, 0)
	if _, err := state.run(ctx, aptHelper, "download-file", u.String(), req.Dst); err != nil {
		return errors.Join(first, err)
	}
	return nil
}
