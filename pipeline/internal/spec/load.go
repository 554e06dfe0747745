package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pgpipeline/pipeline/internal/lang"
)

// document is the top level of an experiment file. Catalogues have the names that the stage kinds give them.
type document struct {
	Version    int               `yaml:"version,required" doc:"version of this format: 1"`
	Name       string            `yaml:"name" doc:"name of the experiment; the file's name when absent"`
	Doc        string            `yaml:"doc" doc:"what the experiment finds out, in a sentence"`
	Include    []*Value          `yaml:"include,one" doc:"files with named fragments, variables and groups, relative to this file"`
	Vars       *Value            `yaml:"vars" doc:"variables for ${ }; --set NAME=VALUE overrides one"`
	Matrix     *Value            `yaml:"matrix" doc:"axes: every combination of their values is a cell; exclude drops cells, include adds one"`
	Baseline   *Value            `yaml:"baseline" doc:"the base cell: the axes named here are compared, the others are facets"`
	Stages     *Value            `yaml:"stages,required" doc:"what is done, in order"`
	Assert     *Value            `yaml:"assert" doc:"what must hold"`
	Groups     *Value            `yaml:"groups" doc:"named groups of steps: lists of step globs"`
	Gate       GateDecl          `yaml:"gate" doc:"how the verdict becomes an exit code"`
	Catalogues map[string]*Value `yaml:",inline"`
}

// library is the top level of an included file.
type library struct {
	Version    int               `yaml:"version" doc:"version of this format: 1"`
	Doc        string            `yaml:"doc" doc:"what the file holds"`
	Include    []*Value          `yaml:"include,one" doc:"further files, relative to this one"`
	Vars       *Value            `yaml:"vars" doc:"variables for ${ }"`
	Groups     *Value            `yaml:"groups" doc:"named groups of steps: lists of step globs"`
	Catalogues map[string]*Value `yaml:",inline"`
}

// Load reads an experiment and everything that it includes. A file that cannot be read is reported as such; all other errors
// are Errors.
func Load(path string, opt Options) (*Experiment, error) {
	if opt.ReadFile == nil {
		opt.ReadFile = readRegular
	}
	text, err := opt.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read experiment %q: %w", path, cause(err))
	}
	sum := sha256.Sum256(text)
	l := &loader{opt: opt, places: map[string]*Value{}, exp: &Experiment{
		Path: path, Text: text, SHA256: hex.EncodeToString(sum[:]), Set: opt.Set, Catalogues: map[string]map[string]*Value{},
		Groups: map[string][]string{}, sources: map[string]*source{},
	}}
	l.experiment(text)
	if err := l.errs.Tidy(); err != nil {
		return nil, err
	}
	return l.exp, nil
}

// readRegular reads a file of bounded size. Pipes and devices are refused: an include could otherwise hang for ever.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// IsNotExist reports whether Load failed because there is no such experiment.
func IsNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// cause strips the path that our own message already has.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

type loader struct {
	opt    Options
	exp    *Experiment
	errs   Errors
	places map[string]*Value // what was defined -> where, over all files
	chain  []string          // files being read, outermost first
}

func (l *loader) fail(v *Value, hint, format string, args ...any) {
	l.failAt(v, v.Pos, hint, format, args...)
}

// failAt reports an error about a key: in has the file that the place is in.
func (l *loader) failAt(in *Value, at Pos, hint, format string, args ...any) {
	if !l.errs.full() {
		l.errs = append(l.errs, in.src.errorAt(at, hint, fmt.Sprintf(format, args...)))
	}
}

// experiment reads the main file. Includes come first, because later parts refer to what they define.
func (l *loader) experiment(text []byte) {
	root, ok := l.parse(l.exp.Path, text)
	if !ok {
		return
	}
	var doc document
	l.errs.add(Decode(root, &doc))
	l.builtins()
	l.version(root, doc.Version)
	l.name(root, doc.Name)
	l.exp.Doc, l.exp.Gate = strings.TrimSpace(doc.Doc), doc.Gate
	l.chain = append(l.chain, filepath.Clean(l.exp.Path))
	l.includes(doc.Include)
	l.vars(doc.Vars)
	l.groups(doc.Groups)
	l.catalogues(root, doc.Catalogues, knownKeys(document{}))
	l.overrides()
	l.matrix(doc.Matrix)
	l.baseline(doc.Baseline)
	l.axisNames()
	l.stages(doc.Stages)
	l.asserts(doc.Assert)
	l.fragments()
}

func (l *loader) parse(path string, text []byte) (*Value, bool) {
	root, src, err := parse(path, text)
	if src != nil {
		l.exp.sources[path] = src
	}
	l.errs.add(err)
	if err != nil {
		return nil, false
	}
	if root.Kind != Map {
		l.fail(root, `begin it with "version: 1"`, "an experiment is a mapping, not %s", root.describe())
		return nil, false
	}
	return root, true
}

func (l *loader) version(root *Value, version int) {
	l.exp.Version = version
	v := root.Get("version")
	if v == nil || version == 1 || v.Kind != Scalar {
		return
	}
	if _, err := strconv.Atoi(v.Text); err == nil {
		l.fail(v, "this tool reads version 1", "unknown version %s", quote(v.Text))
	}
}

var (
	experimentName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]*$`)
	notInName      = regexp.MustCompile(`[^a-z0-9_.-]+`)
	identifier     = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

func (l *loader) name(root *Value, name string) {
	if v := root.Get("name"); v != nil && v.Kind == Scalar {
		if !experimentName.MatchString(name) || len(name) > 100 {
			l.fail(v, "use a-z, 0-9, - _ .", "%s cannot be the name of an experiment", quote(name))
		}
		l.exp.Name = name
		return
	}
	base := filepath.Base(l.exp.Path)
	base = strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base)))
	l.exp.Name = strings.TrimLeft(notInName.ReplaceAllString(base, "-"), "-_.")
	if l.exp.Name == "" {
		l.exp.Name = "experiment"
	}
}

// define notes where something was defined, and refuses a second definition.
func (l *loader) define(what, name string, k Key) bool {
	id := what + " " + name
	if first, twice := l.places[id]; twice {
		where := "built in"
		if first.Line > 0 {
			where = "the first one is at " + first.Pos.String()
		}
		l.failAt(k.Value, k.Pos, where, "%s %s is defined twice", what, quote(name))
		return false
	}
	l.places[id] = &Value{Pos: k.Pos, src: k.Value.src}
	return true
}

// vars takes the variables of one file.
func (l *loader) vars(v *Value) {
	for _, k := range l.entries("vars", v) {
		if !l.identifier("variable", k) || !l.define("variable", k.Name, k) {
			continue
		}
		if k.Value.Kind != Scalar {
			l.fail(k.Value, emptyHint(k.Value), "variable %q must be a single value, not %s", k.Name, k.Value.describe())
			continue
		}
		l.exp.Vars = append(l.exp.Vars, Var{Name: k.Name, Pos: k.Pos, Value: k.Value})
	}
}

// entries returns the keys of a mapping that may be absent.
func (l *loader) entries(name string, v *Value) []Key {
	if v == nil || v.Kind == Null {
		return nil
	}
	if v.Kind != Map {
		l.fail(v, "", "%q must be a mapping, not %s", name, v.describe())
	}
	return v.Keys
}

// identifier checks a name that expressions use.
func (l *loader) identifier(what string, k Key) bool {
	hint := "use letters, digits and _, because ${ } refers to it"
	switch {
	case lang.Reserved(k.Name) || k.Name == "host":
		hint = "the word has a meaning of its own in ${ }"
	case identifier.MatchString(k.Name):
		return true
	}
	l.failAt(k.Value, k.Pos, hint, "%s cannot be the name of a %s", quote(k.Name), what)
	return false
}

func (l *loader) groups(v *Value) {
	for _, k := range l.entries("groups", v) {
		if !l.define("group", k.Name, k) {
			continue
		}
		globs, err := k.Value.names(k.Name)
		if err != nil || len(globs) == 0 {
			l.fail(k.Value, `such as ["random-points*"]`, "group %q must be a list of step globs", k.Name)
			continue
		}
		for _, g := range globs {
			l.exp.Groups[k.Name] = append(l.exp.Groups[k.Name], g.Text)
		}
	}
}

// overrides applies --set.
func (l *loader) overrides() {
	for _, s := range l.opt.Set {
		name, value, ok := strings.Cut(s, "=")
		from := "--set " + s
		if !ok {
			l.errs = append(l.errs, &Error{Msg: fmt.Sprintf("--set %s: no =", quote(s)), Hint: "write --set NAME=VALUE"})
			continue
		}
		i := slices.IndexFunc(l.exp.Vars, func(v Var) bool { return v.Name == name })
		if i < 0 {
			l.errs = append(l.errs, &Error{Msg: fmt.Sprintf("--set: unknown variable %s", quote(name)), Hint: l.unknownVar(name)})
			continue
		}
		l.exp.sources[from] = newSource(from, value)
		l.exp.Vars[i].Value = &Value{Pos: Pos{from, 1, 1}, Kind: Scalar, Text: value, Quoted: true, src: l.exp.sources[from],
			template: lang.HasTemplate(value)}
		l.exp.Vars[i].Set = true
	}
}

func (l *loader) unknownVar(name string) string {
	var known []string
	for _, v := range l.exp.Vars {
		known = append(known, v.Name)
	}
	if len(known) == 0 {
		return "the experiment has no vars"
	}
	return lang.Suggest(name, known)
}
