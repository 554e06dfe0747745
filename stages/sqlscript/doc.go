// Package sqlscript runs a user's own SQL files with our own driver, in the syntax of pgbench scripts where that is simple.
//
// A file is a transaction: statements that end with a semicolon, and lines with a meta command:
//
//	\set NAME EXPRESSION   + - * / %, parentheses, integers and doubles, :variables, and the functions of functions.go
//	\sleep NUMBER [us|ms|s]
//
// A `:name` in a statement becomes a parameter of a prepared statement; in quotes, comments and after another colon it stays what it
// is. Variables that are always there: client_id, random_seed, scale (1 unless set), rows and tables of the load. Everything else of
// pgbench (\gset, \if, \setshell, pipelines) is an error with file and line, never skipped.
//
// Read script.go first: text -> Script. Then split.go (statements), expression.go (text -> tree), functions.go, value.go, and
// program.go: scripts and weights -> driver.Program.
package sqlscript
