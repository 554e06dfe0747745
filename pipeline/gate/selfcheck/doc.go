// Command selfcheck measures what the verdicts of this project are worth: it sends simulated machines and recorded A/A traces,
// with regressions of known size injected, through the code that judges experiments, and the same data through the ways in
// which others judge. It prints one line per figure with its target, and exits 1 when a target is missed without an explanation.
//
// The way through it: machine.go makes noise like a machine's, trace.go reads recorded noise, adaptive.go runs the gate on
// either, rivals.go has the naive ratio and benchstat, figures.go computes each figure, faults.go breaks the environment on
// purpose. Everything is seeded: two runs print the same.
package main
