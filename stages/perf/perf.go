// Package perf profiles a server with the kernel's perf and writes folded stacks, which every flame-graph program reads: one line
// per stack, frames from the outermost inwards with semicolons between them, a blank and the number of samples.
//
// perf.go runs the program, fold.go reads what it prints.
package perf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pgpipeline/pipeline/proc"
)

// Recording is a perf that samples.
type Recording struct {
	process *proc.Process
	tail    *proc.Tail
	data    string
	all     bool // the whole machine
}

// hertz is not a divisor of the timer's rates, so that it does not run in step with them.
const hertz = 199

// Start samples processes until Stop; without any, the whole machine, of which Stop keeps the stacks of PostgreSQL: perf does not
// follow a process that a running one forks later. data is the file for perf's own use.
func Start(ctx context.Context, data string, pids []int) (*Recording, error) {
	list := make([]string, len(pids))
	for i, pid := range pids {
		list[i] = strconv.Itoa(pid)
	}
	r := &Recording{data: data, tail: proc.NewTail(5, nil), all: len(pids) == 0}
	target := []string{"-p", strings.Join(list, ",")}
	if r.all {
		target = []string{"-a"}
	}
	var err error
	r.process, err = proc.Start(ctx, proc.Cmd{Path: "perf", StopSignal: syscall.SIGINT, Env: proc.Environ(), Stdout: r.tail, Stderr: r.tail,
		Args: append([]string{"record", "-q", "-F", strconv.Itoa(hertz), "-g", "-o", data}, target...)})
	if err != nil {
		return nil, fmt.Errorf("%w (apt-get install linux-perf)", err)
	}
	return r, nil
}

// Stop ends the sampling and writes the folded stacks. The error says what perf said.
func (r *Recording) Stop(ctx context.Context, w io.Writer) error {
	if err := r.process.Stop(ctx); err != nil {
		return err
	}
	if info, err := os.Stat(r.data); err != nil || info.Size() == 0 {
		return fmt.Errorf("perf record: %s (kernel.perf_event_paranoid may forbid it)", strings.Join(r.tail.Lines(), "; "))
	}
	var text bytes.Buffer
	err := proc.Run(ctx, proc.Cmd{Path: "perf", Args: []string{"script", "-i", r.data, "-F", "comm,ip,sym"}, Env: proc.Environ(), Stdout: &text, Timeout: 2 * time.Minute})
	if err != nil {
		return fmt.Errorf("perf script: %w", err)
	}
	stacks := Fold(text.String())
	if r.all {
		maps.DeleteFunc(stacks, func(stack string, _ int) bool { return !strings.HasPrefix(stack, "postgres") })
	}
	if len(stacks) == 0 {
		return errors.New("perf took no samples")
	}
	_, err = io.WriteString(w, Text(stacks))
	return err
}

// WriteFile creates the file and the folders above it and lets write fill it; a failed one is removed.
func WriteFile(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Close())
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}
