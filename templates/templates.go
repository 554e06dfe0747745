// Package templates holds the texts that the program writes for people: the page and style sheet of the HTML report, the starter experiments
// of `pipeline init`, and ready-made CI workflows. It has no logic but finding them.
package templates

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed report starters ci
var files embed.FS

// ReportPage is the html/template of the HTML report, ReportStyle its style sheet.
func ReportPage() string  { return read("report/page.html.tmpl") }
func ReportStyle() string { return read("report/style.css") }

// ReportSchema is the JSON Schema of the JSON report.
func ReportSchema() []byte { return []byte(read("report/report.schema.json")) }

// Template is a file that `pipeline init` can write.
type Template struct {
	Name string // "quick", "github-actions"
	Doc  string // what it is for: the first comment line of the file
	Path string // where it belongs in a repository, "" for starter experiments: the user chooses
	Text []byte
}

// Starters are the starter experiments, the simplest first.
func Starters() []Template {
	var list []Template
	for _, name := range []string{"quick", "versions", "tuning", "insert"} {
		list = append(list, load(name, "starters/"+name+".yaml", ""))
	}
	return list
}

// Workflows are the CI workflows.
func Workflows() []Template {
	return []Template{
		load("github-actions", "ci/github-actions.yml", ".github/workflows/benchmark.yml"),
		load("gitlab-ci", "ci/gitlab-ci.yml", ".gitlab-ci.yml"),
		load("fork-gate", "ci/fork-gate.yaml", "benchmark/gate.yaml"),
	}
}

// Find returns the starter or workflow of that name; the error lists the names.
func Find(name string) (Template, error) {
	var names []string
	for _, t := range append(Starters(), Workflows()...) {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Template{}, fmt.Errorf("no template %q, known are %s", name, strings.Join(names, ", "))
}

func load(name, file, place string) Template {
	text := read(file)
	return Template{Name: name, Doc: firstComment(text), Path: place, Text: []byte(text)}
}

// firstComment is the first comment line that speaks to people.
func firstComment(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if doc, ok := strings.CutPrefix(line, "# "); ok && !strings.HasPrefix(doc, "yaml-language-server") {
			return doc
		}
	}
	return ""
}

// read returns an embedded file. A missing one is a mistake in this package, found by its tests.
func read(name string) string {
	text, err := files.ReadFile(path.Clean(name))
	if err != nil {
		panic(err)
	}
	return string(text)
}
