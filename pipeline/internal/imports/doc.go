// Package imports turns results that other programs left behind into a record, so that report, compare and check work on them:
// result folders of sysbench runs, outputs of pgbench, CSV in long form and the Go benchmark format.
//
// The flow: arguments (source.go) -> a Set of results, by one reader for each format (sysbench.go, pgbench.go, csv.go, gobench.go)
// -> engine.Record (record.go). Result folders of sysbench also have vmstat and iostat samples (vmstat.go, iostat.go), and the tables
// that are published from them come out again cell by cell (tables.go).
//
// What is imported was not measured in pairs. One result per variant becomes one block, and no assertion with a limit passes on one
// block; the record's warnings say so.
package imports
