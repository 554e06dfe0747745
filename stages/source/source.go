package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-getter/v2"
)

var noTime time.Time

// Resolved is a source that does not move any more: what belongs in a lock file.
type Resolved struct {
	// Address gets the same content for ever, or nothing. Secrets in it are masked.
	Address string
	Version string // of what is fetched, such as "15.18"; "" when the address does not tell
	// SHA256 is that of the file, or of the listing of a folder (see treeHash); "" for git, whose address has the commit,
	// and for npm, whose address has the registry's sha512.
	SHA256 string
	Files  map[string]string // file name -> sha256, for sources of several files
	// Notes say what was decided on the way: an address that did not answer, a version that is not served.
	Notes []string
	// Verified says what the content will be compared with; "" when nobody gave a checksum.
	Verified string
}

// Facts say what was fetched.
type Facts struct {
	Address  string // that answered; masked
	Version  string
	SHA256   string // of the file or folder; "" for git
	Verified string // "sha256 of the experiment", "signed apt index", ..., or Unverified
	Files    int
	Bytes    int64
	Notes    []string
}

// Unverified is the value of Facts.Verified when nobody gave a checksum.
const Unverified = "unverified: no checksum"

// Options are shared by Resolve and Fetch.
type Options struct {
	// Scratch is a private folder, on the file system of the destination; "" makes one in the temporary directory.
	Scratch string
	// SHA256 is what the file must hash to; "" when unknown. SHA256Origin says who wants it: "the experiment" by default.
	SHA256       string
	SHA256Origin string
	// Base is the folder of the experiment file, for relative paths; "" is the current one. Files that were put by hand
	// into distfiles/ below it are used instead of a download when the sha256 fits.
	Base string
	// Mirrors are further addresses of the same content, for Fetch.
	Mirrors  []string
	Log      io.Writer
	Progress func(what string, done, total float64) // bytes; total 0 is unknown
	Limits   Limits
	// Held keeps what Resolve had to download for the Fetch that follows; nil forgets it.
	Held *Held
}

// Check says what is wrong with an address that can be told without looking anywhere.
func Check(addr, base string) error {
	j := &job{Options: Options{Base: base}, mask: newMasker([]string{addr})}
	a, err := j.parse(addr)
	if err == nil {
		if c, ok := a.getter.(interface{ check(*address) error }); ok {
			err = c.check(a)
		}
	}
	if err == nil && a.checksum != "" && !strings.HasPrefix(a.checksum, "file:") {
		_, err = parseDigest(a.checksum, "")
	}
	return j.mask.error(err)
}

// programsOf are the programs that a kind of source runs, by the word that selects it.
var programsOf = map[string]string{
	"git": "git", "apt": "apt-get, apt-cache, apt-config and apt-helper", "npm": "npm",
	"system": "pg_config and postgres --version of the installed server", "file": "git, where a folder is a working tree",
}

// Programs lists what is run to bring addresses here, as people read it. Any archive may also be unpacked by a program.
func Programs(addrs []string, base string) []string {
	var out []string
	unpacks := false
	for _, addr := range addrs {
		a, err := (&job{Options: Options{Base: base}}).parse(addr)
		if err != nil {
			continue // Check says so
		}
		kind := a.getter.name()
		if text := programsOf[kind]; text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
		unpacks = unpacks || kind != "git" && kind != "system"
	}
	if unpacks {
		out = append(out, "bzip2, xz or zstd, where it is packed so")
	}
	return out
}

// Local says whether an address is about a folder or an installation on this machine, which may be another one tomorrow.
func Local(addr, base string) bool {
	a, err := (&job{Options: Options{Base: base}}).parse(addr)
	if err != nil {
		return false
	}
	switch g := a.getter.(type) {
	case *systemGetter:
		return true
	case *localGetter:
		_, isDir, err := g.path(a)
		return err != nil || isDir
	}
	return false
}

// A job is one call of Resolve or Fetch.
type job struct {
	Options
	mask *masker
	apt  map[string]*aptState // by suite, with its indexes: alternatives are often packages of one suite
}

func newJob(opt Options, addrs []string) (*job, func(), error) {
	j := &job{Options: opt, mask: newMasker(append(append([]string(nil), addrs...), opt.Mirrors...)), apt: map[string]*aptState{}}
	j.Limits = j.Limits.orDefault()
	if j.Log == nil {
		j.Log = io.Discard
	}
	if j.Progress == nil {
		j.Progress = func(string, float64, float64) {}
	}
	if j.SHA256Origin == "" {
		j.SHA256Origin = "the experiment"
	}
	if j.SHA256 != "" {
		d, err := parseDigest(j.SHA256, j.SHA256Origin)
		if err == nil && d.algorithm != "sha256" {
			err = fmt.Errorf("checksum %q: not a sha256", j.SHA256)
		}
		if err != nil {
			return nil, nil, err
		}
		j.SHA256 = d.hex
	}
	// Programs that drop their privileges (apt) have to get in, so the folder is open to readers. Secrets are not in it.
	dir, err := os.MkdirTemp(j.Scratch, "source-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("scratch folder: %w", explain(err))
	}
	j.Scratch = dir
	return j, func() { os.RemoveAll(dir) }, nil
}

func (j *job) base() string {
	dir := j.Base
	if dir == "" {
		dir = "."
	}
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

func (j *job) logf(format string, args ...any) {
	fmt.Fprintln(j.Log, j.mask.text(fmt.Sprintf(format, args...)))
}

// Resolve turns the first of the addresses that answers into a fixed one. It uses the network only where the address
// moves (a branch, a package without a version) or where the checksum of a file is not known.
func Resolve(ctx context.Context, addrs []string, opt Options) (Resolved, error) {
	if len(addrs) == 0 {
		return Resolved{}, errors.New("no address to fetch from")
	}
	j, done, err := newJob(opt, addrs)
	if err != nil {
		return Resolved{}, err
	}
	defer done()
	var failed []error
	var notes []string
	for _, given := range addrs {
		r, err := j.resolve(ctx, given)
		if err == nil {
			r.Notes = append(notes, r.Notes...)
			return j.masked(r), nil
		}
		if ctx.Err() != nil {
			return Resolved{}, ctx.Err()
		}
		err = j.mask.error(explain(err))
		j.logf("%s: %v", Mask(given), err)
		failed = append(failed, fmt.Errorf("%s: %w", Mask(given), err))
		notes = append(notes, fmt.Sprintf("%s was not used: %s", Mask(given), firstLine(err)))
	}
	return Resolved{}, together(failed)
}

func (j *job) resolve(ctx context.Context, given string) (Resolved, error) {
	a, err := j.parse(given)
	if err != nil {
		return Resolved{}, err
	}
	r, err := a.getter.resolve(ctx, a)
	if err == nil && j.SHA256 != "" && r.SHA256 != "" && r.SHA256 != j.SHA256 {
		err = fmt.Errorf("it has sha256 %s, but %s wants %s", r.SHA256, j.SHA256Origin, j.SHA256)
	}
	return r, err
}

func (j *job) masked(r Resolved) Resolved {
	r.Address = Mask(r.Address)
	for i, n := range r.Notes {
		r.Notes[i] = j.mask.text(n)
	}
	return r
}

// Content names what the source is, whatever address it comes from: the pre-image of a cache key.
func (r Resolved) Content() string {
	id := r.SHA256
	switch {
	case id != "":
		id = "sha256:" + id
	default:
		id = identity(r.Address)
	}
	if sub := subdirOf(r.Address); sub != "" {
		id += " folder " + sub
	}
	if strings.Contains(r.Address, "archive=false") {
		id += " packed"
	}
	return id
}

// identity is the checksum or commit in a fixed address, or the address itself.
func identity(addr string) string {
	_, query, _ := strings.Cut(addr, "?")
	for _, p := range strings.Split(query, "&") {
		name, value, _ := strings.Cut(p, "=")
		switch {
		case name == "checksum":
			return value
		case name == "ref" && isCommit(value):
			return "git:" + value
		}
	}
	return addr
}

// Fetch fills the folder dest, which must be empty or absent, with the verified content of r. An archive is unpacked and
// stripped of a single top folder. When r's own address does not answer, the mirrors are tried.
func Fetch(ctx context.Context, r Resolved, dest string, opt Options) (Facts, error) {
	if opt.SHA256 == "" && r.SHA256 != "" {
		opt.SHA256 = r.SHA256
		opt.SHA256Origin = "the lock file"
	}
	j, done, err := newJob(opt, append([]string{r.Address}, opt.Mirrors...))
	if err != nil {
		return Facts{}, err
	}
	defer done()
	if err := prepare(dest); err != nil {
		return Facts{}, explain(err)
	}
	facts, err := j.fetch(ctx, r, dest)
	if err != nil {
		empty(dest)
		return Facts{}, j.mask.error(explain(err))
	}
	facts.Address = Mask(facts.Address)
	for i, n := range facts.Notes {
		facts.Notes[i] = j.mask.text(n)
	}
	return facts, nil
}

func (j *job) fetch(ctx context.Context, r Resolved, dest string) (Facts, error) {
	var failed []error
	var notes []string
	for _, given := range j.candidates(r) {
		facts, err := j.fetchFrom(ctx, given, r, dest)
		if err == nil {
			facts.Notes = append(notes, facts.Notes...)
			if facts.Version == "" {
				facts.Version = r.Version
			}
			return facts, nil
		}
		if ctx.Err() != nil {
			return Facts{}, ctx.Err()
		}
		if errors.Is(err, errTried) {
			continue
		}
		err = j.mask.error(explain(err))
		j.logf("%s: %v", Mask(given), err)
		failed = append(failed, fmt.Errorf("%s: %w", Mask(given), err))
		notes = append(notes, fmt.Sprintf("%s was not used: %s", Mask(given), firstLine(err)))
		empty(dest)
	}
	return Facts{}, together(failed)
}

// candidates are the addresses to fetch r from. The fixed one comes first; where it was masked, the address that it was
// made from says what is behind the mask.
func (j *job) candidates(r Resolved) []string {
	out := []string{unmask(r.Address, j.Mirrors)}
	for _, m := range j.Mirrors {
		if m != out[0] && m != r.Address {
			out = append(out, m)
		}
	}
	return out
}

// unmask puts the user information of the address that was written back into the fixed one.
func unmask(fixed string, written []string) string {
	if !strings.Contains(fixed, masked) {
		return fixed
	}
	for _, w := range written {
		hidden := Mask(w)
		if user := userinfo.FindString(hidden); user != "" && strings.Contains(fixed, user) {
			fixed = strings.Replace(fixed, user, userinfo.FindString(w), 1)
		}
		base, query, _ := strings.Cut(w, "?")
		if fixedBase, _, _ := strings.Cut(fixed, "?"); fixedBase != base {
			continue
		}
		for _, p := range strings.Split(query, "&") {
			if name, _, ok := strings.Cut(p, "="); ok && secretParam.MatchString(name) {
				fixed = strings.Replace(fixed, name+"="+masked, p, 1)
			}
		}
	}
	return fixed
}

// subdirOf is the subdirectory in an address.
func subdirOf(addr string) string {
	_, sub := getter.SourceDirSubdir(addr)
	sub, _, _ = strings.Cut(sub, "?")
	return sub
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// together makes one error of what every address said.
func together(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return fmt.Errorf("none of %d addresses could be used:\n%w", len(errs), errors.Join(errs...))
}
