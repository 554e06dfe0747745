package spec

import (
	"fmt"
	"reflect"
	"regexp"
)

// value is the schema of what Decode accepts for a Go type.
func (b *schemaBuilder) value(t reflect.Type, one bool) object {
	switch {
	case t == valueType:
		return object{}
	case t.Kind() == reflect.Pointer:
		return object{"anyOf": []object{b.value(t.Elem(), one), {"type": "null"}}}
	case traitsOf(t).text:
		return b.text(t)
	}
	switch t.Kind() {
	case reflect.Struct:
		return b.structure(t)
	case reflect.Map:
		return mapping(nullable(b.value(t.Elem(), one)), "")
	case reflect.Slice:
		item := b.value(t.Elem(), false)
		if one {
			return oneOrList(item)
		}
		return object{"type": []string{"array", "null"}, "items": item}
	case reflect.Interface:
		return object{}
	case reflect.String:
		return b.string(t)
	case reflect.Bool:
		return b.scalar(object{"type": "boolean"}, object{"enum": []string{"true", "false"}})
	case reflect.Float32, reflect.Float64:
		return b.scalar(object{"type": "number"}, object{"type": "string", "pattern": `^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$`})
	}
	return b.whole(t)
}

func (b *schemaBuilder) whole(t reflect.Type) object {
	switch traitsOf(t).want {
	case "a whole number":
		return b.scalar(object{"type": "integer"}, object{"type": "string", "pattern": `^[-+]?[0-9]+$`})
	case "a whole number from 0 up":
		return b.scalar(object{"type": "integer", "minimum": 0}, object{"type": "string", "pattern": `^[0-9]+$`})
	}
	if b.err == nil {
		b.err = fmt.Errorf("schema: values of Go type %v cannot be read", t)
	}
	return object{}
}

// nullable allows the null that removes a key of a fragment.
func nullable(s object) object { return object{"anyOf": []object{s, {"type": "null"}}} }

// scalar is a choice of ways to write a scalar, a template among them where those are evaluated.
func (b *schemaBuilder) scalar(ways ...object) object {
	if b.templates {
		ways = append(ways, object{"type": "string", "pattern": `\$\{`})
	}
	if len(ways) == 1 {
		return ways[0]
	}
	return object{"anyOf": ways}
}

func (b *schemaBuilder) string(t reflect.Type) object {
	if enum := traitsOf(t).enum; enum != nil {
		return b.scalar(object{"enum": enum})
	}
	return anyScalar()
}

// text is the schema of a type that reads itself.
func (b *schemaBuilder) text(t reflect.Type) object {
	s := anyScalar()
	if p, ok := zeroAs[Patterned](t); ok {
		ways := []object{{"type": "string", "pattern": p.Pattern()}}
		switch pattern := regexp.MustCompile(p.Pattern()); {
		case pattern.MatchString("5"):
			ways = append(ways, object{"type": "number", "minimum": 0})
		case pattern.MatchString("0"):
			ways = append(ways, object{"const": 0})
		}
		s = b.scalar(ways...)
	}
	if w, ok := zeroAs[Described](t); ok {
		describe(s, w.Want())
	}
	return s
}

// structure is a reference to a named struct's schema, which is written once.
func (b *schemaBuilder) structure(t reflect.Type) object {
	name, ok := b.named[t]
	if !ok {
		name = b.free(t)
		b.named[t] = name
		b.defs[name] = object{} // taken, while the fields are looked at
		b.defs[name] = b.alternatives(t)
	}
	return object{"$ref": "#/$defs/" + name}
}

// free is an unused name for a struct.
func (b *schemaBuilder) free(t reflect.Type) string {
	base := t.Name()
	if base == "" {
		base = "anonymous"
	}
	name := base
	for n := 2; b.defs[name] != nil; n++ {
		name = fmt.Sprint(base, n)
	}
	return name
}

// alternatives is a struct's schema, or the scalar that stands for it.
func (b *schemaBuilder) alternatives(t reflect.Type) object {
	full := b.fields(t)
	f := shapeOf(t).scalar
	if f == nil {
		return full
	}
	short := b.value(f.typ, false)
	if f.one && f.typ.Kind() == reflect.Slice {
		short = b.value(f.typ.Elem(), false)
	}
	return object{"anyOf": []object{describe(short, f.doc), full}}
}

// fields is a struct's schema as a mapping.
func (b *schemaBuilder) fields(t reflect.Type) object {
	shape := shapeOf(t)
	properties, required := object{}, []string{}
	for _, f := range shape.fields {
		s := b.value(f.typ, f.one)
		if b.templates && !f.required {
			s = nullable(s)
		}
		properties[f.name] = describe(s, f.doc)
		if f.required {
			required = append(required, f.name)
		}
	}
	s := object{"type": "object", "properties": properties, "additionalProperties": false}
	if shape.rest != nil {
		s["additionalProperties"] = b.value(shape.rest.typ.Elem(), shape.rest.one)
	}
	if len(required) > 0 {
		s["required"] = required
	} else {
		s["type"] = []string{"object", "null"}
	}
	return s
}
