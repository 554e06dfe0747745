package spec

import (
	"encoding"
	"fmt"
	"reflect"
	"sort"
	"strings"
)

// FieldHelp describes one parameter for help texts and tables.
type FieldHelp struct {
	Name    string // path below the struct, such as "budget.blocks"
	Type    string // in words: "a size such as 70GB", "list of texts"
	Default string // as one would write it; "" when there is none
	Doc     string
}

// Fields describes what a struct takes, in the order of its fields, those of nested structs after the field that holds them.
// params points at the struct with its defaults filled in.
func Fields(params any) []FieldHelp {
	return fieldsBelow("", reflect.ValueOf(params).Elem(), nil)
}

func fieldsBelow(prefix string, v reflect.Value, above []reflect.Type) []FieldHelp {
	var out []FieldHelp
	above = append(above, v.Type())
	for _, f := range shapeOf(v.Type()).fields {
		value := v.FieldByIndex(f.index)
		out = append(out, FieldHelp{Name: prefix + f.name, Type: typeWords(f.typ), Default: defaultText(value), Doc: f.doc})
		nested, list := nestedStruct(f.typ)
		if nested == nil || recursive(above, nested) {
			continue
		}
		below := reflect.New(nested).Elem()
		if value.Type() == nested {
			below = value
		}
		name := prefix + f.name + "."
		if list {
			name = prefix + f.name + "[]."
		}
		out = append(out, fieldsBelow(name, below, above)...)
	}
	return out
}

func recursive(above []reflect.Type, t reflect.Type) bool {
	for _, a := range above {
		if a == t {
			return true
		}
	}
	return false
}

// nestedStruct is the struct that a field holds, itself or in a list.
func nestedStruct(t reflect.Type) (nested reflect.Type, list bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		list = list || t.Kind() == reflect.Slice
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || traitsOf(t).text {
		return nil, false
	}
	return t, list
}

func typeWords(t reflect.Type) string {
	switch traits := traitsOf(t); {
	case traits.enum != nil:
		return strings.Join(traits.enum, " | ")
	case traits.want != "":
		return strings.TrimPrefix(traits.want, "a ")
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeWords(t.Elem())
	case reflect.Slice:
		return "list of " + typeWords(t.Elem())
	case reflect.Map:
		return "map to " + typeWords(t.Elem())
	case reflect.Struct:
		if s := shapeOf(t).scalar; s != nil {
			return typeWords(s.typ) + ", or a mapping"
		}
		return "mapping"
	}
	return "any value"
}

// defaultText writes a default the way it would stand in a file.
func defaultText(v reflect.Value) string {
	if v.IsZero() {
		return ""
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, _ := m.MarshalText()
		return string(text)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return defaultText(v.Elem())
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = defaultText(v.Index(i))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case reflect.Map:
		var parts []string
		for _, k := range v.MapKeys() {
			parts = append(parts, fmt.Sprint(k)+": "+defaultText(v.MapIndex(k)))
		}
		sort.Strings(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Struct:
		return "" // its fields have their own lines
	}
	return fmt.Sprint(v.Interface())
}
