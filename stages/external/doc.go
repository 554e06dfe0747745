// Package external reads what other load generators print, and runs them: pgbench and sysbench.
//
// Read output.go first: the one form that both outputs take. Then
//
//	sysbench.go  text of sysbench (0.5 to 1.1) -> Output
//	pgbench.go   text of pgbench (9.6 to 19) -> Output
//	tool.go      which programs there are, what they need, and how they are called
//	run.go       one run of one of them, with its output kept verbatim
//
// Parsers are tolerant: what a version does not print is absent, lines that nobody knows are skipped, and only an output without
// a single rate is an error.
package external
