// Package spec turns the YAML of an experiment into an Experiment, with the position of every value kept, so that each later
// error can show the line it is about. It is the only importer of yaml.v3, and it knows no stage: kinds come in as data.
//
// The flow:
//
//  1. parse.go reads bytes into a tree of Values, within limits, and refuses what YAML allows and nobody means.
//  2. load.go follows the includes, merges the catalogues, and checks everything that can be checked without knowing the
//     stages' parameters. stages.go, matrix.go and fragment.go have the parts.
//  3. The engine evaluates `${ }` in each cell of the matrix (Value.Interpolate, interpolate.go).
//  4. Decode (decode.go) fills a stage's parameter struct, strictly, from its `yaml` tags. Schema (schema.go) writes the same
//     structs as JSON Schema for editors.
//
// lock.go reads and writes lock files, accept.go reads the list of accepted regressions.
//
// Read value.go first: everything else takes or makes Values.
package spec
