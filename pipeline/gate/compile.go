package gate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/lang"
)

// Gate is a compiled set of assertions. It implements engine.Judge.
type Gate struct {
	facets  []engine.Facet
	groups  map[string][]string
	asserts []engine.Assertion
	checks  []check
	atoms   int // m: guarded comparisons that can fail the plan
	options Options
}

// Options are what a verdict may take into account besides the record.
type Options struct {
	Noise  *Calibration // of this machine and experiment; nil, or too old: assumptions hold
	Accept []Accept     // known regressions
	Now    time.Time    // at which accepted regressions may have expired; zero: the time of day
}

// check is one assertion on one candidate of one facet.
type check struct {
	assert    engine.Assertion
	scope     scope
	program   *lang.Assertion
	candidate string
	steps     []string
	place     int // of the assertion in the file
}

// Compile binds the assertions to the facets. Errors are *Error, several joined; every assertion is looked at.
func Compile(asserts []engine.Assertion, facets []engine.Facet, groups map[string][]string) (*Gate, error) {
	g := &Gate{facets: facets, groups: groups, asserts: asserts}
	var errs []error
	for i, a := range asserts {
		if err := g.add(i, a); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	g.atoms = g.count(func(c check) bool { return c.assert.Severity != "warn" })
	if g.atoms == 0 {
		g.atoms = max(1, g.count(func(check) bool { return true }))
	}
	return g, nil
}

// Use sets the options and returns the gate.
func (g *Gate) Use(o Options) *Gate {
	g.options = o
	return g
}

func (g *Gate) count(which func(check) bool) int {
	n := 0
	for _, c := range g.checks {
		if which(c) {
			n += c.program.Guarded
		}
	}
	return n
}

// add binds one assertion to every facet that has the steps and variants it names; one must.
func (g *Gate) add(place int, a engine.Assertion) error {
	if len(g.facets) == 0 {
		return whole(a, "add a `run` stage", "nothing is measured that could be asserted")
	}
	var first *lang.Error
	bound := false
	for _, f := range g.facets {
		s := scope{facet: f, groups: g.groups}
		program, err := lang.CompileAssertion(a.Expr, s.library())
		if err != nil {
			if e := asLangError(err); first == nil || e.Offset > first.Offset {
				first = e
			}
			continue
		}
		bound = true
		g.bind(place, a, s, program)
	}
	if !bound {
		return locate(a, first)
	}
	return g.whereError(place, a)
}

func asLangError(err error) *lang.Error {
	var e *lang.Error
	if errors.As(err, &e) {
		return e
	}
	return &lang.Error{Msg: err.Error()}
}

// bind makes a check for each candidate that `where` lets through. An assertion that names its variants holds once.
func (g *Gate) bind(place int, a engine.Assertion, s scope, program *lang.Assertion) {
	candidates := s.candidates()
	if len(candidates) == 0 {
		candidates = []string{s.base()}
	}
	variants, steps := s.mentioned(program)
	if len(variants) > 0 {
		candidates = variants[:1]
	}
	for _, c := range candidates {
		if s.matches(c, a.Where) {
			g.checks = append(g.checks, check{assert: a, scope: s, program: program, candidate: c, steps: steps, place: place})
		}
	}
}

// mentioned lists the variants that the calls name, empty when any call leaves it open, and the steps that they need.
func (s scope) mentioned(program *lang.Assertion) (variants, steps []string) {
	open := false
	for _, c := range program.Calls {
		r, _ := s.parse(functionNamed(c.Name), c)
		open = open || r.variant == ""
		variants = append(variants, r.variant)
		for _, st := range r.steps {
			steps = append(steps, st.Name)
		}
	}
	slices.Sort(steps)
	if open {
		variants = nil
	}
	return variants, slices.Compact(steps)
}

// matches says whether a variant lies in the cells that `where` selects.
func (s scope) matches(variant string, where map[string]string) bool {
	for _, v := range s.facet.Variants {
		if v.Name != variant {
			continue
		}
		for axis, value := range where {
			if cellOf(s.facet, v)[axis] != value {
				return false
			}
		}
	}
	return true
}

func cellOf(f engine.Facet, v engine.VariantInfo) map[string]string {
	cell := maps.Clone(f.Cell)
	if cell == nil {
		cell = map[string]string{}
	}
	maps.Copy(cell, v.Cell)
	return cell
}

// whereError explains a selector that selects nothing.
func (g *Gate) whereError(place int, a engine.Assertion) error {
	if slices.ContainsFunc(g.checks, func(c check) bool { return c.place == place }) {
		return nil
	}
	values := map[string][]string{}
	for _, f := range g.facets {
		for _, v := range f.Variants {
			for axis, value := range cellOf(f, v) {
				values[axis] = append(values[axis], value)
			}
		}
	}
	for _, axis := range sortedKeys(a.Where) {
		known := slices.Compact(slices.Sorted(slices.Values(values[axis])))
		if len(known) == 0 {
			return whole(a, lang.DidYouMean(axis, sortedKeys(values)), "`where` names the axis %q, which this matrix does not have", axis)
		}
		if !slices.Contains(known, a.Where[axis]) {
			return whole(a, fmt.Sprintf("known: %s", list(known)), "`where` asks for %s %q, which no variant has", axis, a.Where[axis])
		}
	}
	return whole(a, "the base is compared with nothing; name a candidate", "`where` leaves no candidate to judge")
}
