package spec

import (
	"fmt"

	"pgpipeline/pipeline/internal/lang"
)

// Limits of a matrix.
const (
	maxAxes  = 32
	maxCells = 10_000 // of the product, and of either list
)

// matrix takes the axes and what is excluded from and added to their product.
func (l *loader) matrix(v *Value) {
	m := &l.exp.Matrix
	if v == nil {
		return
	}
	m.Pos = v.Pos
	cells := 1
	for _, k := range l.entries("matrix", v) {
		if k.Name == "exclude" || k.Name == "include" || !l.identifier("axis", k) {
			continue
		}
		if len(m.Axes) == maxAxes {
			l.failAt(k.Value, k.Pos, "", "the matrix has more than %d axes", maxAxes)
			return
		}
		if axis, ok := l.axis(k); ok {
			m.Axes = append(m.Axes, axis)
			if cells *= len(axis.Values); cells > maxCells {
				l.fail(k.Value, "", "the matrix has more than %d cells", maxCells)
				return
			}
		}
	}
	for _, item := range l.cells("include", v.Get("include")) {
		if cell, ok := l.cell(item, false); ok && l.complete(item, cell) {
			m.Include = append(m.Include, cell)
		}
	}
	for _, item := range l.cells("exclude", v.Get("exclude")) {
		if cell, ok := l.cell(item, true); ok {
			m.Exclude = append(m.Exclude, cell)
		}
	}
}

func (l *loader) axis(k Key) (Axis, bool) {
	axis := Axis{Name: k.Name, Pos: k.Pos}
	if k.Value.Kind != List || len(k.Value.Items) == 0 {
		hint := ""
		if k.Value.Kind == Scalar {
			hint = "write [" + cut(k.Value.Text) + "]"
		}
		l.fail(k.Value, hint, "axis %q must be a list of values, not %s", k.Name, emptyOr(k.Value))
		return axis, false
	}
	seen := map[string]bool{}
	for _, item := range k.Value.Items {
		switch {
		case !l.plainText(item, fmt.Sprintf("a value of axis %q", k.Name)):
		case seen[item.Text]:
			l.fail(item, "", "axis %q has %s twice", k.Name, quote(item.Text))
		default:
			seen[item.Text] = true
			axis.Values = append(axis.Values, item)
		}
	}
	return axis, len(axis.Values) > 0
}

func emptyOr(v *Value) string {
	if v.Kind == List && len(v.Items) == 0 {
		return "an empty one"
	}
	return v.describe()
}

// plainText checks a value that is taken as it is written.
func (l *loader) plainText(v *Value, what string) bool {
	switch {
	case v.Kind != Scalar || v.Text == "":
		l.fail(v, emptyHint(v), "%s must be a single value, not %s", what, v.describe())
	case v.template:
		l.fail(v, "write the values out, and use the axis in ${ } elsewhere", "${ } is not evaluated in %s", what)
	default:
		return true
	}
	return false
}

// cells returns the items of `include` or `exclude`.
func (l *loader) cells(name string, v *Value) []*Value {
	switch {
	case v == nil || v.Kind == Null:
		return nil
	case v.Kind == Map:
		return []*Value{v}
	case v.Kind != List:
		l.fail(v, "such as [{pg: \"17.0\"}]", "%q must be a list of mappings from axis to value, not %s", name, v.describe())
		return nil
	case len(v.Items) > maxCells:
		l.fail(v, "", "%q has more than %d items", name, maxCells)
		return nil
	}
	return v.Items
}

// cell reads a mapping from axis to value. known demands that the matrix has the value.
func (l *loader) cell(v *Value, known bool) (map[string]string, bool) {
	if v.Kind != Map || len(v.Keys) == 0 {
		l.fail(v, "", "this must be a mapping from axis to value, not %s", v.describe())
		return nil, false
	}
	cell, ok := map[string]string{}, true
	for _, k := range v.Keys {
		axis := l.exp.Matrix.Axis(k.Name)
		switch {
		case axis == nil:
			l.unknownAxis(k)
			ok = false
		case !l.plainText(k.Value, fmt.Sprintf("the value of axis %q", k.Name)):
			ok = false
		case known && !l.hasValue(axis, k.Value.Text):
			l.unknownValue(axis, k.Value)
			ok = false
		}
		cell[k.Name] = k.Value.Text
	}
	return cell, ok
}

func (l *loader) unknownValue(axis *Axis, v *Value) {
	if !l.errs.full() {
		l.fail(v, lang.Suggest(v.Text, l.values(axis)), "axis %q has no value %s", axis.Name, quote(v.Text))
	}
}

func (l *loader) unknownAxis(k Key) {
	hint := "the matrix has no axes"
	if names := l.axes(); len(names) > 0 {
		hint = lang.Suggest(k.Name, names)
	}
	l.failAt(k.Value, k.Pos, hint, "unknown axis %s", quote(k.Name))
}

func (l *loader) axes() []string {
	var names []string
	for _, a := range l.exp.Matrix.Axes {
		names = append(names, a.Name)
	}
	return names
}

// values are all values that an axis has, those of added cells too.
func (l *loader) values(axis *Axis) []string {
	var out []string
	for _, v := range axis.Values {
		out = append(out, v.Text)
	}
	for _, cell := range l.exp.Matrix.Include {
		out = append(out, cell[axis.Name])
	}
	return out
}

func (l *loader) hasValue(axis *Axis, text string) bool {
	for _, v := range axis.Values {
		if v.Text == text {
			return true
		}
	}
	for _, cell := range l.exp.Matrix.Include {
		if cell[axis.Name] == text {
			return true
		}
	}
	return false
}

// complete checks that an added cell has a value for every axis.
func (l *loader) complete(v *Value, cell map[string]string) bool {
	for _, a := range l.exp.Matrix.Axes {
		if _, ok := cell[a.Name]; !ok {
			l.fail(v, "an added cell names every axis", "the added cell has no value for axis %q", a.Name)
			return false
		}
	}
	return true
}

// baseline takes the base cell.
func (l *loader) baseline(v *Value) {
	if v == nil || v.Kind == Null {
		return
	}
	l.exp.BaselinePos = v.Pos
	if cell, ok := l.cell(v, true); ok {
		l.exp.Baseline = cell
	}
}

// axisNames refuses an axis that has the name of a variable: `${ }` could mean either.
func (l *loader) axisNames() {
	for _, v := range l.exp.Vars {
		if axis := l.exp.Matrix.Axis(v.Name); axis != nil {
			l.errs = append(l.errs, l.exp.ErrorAt(axis.Pos, fmt.Sprintf("axis %q has the name of a variable", axis.Name),
				"the variable is at "+v.Pos.String()+"; rename one of them"))
		}
	}
}
