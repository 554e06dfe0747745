package spec

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// The tag `yaml:"name,option..."` of a struct's field says how it is read:
//
//	one       a list that may also be written as a single value; in a map, its values are such lists
//	scalar    the struct may also be written as a single value, which fills this field
//	required  the key must be there
//	inline    the keys of this struct, or of this map, stand among those of the struct around it
//
// A field without a tag, or with "-", is not read.

// field is one key that a struct takes.
type field struct {
	name     string
	doc      string
	index    []int // for reflect.Value.FieldByIndex
	typ      reflect.Type
	one      bool
	required bool
}

// shape is what a struct type takes.
type shape struct {
	fields []field
	byName map[string]*field
	names  []string
	scalar *field // takes a single value
	rest   *field // an inline map takes all other keys
}

var shapes sync.Map // reflect.Type -> *shape

// shapeOf returns the shape of a struct type. The panics are for mistakes in our own structs, which any test that decodes
// one finds.
func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := &shape{byName: map[string]*field{}}
	s.collect(t, nil)
	for i := range s.fields {
		f := &s.fields[i]
		if s.byName[f.name] != nil {
			panic(fmt.Sprintf("spec: %v has two fields %q", t, f.name))
		}
		s.byName[f.name] = f
		s.names = append(s.names, f.name)
	}
	shapes.Store(t, s)
	return s
}

func (s *shape) collect(t reflect.Type, index []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, tagged := sf.Tag.Lookup("yaml")
		name, options, _ := strings.Cut(tag, ",")
		if !tagged || name == "-" || !sf.IsExported() && !sf.Anonymous {
			continue
		}
		has := func(option string) bool { return contains(strings.Split(options, ","), option) }
		f := field{name: name, doc: sf.Tag.Get("doc"), typ: sf.Type, one: has("one"), required: has("required"),
			index: append(append([]int(nil), index...), i)}
		switch {
		case has("inline") && sf.Type.Kind() == reflect.Struct:
			s.collect(sf.Type, f.index)
			continue
		case has("inline") && sf.Type.Kind() == reflect.Map:
			s.rest = &f
			continue
		case name == "":
			panic(fmt.Sprintf("spec: field %v.%s has no name in its yaml tag", t, sf.Name))
		}
		s.fields = append(s.fields, f)
		if has("scalar") {
			s.scalar = &f
		}
	}
}

// Enumerated is a text type that knows all its values.
type Enumerated interface{ Enum() []string }

// Described is a type that says in a few words what it takes: "a size such as 70GB".
type Described interface{ Want() string }

// Patterned is a text type whose values match a regular expression.
type Patterned interface{ Pattern() string }

var (
	textType  = reflect.TypeFor[encoding.TextUnmarshaler]()
	valueType = reflect.TypeFor[*Value]()
)

// traits is what Decode has to know of a type that is not in its reflect.Kind.
type traits struct {
	text bool     // reads itself
	want string   // what a scalar takes, in words; "" for types that are no scalars
	enum []string // the allowed texts, or nil
}

var allTraits sync.Map // reflect.Type -> *traits

func traitsOf(t reflect.Type) *traits {
	if known, ok := allTraits.Load(t); ok {
		return known.(*traits)
	}
	tr := &traits{text: reflect.PointerTo(t).Implements(textType), want: kindWords(t.Kind())}
	if w, ok := zeroAs[Described](t); ok {
		tr.want = w.Want()
	} else if tr.text {
		tr.want = "a single value"
	}
	if e, ok := zeroAs[Enumerated](t); ok && t.Kind() == reflect.String {
		tr.enum = e.Enum()
	}
	allTraits.Store(t, tr)
	return tr
}

// kindWords says what a scalar of a Go kind takes.
func kindWords(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0 up"
	}
	return ""
}

// zeroAs returns the zero value of a type as an interface, when it or a pointer to it implements that.
func zeroAs[T any](t reflect.Type) (T, bool) {
	p := reflect.New(t)
	if v, ok := p.Elem().Interface().(T); ok {
		return v, true
	}
	v, ok := p.Interface().(T)
	return v, ok
}
