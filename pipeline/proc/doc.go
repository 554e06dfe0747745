// Package proc starts every child process of the tool: compilers, servers, clients, archive tools.
//
// It promises that a child gets no environment but the one it is given, no terminal, no standard input, and no
// privileges beyond the account it is to run as; and that nothing of it runs on after its stage:
//
//  1. Every child leads its own session, so that a signal reaches its helpers too (process.go).
//  2. One locked OS thread forks all of them (fork.go). PR_SET_PDEATHSIG is tied to the thread that forked, so a child gets
//     its stop signal when the tool dies, even by SIGKILL, and not when Go happens to retire a thread.
//  3. The tool is a subreaper: what a child leaves behind becomes a child of the tool, and is killed and reaped (tree.go).
//  4. A guard process kills what ignores the stop signal after the tool was killed (guard.go).
//
// Read process.go first: Run and Start are all that most callers need. The package is for Linux.
package proc
