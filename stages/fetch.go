package stages

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/source"
)

// Fetch is the kind that brings a source tree, or a tree of binaries, into the cache.
var Fetch = engine.Kind{
	Name: "fetch",
	Doc: `Bring a source tree or a tree of binaries

Sources are tried in order until one has what is wanted. What can be named:

  https://HOST/postgresql-17.0.tar.bz2      an archive (tar with gzip, bzip2, xz or zstd; zip) or a plain file
  git::https://HOST/postgres.git?ref=REF    a branch, a tag or a commit
  ../postgres, /src/pg.tar.gz               a folder or a file of this machine; of a git working tree what git would commit
  apt::postgresql-15                        the distribution's source package: also =VERSION and ?suite=trixie
  npm::PACKAGE@VERSION                      a package of the npm registry
  system::postgresql-15                     the server that is installed here: also a path, or nothing for the newest

Everywhere //FOLDER after the address takes that folder of it, and ?checksum=sha256:HEX (or a file: checksum=file:URL) is
verified. An archive is stripped of a single top folder. Branches, package names and tags are pinned when the experiment is
planned, and the lock file keeps what they were; a file without a checksum is pinned to the one that came first.`,
	Scope: engine.Pure,
	New:   func() engine.Stage { return &FetchStage{} },
}

// FetchStage is the parameters of a fetch stage. Addresses are not in its key, only what they stand for.
type FetchStage struct {
	Source []string `yaml:"source,one" key:"-" doc:"addresses of the same content, tried in order"`
	SHA256 string   `yaml:"sha256" key:"-" doc:"sha256 of the file; not needed for git, apt and npm, which bring their own, nor when the lock file has it"`

	base     string // folder of the experiment file
	resolved source.Resolved
}

// SetBase says where relative paths start.
func (f *FetchStage) SetBase(dir string) { f.base = dir }

var sha256Pattern = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

// Check refuses parameters that no machine could fetch.
func (f *FetchStage) Check(engine.HostFacts) error {
	if len(f.Source) == 0 {
		return &engine.FieldError{Field: "source", Err: errors.New("source is missing"),
			Hint: "one address or a list of mirrors, such as apt::postgresql-15"}
	}
	if f.SHA256 != "" && !sha256Pattern.MatchString(f.SHA256) {
		return &engine.FieldError{Field: "sha256", Err: fmt.Errorf("sha256 %q: not 64 hexadecimal digits", f.SHA256)}
	}
	for i, addr := range f.Source {
		if err := source.Check(addr, f.base); err != nil {
			field := "source"
			if len(f.Source) > 1 {
				field += "." + strconv.Itoa(i)
			}
			return &engine.FieldError{Field: field, Err: err}
		}
	}
	return nil
}

// Address names the source in the lock file.
func (f *FetchStage) Address() string { return source.Mask(f.Source[0]) }

var (
	// held keeps what planning had to download for the run that follows in the same process.
	held source.Held
	// resolutions remembers what this process resolved itself: the lock file's form says less. The key is the *engine.Pin
	// that was returned, by which the planner's next cell is told from a lock file, and its pinID.
	resolutions sync.Map
)

func pinID(p engine.Pin) string { return p.Resolved + " " + p.SHA256 }

// Pin turns the addresses into a fixed one. A lock that contradicts the experiment's own sha256 does not count; folders and
// installations of this machine are looked at anew, since they are what they are now.
func (f *FetchStage) Pin(ctx context.Context, locked *engine.Pin) (*engine.Pin, error) {
	if locked != nil && f.contradicts(*locked) {
		locked = nil
	}
	if own, ok := resolutions.Load(locked); ok { // another cell of this plan
		f.resolved = own.(source.Resolved)
		return locked, nil
	}
	if locked != nil && !source.Local(locked.Resolved, f.base) {
		return f.use(*locked), nil
	}
	r, err := source.Resolve(ctx, f.Source, f.options(source.Options{SHA256: f.SHA256}))
	if err != nil && locked != nil && ctx.Err() == nil {
		return f.use(*locked), nil // it may be in the cache
	}
	if err != nil {
		return nil, &engine.FieldError{Field: "source", Err: err}
	}
	pin := &engine.Pin{Resolved: r.Address, Version: r.Version, SHA256: r.SHA256, Files: r.Files}
	resolutions.Store(pin, r)
	resolutions.Store(pinID(*pin), r)
	f.resolved = r
	return pin, nil
}

func (f *FetchStage) contradicts(locked engine.Pin) bool {
	return f.SHA256 != "" && !strings.EqualFold(f.SHA256, locked.SHA256)
}

func (f *FetchStage) use(locked engine.Pin) *engine.Pin {
	if own, ok := resolutions.Load(pinID(locked)); ok {
		f.resolved = own.(source.Resolved)
		return &locked
	}
	f.resolved = source.Resolved{Address: locked.Resolved, Version: locked.Version, SHA256: locked.SHA256, Files: maps.Clone(locked.Files)}
	switch {
	case strings.EqualFold(f.SHA256, locked.SHA256) && f.SHA256 != "":
		f.resolved.Verified = "sha256 of the experiment"
	case locked.SHA256 != "":
		f.resolved.Verified = "sha256 of the lock file"
	}
	return &locked
}

func (f *FetchStage) options(opt source.Options) source.Options {
	opt.Base, opt.Held = f.base, &held
	return opt
}

// Fingerprint puts the pinned content, and nothing about where it comes from, into the key.
func (f *FetchStage) Fingerprint(context.Context, engine.HostFacts) ([]string, error) {
	if f.resolved.Address == "" {
		return nil, fmt.Errorf("%s has not been pinned", f.Address())
	}
	return []string{"content: " + f.resolved.Content()}, nil
}

// Run fetches, verifies and unpacks.
func (f *FetchStage) Run(ctx context.Context, env *engine.Env) error {
	for _, n := range f.resolved.Notes {
		fmt.Fprintln(env.Log, n)
	}
	facts, err := source.Fetch(ctx, f.resolved, env.Dir, f.options(source.Options{
		Scratch: env.Scratch, Mirrors: f.Source, Log: env.Log,
		Progress: func(what string, done, total float64) {
			env.Progress(engine.Progress{What: what, Done: done, Total: total, Unit: "B"})
		},
	}))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{"source": facts.Address, "version": facts.Version, "sha256": facts.SHA256,
		"verified": facts.Verified, "files": strconv.Itoa(facts.Files)} {
		if value != "" {
			env.Fact(name, value)
		}
	}
	if notes := append(f.resolved.Notes, facts.Notes...); len(notes) > 0 {
		env.Fact("notes", strings.Join(notes, "; "))
	}
	if strings.HasPrefix(facts.Verified, "unverified") {
		env.Warn("%s: %s (its sha256 is %s; write that under fetch, or keep the lock file)", facts.Address, facts.Verified, facts.SHA256)
	}
	return nil
}
