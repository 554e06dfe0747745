package stages

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/driver"
	"pgpipeline/stages/external"
	"pgpipeline/stages/sqlscript"
	"pgpipeline/stages/workload"
)

// RunProgram is the part of a step that the experiment brings itself: SQL files that our own driver runs, or another load
// generator.
type RunProgram struct {
	Script  []string          `yaml:"script,one" doc:"SQL files in the syntax of pgbench scripts, several with weights as FILE@WEIGHT; with a driver, its script"`
	Driver  string            `yaml:"driver" doc:"pgbench or sysbench runs the step; absent: our own driver runs the SQL files"`
	Args    []string          `yaml:"args" doc:"further arguments of the driver"`
	Prepare []string          `yaml:"prepare" doc:"arguments of a call of the driver before the step, such as [-i, -s, 10] for pgbench; not measured"`
	Name    string            `yaml:"name" doc:"name of the step; absent: that of the first script"`
	Class   string            `yaml:"class" doc:"whole: one uninterrupted stretch; steady: the step only reads and is measured in slices that alternate"`
	Set     map[string]string `yaml:"set" doc:"variables of SQL scripts and their values"`
}

// given reports whether anything of it is.
func (p RunProgram) given() bool {
	return len(p.Script) > 0 || p.Driver != "" || len(p.Args) > 0 || p.Prepare != nil || p.Name != "" || p.Class != "" || len(p.Set) > 0
}

// programs are the kinds of such steps, by their place in the list. Files are read once: what was planned is what runs.
type programs struct {
	base  string
	kinds map[int]*workload.Kind
	lines map[string]string // of the fingerprint: file -> sha256
	runs  []string          // what external drivers are called with
}

// SetBase says where relative file names start.
func (r *RunStage) SetBase(dir string) { r.programs = programs{base: dir} }

// Fingerprint is the content of the files that the steps run, and the versions of other load generators.
func (r *RunStage) Fingerprint(ctx context.Context, _ engine.HostFacts) ([]string, error) {
	if _, err := r.resolve(workload.Params{Tables: 1, Rows: 1}); err != nil {
		return nil, err
	}
	lines := map[string]string{}
	maps.Copy(lines, r.programs.lines)
	for _, k := range r.programs.kinds {
		if k != nil && k.Tool != nil {
			version, err := k.Tool.Version(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k.Tool.Name, err)
			}
			lines["version of "+k.Tool.Name] = version
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		out = append(out, name+": "+lines[name])
	}
	return out, nil
}

// kind is the kind of step i, or nil when it is a published step.
func (p *programs) kind(i int, s RunStep) (*workload.Kind, error) {
	if !s.Own.given() {
		return nil, nil
	}
	if k, ok := p.kinds[i]; ok {
		return k, nil
	}
	if s.Step != "" || s.List != "" || s.Range != 0 || s.Pre || s.Rows != 0 || s.Commit != 0 {
		return nil, fmt.Errorf("a step with a script or a driver takes no step, list, range, pre, rows or rows_per_commit")
	}
	k, err := p.build(s.Own)
	if err != nil {
		return nil, err
	}
	if p.kinds == nil {
		p.kinds = map[int]*workload.Kind{}
	}
	p.kinds[i] = k
	return k, nil
}

// stepNamePattern keeps names out of the way of the language's own signs.
var stepNamePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func (p *programs) build(own RunProgram) (*workload.Kind, error) {
	k := &workload.Kind{Name: own.Name, Class: own.Class, Unit: "queries"}
	if k.Class == "" {
		k.Class = workload.Whole
	}
	if k.Class != workload.Whole && k.Class != workload.Steady {
		return nil, fmt.Errorf("class: %q is neither whole nor steady", own.Class)
	}
	k.Writes = k.Class == workload.Whole
	files, err := p.scripts(own.Script)
	if err != nil {
		return nil, err
	}
	if k.Name == "" {
		k.Name = own.Driver
		if len(files) > 0 {
			k.Name = strings.TrimSuffix(files[0].name, filepath.Ext(files[0].name))
		}
	}
	if !stepNamePattern.MatchString(k.Name) {
		return nil, fmt.Errorf("name: %q is not a name for a step: letters, digits, dots, dashes and underscores", k.Name)
	}
	if own.Driver != "" {
		return k, p.external(k, own, files)
	}
	for _, f := range files {
		p.runs = append(p.runs, "SQL of "+f.name)
	}
	return k, mixKind(k, own, files)
}

// scriptFile is one entry of `script`.
type scriptFile struct {
	name   string // base name
	path   string
	text   []byte // nil when there is no such file
	weight int
}

// scripts reads the files. A name without a file stays: it may be one that comes with the driver.
func (p *programs) scripts(list []string) ([]scriptFile, error) {
	var out []scriptFile
	for _, entry := range list {
		f := scriptFile{path: entry, weight: 1}
		if path, weight, ok := strings.Cut(entry, "@"); ok {
			n, err := strconv.Atoi(weight)
			if err != nil || n < 1 || n > 1_000_000 {
				return nil, fmt.Errorf("script %q: the weight behind @ is not a whole number from 1", entry)
			}
			f.path, f.weight = path, n
		}
		f.name = filepath.Base(f.path)
		for _, other := range out {
			if other.name == f.name {
				return nil, fmt.Errorf("script %q: two files have the name %s", entry, f.name)
			}
		}
		if !filepath.IsAbs(f.path) {
			f.path = filepath.Join(p.base, f.path)
		}
		var err error
		if f.text, err = p.read(f.path); err != nil && !os.IsNotExist(err) {
			return nil, fmt.Errorf("script %q: %w", entry, err)
		}
		out = append(out, f)
	}
	return out, nil
}

// maxScript bounds a file.
const maxScript = 1 << 20

// read returns a file and puts its content into the fingerprint.
func (p *programs) read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxScript {
		return nil, fmt.Errorf("it is larger than %d MiB", maxScript>>20)
	}
	if p.lines == nil {
		p.lines = map[string]string{}
	}
	name := path
	if rel, err := filepath.Rel(p.base, path); err == nil {
		name = filepath.ToSlash(rel) // the same file in another checkout is the same
	}
	p.lines["script "+name] = fmt.Sprintf("%x", sha256.Sum256(data))
	return append(make([]byte, 0, len(data)), data...), nil
}

// mixKind runs SQL files with our own driver.
func mixKind(k *workload.Kind, own RunProgram, files []scriptFile) error {
	if len(files) == 0 {
		return fmt.Errorf("step %q has no script", k.Name)
	}
	if len(own.Args) > 0 || own.Prepare != nil {
		return fmt.Errorf("step %q: args and prepare are for steps with a driver", k.Name)
	}
	mix := &sqlscript.Mix{Set: own.Set}
	var names []string
	for _, f := range files {
		if f.text == nil {
			return fmt.Errorf("script %q: there is no such file (in %s)", f.name, filepath.Dir(f.path))
		}
		s, err := sqlscript.Parse(f.name, string(f.text))
		if err != nil {
			return fmt.Errorf("script %w", err)
		}
		mix.Scripts = append(mix.Scripts, sqlscript.Weighted{Script: s, Weight: f.weight})
		names = append(names, f.name)
	}
	if err := mix.Check(); err != nil {
		return fmt.Errorf("script %w", err)
	}
	for _, w := range mix.Scripts {
		if err := readsOnly(k, w.Script.Writes()); err != nil {
			return err
		}
	}
	k.Doc, k.Operations = "SQL from "+strings.Join(names, ", "), mix.Operations()
	k.Program = func(b workload.Build) driver.Program {
		return mix.Program(map[string]int64{"client_id": int64(b.Client), "random_seed": int64(b.Seed >> 1), "rows": b.Rows, "scale": 1, "tables": int64(b.Tables)})
	}
	return nil
}

// readsOnly refuses a step of class steady that was seen to write: its slices alternate between the servers, and each would have changed
// what the next one measures.
func readsOnly(k *workload.Kind, writes string) error {
	if k.Class != workload.Steady || writes == "" {
		return nil
	}
	return fmt.Errorf("step %q: class steady is for steps that only read, and this one writes (%s); leave class out", k.Name, writes)
}

// writingBuiltin are the scripts that come with sysbench and with pgbench and that write.
var writingBuiltin = regexp.MustCompile(`insert|update|delete|write|tpcb`)

// toolWrites says what is known to write of another load generator's step. Its own language is not ours: a script that is not understood is
// judged by what the server counts.
func toolWrites(t *external.Tool, files []scriptFile) string {
	if writingBuiltin.MatchString(t.Builtin) {
		return t.Builtin
	}
	if t.Name != "pgbench" {
		return ""
	}
	for _, f := range files {
		if s, err := sqlscript.Parse(f.name, string(f.text)); err == nil && f.text != nil {
			if writes := s.Writes(); writes != "" {
				return writes
			}
		}
	}
	return ""
}

// external runs a step by another load generator, which has to be there before anything is measured.
func (p *programs) external(k *workload.Kind, own RunProgram, files []scriptFile) error {
	t := &external.Tool{Name: own.Driver, Args: slices.Clone(own.Args), Prepare: own.Prepare, Files: map[string][]byte{}}
	if len(own.Set) > 0 && own.Driver != "pgbench" {
		return fmt.Errorf("step %q: set is for SQL scripts", k.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(own.Set)) {
		t.Args = append(t.Args, "-D", name+"="+own.Set[name])
	}
	for _, f := range files {
		if f.text == nil && (len(files) > 1 || strings.ContainsRune(own.Script[0], filepath.Separator)) {
			return fmt.Errorf("script %q: there is no such file (in %s)", f.name, filepath.Dir(f.path))
		}
		if f.text == nil {
			t.Builtin = strings.TrimSuffix(f.name, ".lua")
			continue
		}
		t.Files[f.name] = f.text
		t.Scripts = append(t.Scripts, weighted(own.Driver, f))
		if err := p.beside(t, f); err != nil {
			return err
		}
	}
	if err := t.Check(); err != nil {
		return fmt.Errorf("step %q: %w", k.Name, err)
	}
	if err := readsOnly(k, toolWrites(t, files)); err != nil {
		return err
	}
	if _, err := t.Path(); err != nil {
		return fmt.Errorf("step %q: %w", k.Name, err)
	}
	k.Tool, k.Doc, k.Unit = t, t.Describe(), t.Unit()
	p.runs = append(p.runs, t.Describe())
	return nil
}

// remedyOf is what would help against an error of a step.
func remedyOf(err error) string {
	var missing *external.Missing
	if errors.As(err, &missing) {
		return missing.Remedy
	}
	return ""
}

func weighted(tool string, f scriptFile) string {
	if tool == "pgbench" && f.weight != 1 {
		return fmt.Sprintf("%s@%d", f.name, f.weight)
	}
	return f.name
}

// beside takes the Lua files next to a sysbench script along: it may require them.
func (p *programs) beside(t *external.Tool, f scriptFile) error {
	if t.Name != "sysbench" {
		return nil
	}
	found, err := filepath.Glob(filepath.Join(filepath.Dir(f.path), "*.lua"))
	for _, path := range found {
		if t.Files[filepath.Base(path)], err = p.read(path); err != nil {
			return fmt.Errorf("script %q: %w", path, err)
		}
	}
	return err
}
