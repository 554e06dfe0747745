// Command pipeline runs declarative benchmark experiments for PostgreSQL: it fetches, builds, configures, loads, measures and
// compares servers as one YAML file describes, skips what it has already made, and judges the result.
//
// Start reading at pipeline/engine/doc.go: it tells the flow in numbered steps. Here, main.go turns an error into an exit
// code and one cmd_<verb>.go per verb is a thin layer of flags over one call.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"pgpipeline/pipeline/internal/redact"
	"pgpipeline/pipeline/proc"
)

// gcPercent bounds what the samples of a week take: with Go's own 100 the heap would be twice what is in it. While something
// is measured the collector rests.
const gcPercent = 30

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	code := Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	proc.KillOrphans() // nothing of ours runs on, whatever a build or a script left behind
	os.Exit(code)
}

// Main runs one command line and returns its exit code. Data goes to stdout, everything else to stderr.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	ctx, stop := interruptible(context.Background(), app.notice)
	defer stop()
	root := app.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	code := exitCode(ctx, err)
	if text := redact.Values(errorText(err)); text != "" {
		fmt.Fprintln(stderr, text)
	}
	return code
}
