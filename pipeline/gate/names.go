package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/lang"
)

// scope is what names mean in one facet.
type scope struct {
	facet  engine.Facet
	groups map[string][]string // defined in the file: name -> globs
}

// step finds a step by its name or a unique shortening. Of several the plain one is meant: "point-query" is
// point-query_range=100 even where point-query.pre_range=100 exists.
func (s scope) step(name string) (engine.StepInfo, *lang.ArgError) {
	short := s.local(name)
	for _, match := range []func(step string) bool{
		func(step string) bool { return step == short },
		func(step string) bool { return withoutRange(step) == short },
		func(step string) bool { return prefixAtWord(step, short) },
	} {
		found := s.steps(match)
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1 && short != "":
			return engine.StepInfo{}, &lang.ArgError{Msg: fmt.Sprintf("step %q could be %s", name, list(names(found))), Hint: "write more of the name"}
		}
	}
	return engine.StepInfo{}, unknown("step", name, names(s.facet.Steps))
}

func (s scope) steps(match func(string) bool) []engine.StepInfo {
	var out []engine.StepInfo
	for _, st := range s.facet.Steps {
		if match(s.local(st.Name)) {
			out = append(out, st)
		}
	}
	return out
}

// local is a step's name without its stage: where a run has two measured stages, steps are called stage/step.
func (s scope) local(step string) string { return strings.TrimPrefix(step, s.facet.Stage+"/") }

// members are the steps of a group of the file, a published group, a glob, or a single step.
func (s scope) members(name string) ([]engine.StepInfo, *lang.ArgError) {
	globs, ok := s.groups[name]
	if !ok && strings.ContainsAny(name, "*?[") {
		globs, ok = []string{name}, true
	}
	found := s.steps(func(step string) bool { return ok && matchesAny(globs, step) })
	for _, st := range s.facet.Steps {
		if !ok && slices.Contains(st.Groups, name) {
			found = append(found, st)
		}
	}
	if len(found) == 0 && !ok {
		if st, err := s.step(name); err == nil {
			return []engine.StepInfo{st}, nil
		}
		return nil, unknown("group", name, append(s.groupNames(), names(s.facet.Steps)...))
	}
	if len(found) == 0 {
		return nil, &lang.ArgError{Msg: fmt.Sprintf("no step of this run is in %q", name), Hint: "steps: " + list(names(s.facet.Steps))}
	}
	return found, nil
}

// groupNames are the groups of the file and the published ones that have a step here.
func (s scope) groupNames() []string {
	var out []string
	for g := range s.groups {
		out = append(out, g)
	}
	for _, st := range s.facet.Steps {
		out = append(out, st.Groups...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// variant finds a variant by its name or by one of the values that it is made of, where that is unique.
func (s scope) variant(name string) (string, bool) {
	var found []string
	for _, v := range s.facet.Variants {
		if v.Name == name {
			return name, true
		}
		if slices.Contains(strings.Split(v.Name, "/"), name) {
			found = append(found, v.Name)
		}
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}

func (s scope) base() string {
	for _, v := range s.facet.Variants {
		if v.Base {
			return v.Name
		}
	}
	if len(s.facet.Variants) > 0 {
		return s.facet.Variants[0].Name
	}
	return ""
}

// candidates are the variants that assertions are about. A sentinel is one only where there is nothing else: in a calibration.
func (s scope) candidates() []string {
	var out, sentinels []string
	for _, v := range s.facet.Variants {
		switch {
		case v.Name == s.base():
		case v.Sentinel:
			sentinels = append(sentinels, v.Name)
		default:
			out = append(out, v.Name)
		}
	}
	if len(out) == 0 {
		return sentinels
	}
	return out
}

func (s scope) variantNames() []string {
	var out []string
	for _, v := range s.facet.Variants {
		out = append(out, v.Name)
	}
	return out
}

func matchesAny(globs []string, step string) bool {
	for _, g := range globs {
		for _, n := range []string{step, withoutRange(step)} {
			if ok, err := path.Match(g, n); err == nil && ok {
				return true
			}
		}
	}
	return false
}

// withoutRange cuts the parameter off a step's name: random-points_range=10 and random-points.pre_range=10.
func withoutRange(step string) string {
	name, _, _ := strings.Cut(step, "_range=")
	return name
}

func prefixAtWord(step, short string) bool {
	rest, ok := strings.CutPrefix(step, short)
	return ok && rest != "" && strings.ContainsAny(rest[:1], "._=-")
}

func names(steps []engine.StepInfo) []string {
	var out []string
	for _, st := range steps {
		out = append(out, st.Name)
	}
	return out
}

func unknown(what, name string, known []string) *lang.ArgError {
	short := []string{}
	for _, k := range known {
		short = append(short, withoutRange(k))
	}
	hint := lang.DidYouMean(name, append(short, known...))
	if hint == "" {
		hint = fmt.Sprintf("known: %s", list(known))
	}
	return &lang.ArgError{Msg: fmt.Sprintf("unknown %s %q", what, name), Hint: hint}
}

// list joins names, the first twelve of them.
func list(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
