package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// guardVariable in the environment makes this program a guard instead of what it usually is.
const guardVariable = "PIPELINE_PROC_GUARD"

// A death signal reaches only direct children, and they may ignore it. So the first child of the tool is a copy of itself
// that reads a pipe and knows what runs; when the pipe ends, the tool is dead, and what has not ended after its grace is
// killed. A separate program would have to be installed, and a PID namespace needs rights that users do not have.
func init() {
	if os.Getenv(guardVariable) != "" {
		guard(os.Stdin)
		os.Exit(0)
	}
}

// guardPipe is our end of the pipe; nil without a guard.
var guardPipe struct {
	sync.Mutex
	w io.Writer
}

// startGuard is called once, on the forking thread. Where it cannot be started, death signals still stop what obeys.
func startGuard() {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{"pipeline-guard"}, Dir: "/", Env: []string{guardVariable + "=1"},
		Stdin: r, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := startKnown(cmd); err != nil {
		w.Close()
		return
	}
	go cmd.Wait() //nolint:errcheck // it ends after us, or is not missed
	guardPipe.Lock()
	defer guardPipe.Unlock()
	guardPipe.w = w
}

// watch tells the guard of a child, unwatch that it has ended.
func watch(pid int, grace time.Duration) {
	start, _ := StartTime(pid)
	tell("+ %d %d %d\n", pid, start, grace.Milliseconds())
}

func unwatch(pid int) { tell("- %d 0 0\n", pid) }

func tell(format string, args ...any) {
	guardPipe.Lock()
	defer guardPipe.Unlock()
	if guardPipe.w != nil {
		fmt.Fprintf(guardPipe.w, format, args...) //nolint:errcheck // a dead guard changes nothing for the living
	}
}

// guarded is a child as the guard knows it.
type guarded struct {
	leader entry
	grace  time.Duration
}

// guard follows the children of its parent until that is dead, then ends them.
func guard(pipe io.Reader) {
	watched := map[int]guarded{}
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		var g guarded
		var op string
		var ms int64
		_, err := fmt.Fscan(strings.NewReader(lines.Text()), &op, &g.leader.pid, &g.leader.start, &ms)
		switch {
		case err != nil:
		case op == "-":
			delete(watched, g.leader.pid)
		default:
			g.grace = time.Duration(ms) * time.Millisecond
			watched[g.leader.pid] = g
		}
	}
	var all sync.WaitGroup
	for _, g := range watched {
		all.Go(g.end)
	}
	all.Wait()
}

// end waits for the grace and kills what is left of one child and its session. The death signal was sent by the kernel.
func (g guarded) end() {
	var seen []entry
	for deadline := time.Now().Add(g.grace); g.leader.same() && time.Now().Before(deadline); {
		seen = below(g.leader.pid)
		time.Sleep(20 * time.Millisecond)
	}
	if now, ok := readEntry(g.leader.pid); ok && now.start != g.leader.start {
		return // the pid belongs to somebody else, so nothing of its session was ours any more
	}
	if g.leader.same() {
		seen = append(seen, below(g.leader.pid)...)
		g.leader.kill()
	}
	sweep(g.leader.pid, seen)
}
