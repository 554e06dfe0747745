// Package engine turns an experiment into a plan and a plan into a record. It knows what stages are and nothing of what any
// of them does: the word "server" does not occur in its code.
//
// The flow, one way; every arrow is one function and every value prints as JSON:
//
//  1. parse     bytes -> Experiment, positions kept           pipeline/internal/spec: Load
//  2. expand    one node per stage and matrix cell, one facet  expand.go, facet.go
//     per group of cells that are compared; `${ }` is
//     evaluated from variables, axes and the host only
//  3. decode,   parameters -> the stage's own struct;          decode.go
//     check,    moving references become fixed ones
//     pin
//  4. key       recipe text -> sha256; nodes with equal keys   plan.go, key.go
//     merge; each is looked up in the cache                    lookup.go
//  5. compile   assertions: a typo fails now                   pipeline/gate: Compile
//  6. run       Plan -> events, entries, blocks, Record        run.go, nodes.go, measure.go, derive.go, keep.go
//  7. judge,    Record -> Verdict -> bytes                     pipeline/gate, pipeline/internal/report
//     report
//
// A stage author reads stage.go and nothing else. A report author reads record.go. Who follows a run reads event.go.
//
// # Words
//
//   - experiment: one YAML file. stage: one item of its sequence. kind: what sort of stage (fetch, build, ...).
//   - matrix, axis, cell: the combinations of values an experiment spans; a cell is one combination.
//   - baseline: the base cell; the axes it names are compared. All other axes make facets: facet: cells that are
//     compared with each other. variant: a cell as it is compared, named by the values of the compared axes.
//   - node: a stage in one or more cells whose recipes are equal. recipe: the readable text that says everything a node's
//     output depends on. key: its sha256. entry: the output, in the cache under its key.
//   - block: one boot of all variants of a facet and one pass over the steps; the outer sample of the statistics. step: one
//     microbenchmark or one phase of a workload. slice: one uninterrupted stretch of a step on one variant. pair: the slices
//     of all variants that are compared with each other. sample: what a slice yields.
//   - evidence: all blocks measured of the same thing, over all runs. series: the evidence since the last `--fresh run`.
//   - run: one execution. record: what it leaves behind. metric, verdict: what is computed from it. event: what it tells
//     whoever follows.
package engine
