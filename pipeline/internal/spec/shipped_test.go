package spec_test

import (
	"os"
	"path/filepath"
	"testing"

	"pgpipeline/pipeline/internal/spec"
	"pgpipeline/stages"
)

func realKinds() ([]spec.KindInfo, map[string]any) {
	infos, structs := []spec.KindInfo{}, map[string]any{}
	for _, k := range stages.All {
		infos = append(infos, spec.KindInfo{Name: k.Name, Doc: k.Doc, Catalogue: k.Catalogue, Fragments: k.Fragments})
		structs[k.Name] = k.New()
	}
	return infos, structs
}

// Every experiment and library that ships loads, and fits the schema that editors use.
func TestShippedFiles(t *testing.T) {
	kinds, structs := realKinds()
	whole, err := spec.Schema(kinds, structs)
	if err != nil {
		t.Fatal(err)
	}
	part, err := spec.LibrarySchema(kinds, structs)
	if err != nil {
		t.Fatal(err)
	}
	for pattern, schema := range map[string][]byte{"*.yaml": whole, "lib/*.yaml": part} {
		paths, _ := filepath.Glob(filepath.Join("../../../experiments", pattern))
		if len(paths) == 0 {
			t.Errorf("no files match %s", pattern)
		}
		compiled := compile(t, schema)
		for _, path := range paths {
			if filepath.Ext(path[:len(path)-len(".yaml")]) == ".lock" {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := compiled.Validate(asEditor(t, string(text))); err != nil {
				t.Errorf("%s does not fit the schema: %v", path, err)
			}
			if pattern == "*.yaml" {
				if _, err := spec.Load(path, spec.Options{Kinds: kinds}); err != nil {
					t.Errorf("\n%v", err)
				}
			}
		}
	}
}

// Fragments that kinds bring along, and those of the libraries, hold only parameters that their kind has.
func TestShippedFragments(t *testing.T) {
	kinds, structs := realKinds()
	paths, _ := filepath.Glob("../../../experiments/lib/*.yaml")
	text := "version: 1\nstages: [" + kinds[0].Name + ": ]\ninclude:\n"
	for _, p := range paths {
		text += "  - " + filepath.Base(p) + "\n"
	}
	read := func(path string) ([]byte, error) {
		if path == "../../../experiments/lib/x.yaml" {
			return []byte(text), nil
		}
		return os.ReadFile(path)
	}
	e, err := spec.Load("../../../experiments/lib/x.yaml", spec.Options{Kinds: kinds, ReadFile: read})
	if err != nil {
		t.Fatalf("\n%v", err)
	}
	for _, k := range kinds {
		if k.Catalogue == "" {
			continue
		}
		for _, name := range e.Names(k.Catalogue) {
			v, err := e.Fragment(k.Catalogue, name, spec.Pos{})
			if err == nil {
				err = spec.Decode(v, structs[k.Name])
			}
			if err != nil {
				t.Errorf("%s %q:\n%v", k.Catalogue, name, err)
			}
		}
	}
}
