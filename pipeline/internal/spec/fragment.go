package spec

import (
	"fmt"
	"slices"
	"strings"

	"pgpipeline/pipeline/internal/lang"
)

// Limits of `extends`.
const (
	maxExtends    = 64        // levels
	maxMergedKeys = 1_000_000 // over all fragments of an experiment
)

// Fragment returns a named fragment of a catalogue with everything that it extends merged into it, left to right, its own keys
// last. `${ }` is still in it. at is the place that names it. Errors are Errors.
func (e *Experiment) Fragment(catalogue, name string, at Pos) (*Value, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := resolver{e: e, catalogue: catalogue}
	v, err := r.resolve(name, at)
	if err != nil {
		return nil, Errors{err}
	}
	return v, nil
}

// Names lists the fragments of a catalogue, sorted.
func (e *Experiment) Names(catalogue string) []string {
	names := make([]string, 0, len(e.Catalogues[catalogue]))
	for n := range e.Catalogues[catalogue] {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Overlay returns the parameters of a stage with the fragments under `use` merged below them, and every `${ }` evaluated by f.
func (e *Experiment) Overlay(catalogue string, params *Value, f func(expr string, at Pos) (string, error)) (*Value, error) {
	use := params.Get("use")
	if catalogue == "" || use == nil {
		return params.Interpolate(f)
	}
	names, err := use.Interpolate(f)
	if err != nil {
		return nil, err
	}
	list, err := names.names("use")
	if err != nil {
		return nil, err
	}
	var base *Value
	for _, n := range list {
		fragment, err := e.Fragment(catalogue, n.Text, n.Pos)
		if err != nil {
			return nil, err
		}
		base = Merge(base, fragment)
	}
	return Merge(base, params.Without("use")).Interpolate(f)
}

// names reads a name or a list of names.
func (v *Value) names(key string) ([]*Value, error) {
	list := []*Value{v}
	if v.Kind == List {
		list = v.Items
	}
	for _, n := range list {
		if n.Kind != Scalar || n.Text == "" {
			return nil, Errors{n.Errorf("", "%q must be a name or a list of names, not %s", key, n.describe())}
		}
	}
	return list, nil
}

// resolver follows `extends`.
type resolver struct {
	e         *Experiment
	catalogue string
	path      []string // the names that led here
}

func (r *resolver) resolve(name string, at Pos) (*Value, *Error) {
	memo := r.catalogue + "\x00" + name
	if done, ok := r.e.merged[memo]; ok {
		return done.value, done.err
	}
	own, err := r.find(name, at)
	if err != nil {
		return nil, err // belongs to the place, not to the fragment
	}
	v, err := r.extended(name, own)
	if r.e.merged == nil {
		r.e.merged = map[string]resolved{}
	}
	r.e.merged[memo] = resolved{v, err}
	return v, err
}

// resolved is what became of a fragment: a value, or the error that every use of it meets.
type resolved struct {
	value *Value
	err   *Error
}

// extended returns a fragment with what it extends merged below it.
func (r *resolver) extended(name string, own *Value) (*Value, *Error) {
	parents := own.Get("extends")
	if parents == nil {
		return own, nil
	}
	r.path = append(r.path, name)
	defer func() { r.path = r.path[:len(r.path)-1] }()
	base, err := r.parents(parents)
	if err != nil {
		return nil, err
	}
	return r.merge(base, own.Without("extends"))
}

// find returns a fragment as written, unless following it would not end.
func (r *resolver) find(name string, at Pos) (*Value, *Error) {
	own, ok := r.e.Catalogues[r.catalogue][name]
	switch {
	case !ok:
		return nil, r.e.ErrorAt(at, fmt.Sprintf("%s has no %s", r.catalogue, quote(name)), r.hint(name))
	case contains(r.path, name):
		from := slices.Index(r.path, name)
		return nil, r.e.ErrorAt(at, "extends goes in a circle: "+strings.Join(append(r.path[from:], name), " -> "), "")
	case len(r.path) >= maxExtends:
		return nil, r.e.ErrorAt(at, fmt.Sprintf("extends goes deeper than %d levels", maxExtends), "")
	}
	return own, nil
}

func (r *resolver) hint(name string) string {
	const most = 1000 // names to compare with
	switch n := len(r.e.Catalogues[r.catalogue]); {
	case n == 0:
		return fmt.Sprintf("nothing is defined under %s: is an include missing?", r.catalogue)
	case n > most:
		return ""
	}
	return lang.Suggest(name, r.e.Names(r.catalogue))
}

func (r *resolver) parents(v *Value) (*Value, *Error) {
	list, err := v.names("extends")
	if err != nil {
		return nil, err.(Errors)[0]
	}
	var base *Value
	for _, n := range list {
		parent, err := r.resolve(n.Text, n.Pos)
		if err != nil {
			return nil, err
		}
		if base, err = r.merge(base, parent); err != nil {
			return nil, err
		}
	}
	return base, nil
}

func (r *resolver) merge(base, over *Value) (*Value, *Error) {
	m := merger{keys: r.e.mergedKeys}
	out := m.merge(base, over)
	if r.e.mergedKeys = m.keys; m.keys > maxMergedKeys {
		return nil, over.Errorf("", "the fragments of %s add up to more than %d keys", r.catalogue, maxMergedKeys)
	}
	return out, nil
}
