package spec

import (
	"reflect"
	"strconv"
	"strings"

	"pgpipeline/pipeline/internal/lang"
)

// Decode fills the struct, or other value, that into points at from v. Keys that the struct does not know, and values of the
// wrong type, are errors; all of them are reported at once, as Errors. Fields whose key is absent keep what they have.
func Decode(v *Value, into any) error {
	if v == nil {
		return nil
	}
	d := decoder{}
	d.value(v, reflect.ValueOf(into).Elem(), slot{})
	return d.errs.Tidy()
}

type decoder struct {
	errs Errors
}

// slot is what a value fills: the name that messages give it, and how its field was tagged.
type slot struct {
	name string
	one  bool
}

func (d *decoder) fail(v *Value, hint, format string, args ...any) {
	if !d.errs.full() {
		d.errs = append(d.errs, v.Errorf(hint, format, args...))
	}
}

// mistyped reports a value of the wrong type.
func (d *decoder) mistyped(v *Value, s slot, want, hint string) {
	subject := "this"
	if s.name != "" {
		subject = strconv.Quote(s.name)
	}
	d.fail(v, hint, "%s must be %s, not %s", subject, want, v.describe())
}

func (d *decoder) value(v *Value, into reflect.Value, s slot) {
	t := into.Type()
	switch {
	case t == valueType:
		into.Set(reflect.ValueOf(v))
	case t.Kind() == reflect.Pointer:
		d.pointer(v, into, s)
	case traitsOf(t).text:
		d.text(v, into, s)
	default:
		d.kind(v, into, s)
	}
}

func (d *decoder) pointer(v *Value, into reflect.Value, s slot) {
	if v.Kind == Null {
		into.SetZero()
		return
	}
	if into.IsNil() {
		into.Set(reflect.New(into.Type().Elem()))
	}
	d.value(v, into.Elem(), s)
}

func (d *decoder) kind(v *Value, into reflect.Value, s slot) {
	switch into.Kind() {
	case reflect.Struct:
		d.structure(v, into, s)
	case reflect.Map:
		d.mapping(v, into, s)
	case reflect.Slice:
		d.slice(v, into, s)
	case reflect.Interface:
		into.Set(reflect.ValueOf(v.plain()))
	default:
		d.scalar(v, into, s)
	}
}

func (d *decoder) structure(v *Value, into reflect.Value, s slot) {
	shape := shapeOf(into.Type())
	switch {
	case v.Kind == Null:
		d.missing(v, shape)
		return
	case v.Kind == Scalar && shape.scalar != nil:
		f := shape.scalar
		d.value(v, into.FieldByIndex(f.index), slot{s.name, f.one})
		return
	case v.Kind != Map:
		want := "a mapping"
		if shape.scalar != nil {
			want = "a single value or a mapping"
		}
		d.mistyped(v, s, want, keysHint(shape.names))
		return
	}
	for _, k := range v.Keys {
		f := shape.byName[k.Name]
		switch {
		case f != nil:
			d.value(k.Value, into.FieldByIndex(f.index), slot{k.Name, f.one})
		case shape.rest != nil:
			d.entry(k, into.FieldByIndex(shape.rest.index), shape.rest.one)
		case !d.errs.full():
			d.errs = append(d.errs, v.src.unknownKey(k, shape.names))
		}
	}
	d.missing(v, shape)
}

func keysHint(names []string) string {
	if len(names) == 0 || len(names) > 12 {
		return ""
	}
	return "its keys are " + strings.Join(names, ", ")
}

// unknownKey is the error about a key that is not one of names.
func (s *source) unknownKey(k Key, names []string) *Error {
	if k.Value != nil && k.Value.src != nil {
		s = k.Value.src
	}
	hint := lang.Suggest(k.Name, names)
	if len(names) == 0 {
		hint = "there are no keys to give here"
	}
	return s.errorAt(k.Pos, hint, "unknown key "+quote(k.Name))
}

func (d *decoder) missing(v *Value, shape *shape) {
	for _, f := range shape.fields {
		if f.required && v.Get(f.name) == nil {
			d.fail(v, f.doc, "key %q is missing", f.name)
		}
	}
}

func (d *decoder) slice(v *Value, into reflect.Value, s slot) {
	t := into.Type()
	switch {
	case v.Kind == Null:
		return
	case v.Kind == List:
	case s.one:
		into.Set(reflect.MakeSlice(t, 1, 1))
		d.value(v, into.Index(0), slot{name: s.name})
		return
	default:
		hint := ""
		if v.Kind == Scalar {
			hint = "write [" + cut(v.Text) + "]"
		}
		d.mistyped(v, s, "a list", hint)
		return
	}
	into.Set(reflect.MakeSlice(t, len(v.Items), len(v.Items)))
	for i, item := range v.Items {
		d.value(item, into.Index(i), slot{name: s.name})
	}
}

func (d *decoder) mapping(v *Value, into reflect.Value, s slot) {
	switch v.Kind {
	case Null:
		return
	case Map:
		for _, k := range v.Keys {
			d.entry(k, into, s.one)
		}
	default:
		d.mistyped(v, s, "a mapping", "")
	}
}

// entry adds one key to a map.
func (d *decoder) entry(k Key, into reflect.Value, one bool) {
	t := into.Type()
	if into.IsNil() {
		into.Set(reflect.MakeMap(t))
	}
	key := reflect.New(t.Key()).Elem()
	d.value(&Value{Pos: k.Pos, Kind: Scalar, Text: k.Name, src: k.Value.src}, key, slot{})
	value := reflect.New(t.Elem()).Elem()
	d.value(k.Value, value, slot{k.Name, one})
	into.SetMapIndex(key, value)
}

// plain turns a value into strings, []any and map[string]any, for fields of type any.
func (v *Value) plain() any {
	switch v.Kind {
	case Scalar:
		return v.Text
	case List:
		list := make([]any, len(v.Items))
		for i, item := range v.Items {
			list[i] = item.plain()
		}
		return list
	case Map:
		m := make(map[string]any, len(v.Keys))
		for _, k := range v.Keys {
			m[k.Name] = k.Value.plain()
		}
		return m
	}
	return ""
}
