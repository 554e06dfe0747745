// Package gate judges a record: it compiles the assertions of an experiment, says after each block which steps still need
// measuring, and turns the samples into a Verdict.
//
// The way through it:
//
//  1. Compile (compile.go) binds every assertion to each candidate of each facet that it holds for. What a function may be
//     called with is in functions.go, how names of steps and variants are found in names.go.
//  2. evidence.go sorts the blocks of a facet by step and makes pairs of what counts; metric.go says what a metric is.
//  3. resolve.go answers a call of an assertion with a quantity; sequential.go is the evidence behind it, which decides at the
//     looks of stat's schedules.
//  4. Judge (judge.go) evaluates, names errors, and sums up; estimates.go fills the tables of steps and groups.
//  5. Wanted (wanted.go) is the same evaluation between two blocks; Lint (lint.go) is what can be said before the first.
//
// The chance of any false failure of a plan is at most 1 %, split evenly over its m comparisons; that of a wrong pass is at
// most 5 % for each.
package gate
