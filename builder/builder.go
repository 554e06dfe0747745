// Package builder turns a PostgreSQL source tree, or a tree of finished binaries, into an install tree. It knows nothing of
// experiments, caches or servers.
//
// Read this file first. Build goes one way:
//
//  1. the version is read from the source tree (source.go);
//  2. tools and libraries that are missing are named before anything runs, with the command that installs them (require.go);
//  3. a private work place is laid out below Scratch and given to the account that builds (job.go), with a compiler front
//     that keeps paths out of the result (compiler.go), and a patched copy of the source when there are patches (patch.go);
//  4. the recipe builds and installs into a staging folder: one file each (autotools.go, meson.go, prebuilt.go);
//  5. the staged tree is moved to Dest, taken from the account (tree.go), and its programs are run once (inspect.go).
//
// What Toolchain (toolchain.go) says belongs in the cache key of whoever keeps the result.
package builder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"pgpipeline/pipeline/proc"
)

// The names of the recipes.
const (
	Autotools = "autotools"
	Meson     = "meson"
	Prebuilt  = "prebuilt"
)

// Spec says what is to be built, from what, and where.
type Spec struct {
	// Recipe is one of Recipes().
	Recipe string
	// Source is the tree to build from; nothing is written in it. Dest is the install tree to be filled. Scratch is a
	// private directory on the file system of Dest; it is given to As and its content is of no use afterwards.
	Source, Dest, Scratch string

	CFLAGS, LDFLAGS string
	// Configure holds options of the source's configure script, already chosen for its version.
	Configure []string
	// Make holds further arguments of make or ninja.
	Make []string
	// Env is added to the fixed environment that compilers get.
	Env map[string]string
	// Patches are texts of patches, applied in order with -p1.
	Patches []string
	// Contrib names directories below contrib/; "all" takes all of them.
	Contrib []string
	// Jobs is the number of parallel compilations; 0: one for each CPU.
	Jobs int
	// As is the account that builds; nil: the own user.
	As *proc.Account
	// Log gets everything that the tools print; nil discards it.
	Log io.Writer
	// Progress is told how far the build is; total 0 means unknown. It may be nil.
	Progress func(what string, done, total float64)
}

// Result is what was built.
type Result struct {
	Version string // "18.6", "19devel"
	BinDir  string // relative to Dest
	// Facts that are worth showing: version, configure, cflags, ...
	Facts map[string]string
	// Features of the server that depend on how it was built, true or false: see Features.
	Features map[string]bool
	// Extensions that the tree can create, sorted.
	Extensions []string
	// Configure is the line of options that the server reports, when it reports one.
	Configure string
}

// recipe is one way from a source to a staged install tree. A new one is a file with such a value and a line in recipes.
type recipe struct {
	name string
	doc  string
	// minMajor is the oldest major version that the recipe can build; 0: any.
	minMajor int
	compiles bool
	// needs lists what must be on the machine.
	needs func(q Query) []need
	// build fills j.stage and returns the root of the install tree below it.
	build func(ctx context.Context, j *job) (root string, err error)
}

var recipes = []*recipe{&autotools, &meson, &prebuilt}

// Recipes returns the names of all recipes.
func Recipes() []string {
	names := make([]string, len(recipes))
	for i, r := range recipes {
		names[i] = r.name
	}
	return names
}

func findRecipe(name string) (*recipe, error) {
	for _, r := range recipes {
		if r.name == name {
			return r, nil
		}
	}
	return nil, fmt.Errorf("unknown recipe %q; there are %s", name, strings.Join(Recipes(), ", "))
}

// Compiles says whether a recipe runs a compiler, so that its result depends on the toolchain.
func Compiles(recipe string) bool {
	r, err := findRecipe(recipe)
	return err == nil && r.compiles
}

// Build builds s. The error is a *MissingError when tools or libraries are missing and a *CommandError when a command of
// the build did not succeed.
func Build(ctx context.Context, s Spec) (Result, error) {
	r, err := findRecipe(s.Recipe)
	if err != nil {
		return Result{}, err
	}
	version, err := checkSource(r, s)
	if err != nil {
		return Result{}, err
	}
	missing := Requirements(Query{Recipe: s.Recipe, Version: version, Source: s.Source, Configure: s.Configure,
		Env: s.Env, Patches: s.Patches})
	if len(missing) > 0 {
		return Result{}, &MissingError{Missing: missing}
	}
	j, err := newJob(s, version)
	if err != nil {
		return Result{}, err
	}
	root, err := r.build(ctx, j)
	if err != nil {
		return Result{}, err
	}
	j.progress("install", 0, 0)
	if err := adopt(root, s.Dest); err != nil {
		return Result{}, err
	}
	return inspect(ctx, j)
}

// checkSource returns the version of the source; "" for a tree of binaries, which must be asked.
func checkSource(r *recipe, s Spec) (string, error) {
	if !r.compiles {
		if len(s.Patches) > 0 {
			return "", fmt.Errorf("recipe %q cannot apply patches: it has no source", r.name)
		}
		return "", nil
	}
	version, err := SourceVersion(s.Source)
	if err != nil {
		return "", err
	}
	if r.minMajor > 0 && Major(version) < r.minMajor {
		return "", fmt.Errorf("PostgreSQL %s cannot be built with recipe %q, which takes %d and later; use recipe %q",
			version, r.name, r.minMajor, Autotools)
	}
	return version, nil
}

// jobs is the number of parallel compilations.
func (s *Spec) jobs() int {
	if s.Jobs > 0 {
		return s.Jobs
	}
	return runtime.NumCPU()
}

func (s *Spec) progress(what string, done, total float64) {
	if s.Progress != nil {
		s.Progress(what, done, total)
	}
}

// contribDirs checks the names in Contrib against the source. With "all" it returns just that.
func (s *Spec) contribDirs() ([]string, error) {
	if slices.Contains(s.Contrib, "all") {
		return []string{"all"}, nil
	}
	var errs []error
	for _, name := range s.Contrib {
		st, err := os.Stat(joinSource(s.Source, "contrib", name))
		if err != nil || !st.IsDir() {
			errs = append(errs, fmt.Errorf("the source has no contrib/%s", name))
		}
	}
	return s.Contrib, errors.Join(errs...)
}
