package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"pgpipeline/builder"
	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
	"pgpipeline/pipeline/internal/spec"
	"pgpipeline/pipeline/internal/store"
)

// Exit codes. They are part of the interface and never get another meaning.
const (
	exitOK             = 0
	exitFailed         = 1   // an assertion failed
	exitUsage          = 2   // usage or experiment error
	exitStage          = 3   // a stage failed
	exitInvalid        = 4   // the measurement is invalid
	exitInconclusive   = 5   // nothing failed, but something could not be decided
	exitInfrastructure = 6   // lock, timeout, disk, missing tool
	exitPending        = 7   // plan --exit-code: work is pending
	exitInterrupted    = 130 // SIGINT or SIGTERM
)

// exitCodes is printed in every help text.
const exitCodes = `Exit codes: 0 ok; 1 an assertion failed; 2 usage or experiment error; 3 a stage failed; 4 the measurement is invalid;
5 inconclusive; 6 infrastructure (lock, timeout, disk, missing tool); 7 plan has work pending; 130 interrupted.`

// codeError carries an exit code. A nil err prints nothing: what there was to say has been said.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *codeError) Unwrap() error { return e.err }

// exitCode is the first that applies of 130, 6, 3, and the verdict's own.
func exitCode(ctx context.Context, err error) int {
	var coded *codeError
	var one *spec.Error
	var several spec.Errors
	var node *engine.NodeError
	var infra *store.Error
	var side *engine.SideError
	var tools *builder.MissingError
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &infra), errors.As(err, &tools):
		return exitInfrastructure
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &node):
		return exitStage
	case errors.As(err, &side):
		return exitInvalid
	case errors.As(err, &one), errors.As(err, &several):
		return exitUsage
	case ofTheDisk(err):
		return exitInfrastructure
	}
	return exitUsage
}

// ofTheDisk recognises what the operating system refuses whatever the user writes; a file that does not exist is a slip.
func ofTheDisk(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EIO} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// errorText is what is printed of an error: errors of an experiment file stand as they are, with their file and line first.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	var assertion *gate.Error
	var one *spec.Error
	var several spec.Errors
	switch {
	case text == "", errors.As(err, &one), errors.As(err, &several), errors.As(err, &assertion):
		return strings.TrimRight(text, "\n")
	case errors.Is(err, context.Canceled):
		return "pipeline: interrupted; `pipeline run --resume FILE` goes on where it stopped"
	}
	return "pipeline: " + text
}

// burst is how long further signals count as the first one: timeout(1) and some shells send the same one twice.
const burst = 300 * time.Millisecond

// interruptible returns a context that the first SIGINT or SIGTERM ends; a second one ends the process at once. Children die
// with it. notice says so to the user.
func interruptible(parent context.Context, notice func(string)) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		first := time.Now()
		notice("stopping: servers are shut down and the record is written; a second signal kills")
		cancel()
		for range signals {
			if time.Since(first) > burst {
				os.Exit(exitInterrupted)
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); close(signals); cancel() }
}
