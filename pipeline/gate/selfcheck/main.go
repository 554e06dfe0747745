package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func main() {
	data := flag.String("data", "pipeline/stat/testdata", "directory of recorded traces")
	quick := flag.Bool("short", false, "few trials: seconds instead of minutes, and targets are not judged")
	flag.Parse()
	ok, err := run(*data, *quick, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "selfcheck:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run computes and prints the table. ok is false when a target is missed and nothing explains it.
func run(data string, quick bool, w io.Writer) (ok bool, err error) {
	dir := os.DirFS(data)
	traces, err := readTraces(dir)
	if err != nil {
		return false, err
	}
	b := bench{full, traces}
	if quick {
		b.effort = short
	}
	began := time.Now()
	ok = true
	for _, f := range b.all() {
		f.print(w, quick)
		ok = ok && (f.met || f.why != "" || quick)
	}
	blocked, all, err := nearAA(dir, 0.95)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(w, "\nPublished pairs of adjacent minor releases, one run per side, that a gate of 0.95 on the bare ratio blocks: %d of %d.\n", blocked, all)
	fmt.Fprintf(os.Stderr, "%s, %d suites and %d trials per point\n", time.Since(began).Round(time.Second), b.suites, b.trials)
	return ok, nil
}

func (f figure) print(w io.Writer, quick bool) {
	mark := "met"
	switch {
	case quick:
		mark = "short"
	case !f.met:
		mark = "MISSED"
	}
	fmt.Fprintf(w, "%2d  %-6s %s\n    target  %s\n    here    %s\n", f.number, mark, f.what, f.target, strings.TrimSpace(f.ours))
	if f.rivals != "" {
		fmt.Fprintf(w, "    rivals  %s\n", strings.TrimSpace(f.rivals))
	}
	if f.why != "" {
		fmt.Fprintf(w, "    note    %s\n", f.why)
	}
}
