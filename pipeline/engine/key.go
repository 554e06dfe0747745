package engine

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

// recipeFormat changes when the meaning of recipe lines changes; every key changes with it.
const recipeFormat = 1

// A recipe is the readable pre-image of a key: one fact a line, in a fixed order. It is stored beside the output, so that
// `explain` can show the lines that differ. Comments, key order and white space of the experiment file are not in it.
type recipe struct{ lines []string }

func newRecipe(kind *Kind) *recipe {
	r := &recipe{}
	r.add("format", strconv.Itoa(recipeFormat))
	r.add("kind", kind.Name)
	if kind.Format > 0 {
		r.add(kind.Name+" format", strconv.Itoa(kind.Format))
	}
	return r
}

// add appends "name: value"; a value of several lines is quoted so that it stays on one.
func (r *recipe) add(name, value string) {
	if value == "" || strings.ContainsAny(value, "\n\r") || strings.TrimSpace(value) != value {
		value = strconv.Quote(value)
	}
	r.lines = append(r.lines, name+": "+value)
}

func (r *recipe) text() string { return strings.Join(r.lines, "\n") + "\n" }

func keyOf(recipe string) string {
	sum := sha256.Sum256([]byte(recipe))
	return hex.EncodeToString(sum[:])
}

// params appends every keyed parameter of a stage, in declaration order, one line per leaf.
func (r *recipe) params(prefix string, stage any) {
	v := reflect.ValueOf(stage)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	r.fields(prefix, v)
}

func (r *recipe) fields(prefix string, v reflect.Value) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Anonymous || !f.IsExported() || f.Tag.Get("key") == "-" {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "-" {
			continue
		}
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		r.value(prefix+name, v.FieldByIndex(f.Index))
	}
}

var textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

func (r *recipe) value(name string, v reflect.Value) {
	if v.Type().Implements(textMarshaler) && !(v.Kind() == reflect.Pointer && v.IsNil()) {
		text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil { // a value that cannot be written cannot be compared: make the key unique to its Go form
			text = fmt.Appendf(nil, "%#v", v.Interface())
		}
		r.add(name, string(text))
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			r.add(name, "~")
			return
		}
		r.value(name, v.Elem())
	case reflect.Struct:
		r.fields(name+".", v)
	case reflect.Slice, reflect.Array:
		r.add(name+".#", strconv.Itoa(v.Len()))
		for i := range v.Len() {
			r.value(fmt.Sprintf("%s[%d]", name, i), v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return fmt.Sprint(keys[i]) < fmt.Sprint(keys[j]) })
		r.add(name+".#", strconv.Itoa(len(keys)))
		for _, k := range keys {
			r.value(name+"."+fmt.Sprint(k), v.MapIndex(k))
		}
	case reflect.String:
		r.add(name, v.String())
	default:
		r.add(name, fmt.Sprint(v.Interface()))
	}
}

// inputField appends what one parameter of an earlier stage says, without that stage's key.
func (r *recipe) inputField(kind, field string, stage Stage) error {
	v := reflect.ValueOf(stage).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if f.IsExported() && name == field {
			r.value("input "+kind+"."+field, v.FieldByIndex(f.Index))
			return nil
		}
	}
	return fmt.Errorf("stage %q has no parameter %q", kind, field)
}

// differences returns the lines that only one of two recipes has, as "- old" and "+ new", with names that both have first.
func differences(old, new string) []string {
	oldLines, newLines := recipeLines(old), recipeLines(new)
	var changed, added []string
	for _, l := range newLines.order {
		switch was, ok := oldLines.value[l]; {
		case !ok:
			added = append(added, "+ "+l+": "+newLines.value[l])
		case was != newLines.value[l]:
			changed = append(changed, "- "+l+": "+was, "+ "+l+": "+newLines.value[l])
		}
	}
	for _, l := range oldLines.order {
		if _, ok := newLines.value[l]; !ok {
			added = append(added, "- "+l+": "+oldLines.value[l])
		}
	}
	return append(changed, added...)
}

type lineSet struct {
	order []string
	value map[string]string
}

func recipeLines(recipe string) lineSet {
	s := lineSet{value: map[string]string{}}
	for _, line := range strings.Split(strings.TrimSuffix(recipe, "\n"), "\n") {
		name, value, _ := strings.Cut(line, ": ")
		s.order = append(s.order, name)
		s.value[name] = value
	}
	return s
}

// sameParams reports whether two decodings of one stage agree in everything that is keyed.
func sameParams(a, b Stage) bool {
	ra, rb := &recipe{}, &recipe{}
	ra.params("", a)
	rb.params("", b)
	return ra.text() == rb.text()
}

// ParamRecipe is the part of the recipe that a stage's own parameters make: one line for every keyed leaf. The conformance
// suite uses it to see that every keyed field matters and no other does.
func ParamRecipe(kind *Kind, stage Stage) string {
	r := newRecipe(kind)
	r.params("", stage)
	return r.text()
}

// recipe is the pre-image of a node's key.
func (p *planner) recipe(n *Node) (string, error) {
	r := newRecipe(n.Kind)
	r.params("", n.Stage)
	for _, in := range n.Inputs {
		if in.Take.Field == "" {
			r.add("input "+in.Take.Kind, in.Node.Key)
			continue
		}
		if err := r.inputField(in.Take.Kind, in.Take.Field, in.Node.Stage); err != nil {
			return "", err
		}
	}
	if err := p.fingerprint(r, n.Stage); err != nil {
		return "", err
	}
	return r.text(), nil
}

// fingerprint appends what a stage depends on beyond its parameters.
func (p *planner) fingerprint(r *recipe, stage Stage) error {
	f, ok := stage.(Fingerprinter)
	if !ok {
		return nil
	}
	lines, err := f.Fingerprint(p.ctx, p.Host)
	if err != nil {
		return err
	}
	for _, l := range lines {
		name, value, _ := strings.Cut(l, ": ")
		r.add("host "+name, value)
	}
	return nil
}
