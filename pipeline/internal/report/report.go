// Package report turns a record and its verdict into what people and programs read: text for the terminal, Markdown for a
// merge request, one HTML file for who asks why, and JSON, CSV, JUnit, Go benchmark format and GitHub annotations for programs.
//
// The flow is one way. Build (view.go) orders record and verdict into a View: facets, groups, rows, cells, assertions,
// warnings, with no figure of its own beyond sums that only reports show. Each format is one file with one function from View to
// bytes and one line in the table below; it decides nothing about what is significant. Read view.go first.
//
// All text that comes from outside passes redact, and each format escapes it for its own syntax.
package report

import (
	"fmt"
	"io"
	"io/fs"
	"strings"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
)

// Input is what a report is made from.
type Input struct {
	Record  *engine.Record
	Verdict gate.Verdict
	// Color allows terminal colours in the text format.
	Color bool
	// Width is the terminal's width in cells; 0: no limit.
	Width int
	// Files is the run's directory, for excerpts of its logs; nil when it is not at hand.
	Files fs.FS
}

// format writes a view in one format.
type format struct {
	name  string
	doc   string
	write func(*View, Input, io.Writer) error
}

var formats = []format{
	{"text", "tables for a terminal", writeText},
	{"markdown", "a comment for a merge request, below 60 kB", writeMarkdown},
	{"html", "one self-contained page with charts", writeHTML},
	{"json", "estimates and verdicts, versioned", writeJSON},
	{"csv", "one line per step, variant and metric", writeCSV},
	{"junit", "JUnit XML, one test case per assertion", writeJUnit},
	{"bench", "Go benchmark format: benchstat -col /variant", writeBench},
	{"github", "annotations at the assertions' lines", writeGitHub},
}

// Formats lists the names that Render takes, and a line about each.
func Formats() (names []string, docs map[string]string) {
	docs = map[string]string{}
	for _, f := range formats {
		names = append(names, f.name)
		docs[f.name] = f.doc
	}
	return names, docs
}

// Render writes the report. Nothing is written when it returns an error of its own; an error of w may leave a part.
func Render(name string, in Input, w io.Writer) error {
	if in.Record == nil {
		return fmt.Errorf("report: no record")
	}
	for _, f := range formats {
		if f.name == name {
			return f.write(Build(in.Record, in.Verdict), in, w)
		}
	}
	names, _ := Formats()
	return fmt.Errorf("report: unknown format %q, known are %s", name, strings.Join(names, ", "))
}
