package spec

import (
	"strings"
	"sync"
)

// Experiment is an experiment file with everything that it includes. Nothing changes it once it is loaded.
type Experiment struct {
	Path     string
	Text     []byte // of the file itself, as read
	SHA256   string // of Text
	Version  int
	Name     string
	Doc      string
	Includes []string // paths of all included files, in the order they were read
	Vars     []Var    // in the order of the files: those of includes first
	Matrix   Matrix
	// Baseline is the base cell: the axes in it are compared.
	Baseline    map[string]string
	BaselinePos Pos
	// Catalogues are the named fragments: catalogue -> name -> value as written, `extends` included. Fragment resolves them.
	Catalogues map[string]map[string]*Value
	Stages     []StageDecl
	Asserts    []AssertDecl
	Groups     map[string][]string // name -> step globs
	Gate       GateDecl
	Set        []string // the overrides, as given

	sources map[string]*source
	mu      sync.Mutex
	merged  map[string]resolved // fragments by catalogue and name

	mergedKeys int // made so far by resolving them
}

// Var is a variable. Its value may use axes, `host`, and the variables before it in `${ }`.
type Var struct {
	Name  string
	Pos   Pos // of the name
	Value *Value
	Set   bool // from --set
}

// Matrix is the axes and what is left out of, or added to, their product.
type Matrix struct {
	Pos     Pos
	Axes    []Axis
	Exclude []map[string]string // each drops the cells that have these values
	Include []map[string]string // each is one more cell, with every axis in it
}

// Axis is one dimension of the matrix.
type Axis struct {
	Name   string
	Pos    Pos
	Values []*Value // scalars, all different
}

// Axis returns an axis by name, or nil.
func (m *Matrix) Axis(name string) *Axis {
	for i := range m.Axes {
		if m.Axes[i].Name == name {
			return &m.Axes[i]
		}
	}
	return nil
}

// StageDecl is one item of `stages`.
type StageDecl struct {
	Kind   string
	ID     string            // the kind's name when the file gives none
	Needs  []string          // ids of earlier stages
	Pin    map[string]string // axis -> value
	Params *Value            // a Map, never nil; `use` and `${ }` are still in it
	Pos    Pos               // of the kind's key
}

// AssertDecl is one item of `assert`.
type AssertDecl struct {
	Expr      string
	Severity  string // "fail" or "warn"
	Where     map[string]string
	Published string
	Pos       Pos    // of the expression's first character
	Value     *Value // the expression as a value: Value.At finds any character of it
}

// GateDecl says how a verdict becomes an exit code.
type GateDecl struct {
	OnInconclusive OnInconclusive `yaml:"on_inconclusive" doc:"what an assertion that cannot be decided means: fail (exit code 1), report (5, the default) or pass (0)"`
}

// OnInconclusive is "fail", "report", "pass", or "" for the default.
type OnInconclusive string

// Enum lists the values.
func (OnInconclusive) Enum() []string { return []string{"fail", "report", "pass"} }

// Severity is "fail" or "warn".
type Severity string

// Enum lists the values.
func (Severity) Enum() []string { return []string{"fail", "warn"} }

// ErrorAt is an error about a place in one of the experiment's files. hint is a next step, or "".
func (e *Experiment) ErrorAt(at Pos, msg, hint string) *Error {
	return e.sources[at.File].errorAt(at, hint, msg)
}

// AssertError is an error in the assertion whose text is expr, at a byte offset in that text. It is nil when the experiment has
// no such assertion.
func (e *Experiment) AssertError(expr string, offset int, msg, hint string) *Error {
	for i := range e.Asserts {
		if a := &e.Asserts[i]; a.Expr == expr {
			return e.ErrorAt(a.At(offset), msg, hint)
		}
	}
	return nil
}

// At is the place of a character of the expression, by its byte offset in Expr.
func (a *AssertDecl) At(offset int) Pos {
	lead := strings.Index(a.Value.Text, a.Expr)
	return a.Value.At(max(lead, 0) + offset)
}

// KindInfo is what this package has to know of a kind of stage.
type KindInfo struct {
	Name      string
	Doc       string
	Catalogue string            // top-level key with named fragments for this kind, or ""
	Fragments map[string]string // fragments that exist without any file: name -> YAML
}

// Options is what loading depends on besides the file.
type Options struct {
	Kinds []KindInfo
	Set   []string // "name=value": overrides of variables
	// ReadFile reads an experiment and what it includes; nil reads regular files of at most 1 MiB.
	ReadFile func(path string) ([]byte, error)
}
