package engine

import (
	"sort"
	"strings"

	"pgpipeline/pipeline/internal/lang"
	"pgpipeline/pipeline/internal/spec"
)

// A cell is one combination of axis values, in the order of the axes.
type cell struct {
	axes   []string
	values []string
}

func (c cell) value(axis string) (string, bool) {
	for i, a := range c.axes {
		if a == axis {
			return c.values[i], true
		}
	}
	return "", false
}

func (c cell) key() string { return strings.Join(c.values, "\x00") }

func (c cell) asMap() map[string]string {
	m := make(map[string]string, len(c.axes))
	for i, a := range c.axes {
		m[a] = c.values[i]
	}
	return m
}

// with returns the cell with some axes set to other values.
func (c cell) with(pin map[string]string) cell {
	if len(pin) == 0 {
		return c
	}
	out := cell{axes: c.axes, values: append([]string(nil), c.values...)}
	for i, a := range c.axes {
		if v, ok := pin[a]; ok {
			out.values[i] = v
		}
	}
	return out
}

// only names the given axes of a cell as "pg=17.0,flags=def".
func (c cell) only(keep func(axis string) bool) string {
	var parts []string
	for i, a := range c.axes {
		if keep(a) {
			parts = append(parts, a+"="+c.values[i])
		}
	}
	return strings.Join(parts, ",")
}

// matches reports whether every axis that want names has its value.
func (c cell) matches(want map[string]string) bool {
	for axis, value := range want {
		if got, ok := c.value(axis); !ok || got != value {
			return false
		}
	}
	return true
}

// cells returns the matrix of an experiment as cells: the product of the axes less what `exclude` matches, plus `include`.
func cells(m spec.Matrix) []cell {
	axes := make([]string, len(m.Axes))
	for i, a := range m.Axes {
		axes[i] = a.Name
	}
	out := []cell{{axes: axes, values: []string{}}}
	for _, axis := range m.Axes {
		var next []cell
		for _, c := range out {
			for _, v := range axis.Values {
				next = append(next, cell{axes: axes, values: append(append([]string(nil), c.values...), v.Text)})
			}
		}
		out = next
	}
	kept := out[:0]
	seen := map[string]bool{}
	for _, c := range out {
		if !excluded(c, m.Exclude) && !seen[c.key()] {
			seen[c.key()] = true
			kept = append(kept, c)
		}
	}
	for _, extra := range m.Include {
		c := cell{axes: axes, values: make([]string, len(axes))}.with(extra)
		if !seen[c.key()] {
			seen[c.key()] = true
			kept = append(kept, c)
		}
	}
	return kept
}

func excluded(c cell, rules []map[string]string) bool {
	for _, rule := range rules {
		if c.matches(rule) {
			return true
		}
	}
	return false
}

// names holds the names that `${ }` may use: the variables, the axes of one cell, and the host.
type names map[string]any

func newNames(e *spec.Experiment, host HostFacts, c cell) (names, error) {
	n := names{"host": map[string]any{"cpus": host.CPUs, "memory": host.MemoryBytes}}
	for i, axis := range c.axes {
		n[axis] = c.values[i]
	}
	for _, v := range e.Vars {
		value, err := v.Value.Interpolate(n.eval)
		if err != nil {
			return nil, err
		}
		n[v.Name] = value.Text
	}
	return n, nil
}

// eval evaluates the expression of one `${ }`.
func (n names) eval(expr string, at spec.Pos) (string, error) { return lang.Eval(expr, n) }

// stageParams returns the parameters of a stage in one cell: the named fragments it uses, overlaid with its own.
func stageParams(e *spec.Experiment, d *spec.StageDecl, kind *Kind, n names) (*spec.Value, error) {
	return e.Overlay(kind.Catalogue, d.Params, n.eval)
}

// facetName names the axes of a facet: those that are not compared and have more than one value.
func facetName(c cell, compared map[string]bool, varying map[string]bool) string {
	return c.only(func(a string) bool { return !compared[a] && varying[a] })
}

// variantName joins the values of the compared axes: "17.0" or "17.0/a18". Axes with one value say nothing and are left out,
// unless that leaves no name at all.
func variantName(c cell, compared map[string]bool, varying map[string]bool) string {
	var short, full []string
	for i, a := range c.axes {
		if compared[a] {
			full = append(full, c.values[i])
		}
		if compared[a] && varying[a] {
			short = append(short, c.values[i])
		}
	}
	if len(short) == 0 {
		short = full
	}
	if len(short) == 0 {
		return "only"
	}
	return strings.Join(short, "/")
}

// varyingAxes are the axes with more than one value among the cells.
func varyingAxes(all []cell) map[string]bool {
	first := map[string]string{}
	out := map[string]bool{}
	for _, c := range all {
		for i, a := range c.axes {
			if was, ok := first[a]; ok && was != c.values[i] {
				out[a] = true
			}
			first[a] = c.values[i]
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
