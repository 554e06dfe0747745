// Package enginetest is the suite that every stage kind passes. A new kind is tested by being in stages.All.
package enginetest

import (
	"context"
	"encoding"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgpipeline/pipeline/engine"
)

var (
	kindName  = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	fieldName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// Conform checks every kind against what the engine and its users count on.
func Conform(t *testing.T, kinds []engine.Kind) {
	for i := range kinds {
		k := &kinds[i]
		t.Run(k.Name, func(t *testing.T) {
			t.Run("description", func(t *testing.T) { description(t, kinds[:i], k) })
			t.Run("parameters", func(t *testing.T) { parameters(t, reflect.TypeOf(k.New()).Elem(), "") })
			t.Run("key", func(t *testing.T) { keyed(t, k) })
			t.Run("cancelled", func(t *testing.T) { cancelled(t, k) })
		})
	}
}

// description: help is there, and what the kind takes is made by earlier ones.
func description(t *testing.T, earlier []engine.Kind, k *engine.Kind) {
	summary, _, _ := strings.Cut(k.Doc, "\n")
	if !kindName.MatchString(k.Name) {
		t.Errorf("name %q", k.Name)
	}
	if len(summary) < 10 || len(summary) > 90 {
		t.Errorf("the first line of Doc is the summary, a short one: %q", summary)
	}
	for _, take := range k.Takes {
		i := slices.IndexFunc(earlier, func(e engine.Kind) bool { return e.Name == take.Kind })
		if i < 0 {
			t.Errorf("takes %q, which no earlier kind makes", take.Kind)
			continue
		}
		if take.Field != "" && !hasField(reflect.TypeOf(earlier[i].New()).Elem(), take.Field) {
			t.Errorf("takes %s.%s, and %s has no such parameter", take.Kind, take.Field, take.Kind)
		}
	}
	if a, b := k.New(), k.New(); a == b {
		t.Error("New returns the same value twice: cells would share their parameters")
	}
	if _, measures := k.New().(engine.Measurer); measures != (k.Scope == engine.Measured) {
		t.Errorf("scope Measured is %v and Measurer is %v", k.Scope == engine.Measured, measures)
	}
}

func hasField(t reflect.Type, name string) bool {
	for _, f := range reflect.VisibleFields(t) {
		if yamlName(f) == name {
			return true
		}
	}
	return false
}

func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

// parameters: each has a name for the file and a line of help, also those of nested structs.
func parameters(t *testing.T, typ reflect.Type, path string) {
	for _, f := range reflect.VisibleFields(typ) {
		if !f.IsExported() || f.Anonymous || f.Tag.Get("yaml") == "-" {
			continue
		}
		if f.Tag.Get("yaml") == ",inline" {
			parameters(t, f.Type, path)
			continue
		}
		name := path + yamlName(f)
		if !fieldName.MatchString(yamlName(f)) {
			t.Errorf("field %s has the yaml name %q", f.Name, yamlName(f))
		}
		if len(f.Tag.Get("doc")) < 5 {
			t.Errorf("%s has no doc tag", name)
		}
		if key := f.Tag.Get("key"); key != "" && key != "-" {
			t.Errorf("%s: the key tag is %q; only \"-\" means something", name, key)
		}
		below := f.Type
		for below.Kind() == reflect.Slice || below.Kind() == reflect.Pointer || below.Kind() == reflect.Map {
			below = below.Elem()
		}
		if below.Kind() == reflect.Struct && !marshals(below) {
			parameters(t, below, name+".")
		}
	}
}

func marshals(t reflect.Type) bool {
	text := reflect.TypeFor[encoding.TextMarshaler]()
	return t.Implements(text) || reflect.PointerTo(t).Implements(text)
}

// keyed: another value of a keyed parameter is another recipe; of an unkeyed one, the same.
func keyed(t *testing.T, k *engine.Kind) {
	before := engine.ParamRecipe(k, k.New())
	if again := engine.ParamRecipe(k, k.New()); again != before {
		t.Fatal("the recipe of the defaults is not stable")
	}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(k.New()).Elem()) {
		if !f.IsExported() || f.Anonymous || f.Tag.Get("yaml") == "-" {
			continue
		}
		stage := k.New()
		field := reflect.ValueOf(stage).Elem().FieldByIndex(f.Index)
		if !change(field) {
			t.Errorf("%s: the suite cannot change a %s", yamlName(f), f.Type)
			continue
		}
		differs := engine.ParamRecipe(k, stage) != before
		if unkeyed := f.Tag.Get("key") == "-"; differs == unkeyed {
			t.Errorf("%s: tagged key:\"-\" is %v, and a change of it changes the recipe: %v", yamlName(f), unkeyed, differs)
		}
	}
}

// change gives v another value of its type.
func change(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1_000_000_007)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.New(v.Type().Elem()).Elem()))
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		m.SetMapIndex(reflect.ValueOf("x").Convert(v.Type().Key()), reflect.New(v.Type().Elem()).Elem())
		v.Set(m)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && change(v.Field(i)) {
				return true
			}
		}
		return false
	default:
		return false
	}
	return true
}

// cancelled: a stage whose context has ended does not pretend to have done its work, and does not hang or panic.
func cancelled(t *testing.T, k *engine.Kind) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	env := &engine.Env{Dir: t.TempDir(), Scratch: t.TempDir(), Inputs: map[string]engine.Input{}, Host: engine.ThisHost(), Log: io.Discard,
		Progress: func(engine.Progress) {}, Warn: func(string, ...any) {}, Record: func(engine.Measurement) {}, Fact: func(string, string) {}}
	for _, take := range k.Takes {
		env.Inputs[take.Kind] = engine.Input{Kind: take.Kind, Key: fmt.Sprintf("%064d", 0), Dir: t.TempDir()}
	}
	if err := k.New().Run(ctx, env); err == nil {
		t.Error("Run returned nil although its context had ended and its inputs were empty")
	}
}
