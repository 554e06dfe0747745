package proc

import (
	"fmt"
	"os/exec"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// forkRequest asks the forking thread to start a command.
type forkRequest struct {
	cmd  *exec.Cmd
	cpus []int
	err  chan<- error
}

// forks is the queue of the forking thread, which starts with the first use and lives as long as the tool.
var forks = sync.OnceValue(func() chan<- forkRequest {
	ch := make(chan forkRequest)
	go forkThread(ch)
	return ch
})

// fork starts cmd on the forking thread, on the given CPUs (nil: all that the tool may use).
func fork(cmd *exec.Cmd, cpus []int) error {
	err := make(chan error, 1)
	forks() <- forkRequest{cmd: cmd, cpus: cpus, err: err}
	return <-err
}

// forkThread starts all children. It keeps its OS thread for ever: a child's death signal is sent when the thread that
// forked it ends. The thread is also where CPU sets are applied, since a child inherits that of the thread that forks.
func forkThread(requests <-chan forkRequest) {
	runtime.LockOSThread()
	// Orphans of our children come to us instead of to init. Without it (very old kernels) they are still killed by session.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	startGuard()
	for r := range requests {
		r.err <- startOn(r.cmd, r.cpus)
	}
}

func startOn(cmd *exec.Cmd, cpus []int) error {
	if len(cpus) == 0 {
		return startKnown(cmd)
	}
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("cpu set of the tool: %w", err)
	}
	defer unix.SchedSetaffinity(0, &before) //nolint:errcheck // it was valid a moment ago
	if err := pin(cpus); err != nil {
		return err
	}
	return startKnown(cmd)
}

// pin limits the calling thread to cpus. The kernel silently drops those that it does not have, so the result is compared.
func pin(cpus []int) error {
	var wanted, got unix.CPUSet
	for _, cpu := range cpus {
		wanted.Set(cpu)
		if !wanted.IsSet(cpu) {
			return fmt.Errorf("cpu set %v: cpu %d does not exist", cpus, cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &wanted); err != nil {
		return fmt.Errorf("cpu set %v: %w", cpus, err)
	}
	if err := unix.SchedGetaffinity(0, &got); err != nil || got != wanted {
		return fmt.Errorf("cpu set %v: not all of these cpus can be used here", cpus)
	}
	return nil
}

// startKnown starts cmd and registers it in one step, so that a concurrent reaping never takes it for an orphan.
func startKnown(cmd *exec.Cmd) error {
	known.Lock()
	defer known.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	known.pids[cmd.Process.Pid] = true
	return nil
}
