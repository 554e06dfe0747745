package report

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pgpipeline/templates"
)

// TestJSONFollowsItsSchema validates reports of all kinds against the published schema.
func TestJSONFollowsItsSchema(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(templates.ReportSchema())))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("report.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	empty := example()
	empty.Record.Blocks, empty.Record.Nodes, empty.Record.Facets, empty.Verdict.Steps = nil, nil, nil, nil
	for name, in := range map[string]Input{"example": example(), "empty": empty, "insert": insertExample()} {
		report, err := jsonschema.UnmarshalJSON(strings.NewReader(render(t, "json", in)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := schema.Validate(report); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestJSONSchemaIsComplete finds fields that the schema does not describe.
func TestJSONSchemaIsComplete(t *testing.T) {
	var schema any
	if err := json.Unmarshal(templates.ReportSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	collectProperties(schema, described)
	checkFields(t, reflect.TypeFor[jsonReport](), described, map[reflect.Type]bool{})
}

func collectProperties(v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		if props, ok := v["properties"].(map[string]any); ok {
			for name := range props {
				into[name] = true
			}
		}
		for _, x := range v {
			collectProperties(x, into)
		}
	case []any:
		for _, x := range v {
			collectProperties(x, into)
		}
	}
}

func checkFields(t *testing.T, typ reflect.Type, described map[string]bool, seen map[reflect.Type]bool) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		checkFields(t, typ.Elem(), described, seen)
		return
	case reflect.Struct:
	default:
		return
	}
	if seen[typ] || typ.PkgPath() == "time" {
		return
	}
	seen[typ] = true
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if !described[name] {
			t.Errorf("%s.%s (%q) is not in the schema", typ, f.Name, name)
		}
		checkFields(t, f.Type, described, seen)
	}
}
