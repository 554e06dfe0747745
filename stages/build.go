package stages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pgpipeline/builder"
	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/proc"
)

// Build is the kind that turns what fetch brought into an install tree.
var Build = engine.Kind{
	Name: "build",
	Doc: `Build the fetched source, or take over fetched binaries

The install tree that this makes runs from wherever it is, and build.json in it says what it can do. Tools and libraries that
are missing are named before anything is compiled, with the command that installs them. Compilers get a fixed environment;
their versions, those of the libraries and that environment are part of the cache key, and so is the CPU when the flags say
-march=native. As root, the build runs under an unprivileged account (PIPELINE_USER, else postgres or nobody).`,
	Scope:     engine.Host,
	Takes:     []engine.Take{{Kind: "fetch"}},
	Catalogue: "builds",
	Fragments: map[string]string{
		"def": `recipe: autotools
configure:
  enable-debug: true
  with-lz4: {value: true, since: 14}
`,
		"prebuilt": "recipe: prebuilt\n",
	},
	New: func() engine.Stage {
		return &BuildStage{Recipe: builder.Autotools, Contrib: []string{"pgstattuple", "pg_prewarm"}}
	},
	Heavy: true,
}

// BuildStage is the parameters of a build stage.
type BuildStage struct {
	Recipe    Recipe                 `yaml:"recipe" doc:"how to build: autotools (11 and later), meson (16 and later), or prebuilt for a tree of binaries"`
	CFLAGS    string                 `yaml:"cflags" doc:"compiler flags in place of the default -O2; warnings and -g (enable-debug) come on top"`
	LDFLAGS   string                 `yaml:"ldflags" doc:"linker flags"`
	Configure map[string]BuildOption `yaml:"configure" doc:"options of configure without the leading dashes, such as with-lz4: true or with-blocksize: 16; a value can have bounds: {value: true, since: 14}; null removes an inherited option"`
	Contrib   []string               `yaml:"contrib,one" doc:"folders below contrib/ to build as well; all for every one"`
	Patches   []string               `yaml:"patches,one" doc:"patches to apply with -p1, in order: file names beside the experiment, or the text itself"`
	Make      []string               `yaml:"make,one" doc:"further arguments of make or ninja"`
	// Env of the build. A secret's value is not in the key.
	Env  map[string]BuildVariable `yaml:"env" doc:"further environment variables of the build, such as CC: clang; nothing else is passed on from the shell. {secret: NAME} takes the value of this program's own variable NAME, shows it nowhere, and keeps it out of the key: another value builds nothing again (--fresh build does)"`
	Jobs int                      `yaml:"jobs" key:"-" doc:"parallel compilations; one for each CPU unless given"`

	base string // folder of the experiment file
}

// Recipe is the name of a build recipe.
type Recipe string

// Enum lists the recipes.
func (Recipe) Enum() []string { return builder.Recipes() }

// BuildOption is one option of configure.
type BuildOption struct {
	Value    string         `yaml:"value,scalar" doc:"true, false, or what follows the ="`
	Since    engine.Version `yaml:"since" doc:"first server version that gets the option"`
	Until    engine.Version `yaml:"until" doc:"last server version that gets the option"`
	Optional bool           `yaml:"optional" doc:"left out, with a warning, where this machine lacks its library"`
}

// SetBase says where relative file names start.
func (b *BuildStage) SetBase(dir string) { b.base = dir }

// optionName is the form of an option; meson's own options begin with D.
var optionName = regexp.MustCompile(`^(D[a-z][a-z0-9_]*|(with|without|enable|disable)-[a-z0-9][a-z0-9-]*)$`)

// Check refuses parameters that no build could take.
func (b *BuildStage) Check(engine.HostFacts) error {
	if b.Jobs < 0 {
		return &engine.FieldError{Field: "jobs", Err: fmt.Errorf("jobs is %d", b.Jobs), Hint: "leave it out for one job per CPU"}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Configure)) {
		if !optionName.MatchString(name) {
			return &engine.FieldError{Field: "configure." + name, Err: fmt.Errorf("%q is no option of configure that can be set here", name),
				Hint: "with-…, without-…, enable-… or disable-…, without leading dashes; paths are the runner's"}
		}
	}
	for _, name := range b.Contrib {
		if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
			return &engine.FieldError{Field: "contrib", Err: fmt.Errorf("%q is no folder below contrib/", name)}
		}
	}
	if err := b.checkEnv(); err != nil {
		return err
	}
	return b.checkPrebuilt()
}

// checkPrebuilt refuses what binaries that exist already cannot have.
func (b *BuildStage) checkPrebuilt() error {
	if builder.Compiles(string(b.Recipe)) {
		return nil
	}
	given := []struct {
		field string
		set   bool
	}{{"cflags", b.CFLAGS != ""}, {"ldflags", b.LDFLAGS != ""}, {"configure", len(b.Configure) > 0}, {"patches", len(b.Patches) > 0},
		{"make", len(b.Make) > 0}}
	for _, g := range given {
		if g.set {
			return &engine.FieldError{Field: g.field, Err: fmt.Errorf("recipe %q compiles nothing, so %s has no meaning", b.Recipe, g.field)}
		}
	}
	return nil
}

// Fingerprint is what the machine contributes: the toolchain, the environment of children, and the content of patch files.
func (b *BuildStage) Fingerprint(ctx context.Context, host engine.HostFacts) ([]string, error) {
	if !builder.Compiles(string(b.Recipe)) {
		return nil, nil
	}
	lines, err := builder.Toolchain(ctx, builder.Tools{Recipe: string(b.Recipe), Configure: b.allOptions(), Env: b.plainEnv(),
		Flags: []string{b.CFLAGS, b.LDFLAGS}})
	if err != nil {
		return nil, err
	}
	lines = append(lines, "architecture: "+host.Arch)
	for _, kv := range builder.FixedEnv() {
		name, value, _ := strings.Cut(kv, "=")
		lines = append(lines, "environment "+name+": "+value)
	}
	texts, err := b.patchTexts()
	for i, text := range texts {
		sum := sha256.Sum256([]byte(text))
		lines = append(lines, fmt.Sprintf("patch %d: sha256 %s", i+1, hex.EncodeToString(sum[:])))
	}
	return lines, err
}

// Run builds.
func (b *BuildStage) Run(ctx context.Context, env *engine.Env) error {
	as, err := proc.Unprivileged()
	if err != nil {
		return err
	}
	variables, err := b.environment()
	if err != nil {
		return err
	}
	source := env.Inputs["fetch"].Dir
	spec := builder.Spec{Recipe: string(b.Recipe), Source: source, Dest: env.Dir, Scratch: env.Scratch, CFLAGS: b.CFLAGS, LDFLAGS: b.LDFLAGS,
		Make: b.Make, Env: variables, Contrib: b.Contrib, Jobs: b.Jobs, As: as, Log: env.Log,
		Progress: func(what string, done, total float64) {
			env.Progress(engine.Progress{What: what, Done: done, Total: total, Unit: "files"})
		}}
	if spec.Patches, err = b.patchTexts(); err != nil {
		return err
	}
	if builder.Compiles(spec.Recipe) {
		version, err := builder.SourceVersion(source)
		if err != nil {
			return err
		}
		spec.Configure = b.options(engine.Version(version), env.Warn)
	}
	result, err := builder.Build(ctx, spec)
	if err != nil {
		return err
	}
	for name, value := range result.Facts {
		env.Fact(name, value)
	}
	return writeBuild(env.Dir, buildInfo(spec, result))
}

func buildInfo(s builder.Spec, r builder.Result) BuildInfo {
	return BuildInfo{Version: r.Version, VersionNum: builder.VersionNum(r.Version), BinDir: r.BinDir, Features: r.Features,
		Configure: r.Configure, CFLAGS: s.CFLAGS, LDFLAGS: s.LDFLAGS, Recipe: s.Recipe, HasContrib: r.Extensions}
}

// text is the option as configure takes it; false takes it back to the default, which is not to name it.
func (o BuildOption) text(name string) (string, bool) {
	switch o.Value {
	case "false":
		return "", false
	case "true", "":
		return "--" + name, true
	}
	if strings.HasPrefix(name, "D") {
		return "-" + name + "=" + o.Value, true
	}
	return "--" + name + "=" + o.Value, true
}

// options are those for one version, in the order of their names. An optional one whose library is not there is left out, and
// that is said.
func (b *BuildStage) options(version engine.Version, warn func(format string, args ...any)) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(b.Configure)) {
		o := b.Configure[name]
		text, given := o.text(name)
		if !given || !version.Within(o.Since, o.Until) {
			continue
		}
		_, library, _ := strings.Cut(name, "-")
		if o.Optional && !builder.HasLibrary(library, b.plainEnv()) {
			warn("built without %s, whose library is not on this machine: %s", text, builder.LibraryHint(library))
			continue
		}
		out = append(out, text)
	}
	return out
}

// allOptions are those that some version gets.
func (b *BuildStage) allOptions() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(b.Configure)) {
		if text, given := b.Configure[name].text(name); given {
			out = append(out, text)
		}
	}
	return out
}

// maxPatchBytes bounds what is read as a patch; the name may be that of anything.
const maxPatchBytes = 16 << 20

// patchTexts returns the patches: what has a line end is the text itself, all else a file name.
func (b *BuildStage) patchTexts() ([]string, error) {
	var texts []string
	for _, p := range b.Patches {
		if strings.Contains(p, "\n") {
			texts = append(texts, p)
			continue
		}
		path := p
		if !filepath.IsAbs(p) {
			path = filepath.Join(b.base, p)
		}
		info, err := os.Stat(path)
		if err == nil && (!info.Mode().IsRegular() || info.Size() > maxPatchBytes) {
			err = errors.New("not a file of at most 16 MiB")
		}
		if err != nil {
			return nil, fmt.Errorf("read patch %q: %w", p, err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read patch %q: %w", p, err)
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}
