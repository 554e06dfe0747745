package engine

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

func (f *facetRun) blocksByStep() map[string]int {
	counts := map[string]int{}
	for _, b := range f.evidence {
		seen := map[string]bool{}
		for _, m := range b.Measurements {
			if !seen[m.Step] && m.Invalid == "" {
				seen[m.Step] = true
				counts[m.Step]++
			}
		}
	}
	return counts
}

// chosen keeps the wanted steps, and every step that writes while a later one is kept: it makes the state that the later one
// sees. --only and --skip have the last word.
func (f *facetRun) chosen(want func(string) bool) []string {
	keep := make([]bool, len(f.Facet.Steps))
	later := false
	for i := len(keep) - 1; i >= 0; i-- {
		s := f.Facet.Steps[i]
		keep[i] = f.selected(s.Name) && (want(s.Name) || s.Writes && later)
		later = later || keep[i]
	}
	var out []string
	for i, k := range keep {
		if k {
			out = append(out, f.Facet.Steps[i].Name)
		}
	}
	return out
}

func (f *facetRun) selected(step string) bool {
	match := func(globs []string) bool {
		return slices.ContainsFunc(globs, func(glob string) bool { return MatchesStep(glob, step) })
	}
	return (len(f.Only) == 0 || match(f.Only)) && !match(f.Skip)
}

// MatchesStep reports whether a glob names a step, with its range or without.
func MatchesStep(glob, step string) bool {
	short, _, _ := strings.Cut(step, "_range=")
	for _, name := range []string{step, short} {
		if ok, _ := path.Match(glob, name); ok || glob == name {
			return true
		}
	}
	return false
}

// CheckGlobs refuses a glob of --only or --skip that names no step of the plan: it would silently measure nothing, or all.
func (p *Plan) CheckGlobs(flag string, globs []string) error {
	var names []string
	for _, f := range p.Facets {
		for _, s := range f.Facet.Steps {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	for _, g := range globs {
		if !slices.ContainsFunc(names, func(name string) bool { return MatchesStep(g, name) }) {
			return fmt.Errorf("%s %q matches no step; there are %s", flag, g, strings.Join(names, ", "))
		}
	}
	return nil
}
