package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// object is a piece of JSON Schema. Keys are sorted when it is written, so the same structs give the same bytes.
type object = map[string]any

// Schema writes a JSON Schema (2020-12) for experiment files: from the structs that Load and Decode fill, so that an editor and
// the tool agree. params has a pointer to the parameter struct of every kind, by its name.
func Schema(kinds []KindInfo, params map[string]any) ([]byte, error) {
	return writeSchema(kinds, params, document{}, "An experiment of the benchmark pipeline")
}

// LibrarySchema writes the schema of the files that experiments include.
func LibrarySchema(kinds []KindInfo, params map[string]any) ([]byte, error) {
	return writeSchema(kinds, params, library{}, "Named fragments, variables and groups for experiments")
}

func writeSchema(kinds []KindInfo, params map[string]any, top any, title string) ([]byte, error) {
	for _, k := range kinds {
		if t := reflect.TypeOf(params[k.Name]); t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
			return nil, fmt.Errorf("schema: kind %q has no parameter struct", k.Name)
		}
	}
	b := &schemaBuilder{kinds: kinds, structs: params, defs: object{}, named: map[reflect.Type]string{}}
	root := b.top(reflect.TypeOf(top))
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = title
	root["$defs"] = b.defs
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return out.Bytes(), b.err
}

type schemaBuilder struct {
	kinds   []KindInfo
	structs map[string]any // kind -> pointer to its parameter struct
	defs    object
	named   map[reflect.Type]string // struct type -> name under $defs
	// templates is set below stages and catalogues, where any scalar may have `${ }`.
	templates bool
	err       error
}

// top is the schema of a whole file.
func (b *schemaBuilder) top(t reflect.Type) object {
	properties, required := object{}, []string{}
	for _, f := range shapeOf(t).fields {
		properties[f.name] = describe(b.topField(f), f.doc)
		if f.required {
			required = append(required, f.name)
		}
	}
	for _, k := range b.kinds {
		if k.Catalogue != "" {
			properties[k.Catalogue] = b.catalogue(k)
		}
	}
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// topField is the schema of one top-level key. Those that Load reads by hand are described by hand.
func (b *schemaBuilder) topField(f field) object {
	switch f.name {
	case "version":
		return object{"const": 1}
	case "name":
		return object{"type": "string", "pattern": experimentName.String(), "maxLength": 100}
	case "include":
		return oneOrList(object{"type": "string", "pattern": `^[^/~]`})
	case "vars":
		return mapping(anyScalar(), identifier.String())
	case "matrix":
		return b.matrix()
	case "baseline":
		return cellSchema()
	case "stages":
		return object{"type": "array", "minItems": 1, "items": b.stage()}
	case "assert":
		return oneOrList(b.assertion())
	case "groups":
		return mapping(oneOrList(object{"type": "string"}), "")
	}
	return b.value(f.typ, f.one)
}

func (b *schemaBuilder) matrix() object {
	axis := object{"type": "array", "minItems": 1, "uniqueItems": true, "items": anyScalar()}
	return object{"type": []string{"object", "null"}, "additionalProperties": axis, "propertyNames": object{"pattern": identifier.String()},
		"properties": object{
			"exclude": describe(oneOrList(cellSchema()), "cells to leave out: each item drops all cells that have its values"),
			"include": describe(oneOrList(cellSchema()), "cells to add: each item names every axis"),
		}}
}

func cellSchema() object { return mapping(anyScalar(), "") }

func (b *schemaBuilder) stage() object {
	name := object{"type": "string", "pattern": experimentName.String()}
	properties := object{
		"id":    describe(name, "name of the stage; the kind when absent"),
		"needs": describe(oneOrList(object{"type": "string"}), "ids of the earlier stages to take inputs from, instead of the nearest"),
		"pin":   describe(cellSchema(), "axis values that hold for this stage in every cell"),
	}
	var one []object
	for _, k := range b.kinds {
		properties[k.Name] = describe(b.params(k, "use", k.Catalogue != ""), k.Doc)
		one = append(one, object{"required": []string{k.Name}})
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false, "oneOf": one}
}

// params is the schema of a kind's parameters, with one more key that names fragments. Fragments need not be complete, nor
// need what is laid over one.
func (b *schemaBuilder) params(k KindInfo, key string, fragments bool) object {
	b.templates = true
	defer func() { b.templates = false }()
	s := b.fields(reflect.TypeOf(b.structs[k.Name]).Elem())
	if fragments {
		s["properties"].(object)[key] = describe(oneOrList(object{"type": "string"}), "named fragments below these parameters, the later over the earlier")
		delete(s, "required")
	}
	s["type"] = []string{"object", "null"}
	return s
}

func (b *schemaBuilder) catalogue(k KindInfo) object {
	return describe(mapping(b.params(k, "extends", true), ""), "named parameters for "+k.Name+" stages")
}

func (b *schemaBuilder) assertion() object {
	full := b.fields(reflect.TypeFor[assertion]())
	expr := object{"type": "string", "minLength": 1}
	full["properties"].(object)["expr"] = describe(expr, "the expression")
	full["properties"].(object)["where"] = describe(cellSchema(), "axis values that narrow it to some cells")
	return object{"anyOf": []object{expr, full}}
}

func describe(s object, doc string) object {
	if doc != "" {
		s["description"] = doc
	}
	return s
}

func oneOrList(item object) object {
	return object{"anyOf": []object{item, {"type": "array", "items": item}, {"type": "null"}}}
}

// mapping is a map to values of one schema; null removes a key that a fragment below has.
func mapping(value object, names string) object {
	s := object{"type": []string{"object", "null"}, "additionalProperties": value}
	if names != "" {
		s["propertyNames"] = object{"pattern": names}
	}
	return s
}

// anyScalar is a text: YAML has numbers and booleans for what is a text to us.
func anyScalar() object { return object{"type": []string{"string", "number", "boolean"}} }
