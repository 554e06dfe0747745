package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/proc"
)

// TestTorture injects faults into the real tool while it runs a real experiment on the distribution's server, and looks every
// time that nothing is lost and nothing runs on. TORTURE=10m says for how long in all: every kind of fault has its turn, and
// kills at random moments take what is left of the time. Without it a short form runs. docs/faults.md lists the faults.
//
// torture_test.go     the rig: starts the tool, follows its events, counts what is left
// torture_kill_test.go    SIGKILL at random moments, SIGINT, SIGTERM
// torture_disk_test.go    full, read-only, forbidden and vanished directories
// torture_server_test.go  servers that are killed, crash, have no memory or do not start; transactions that are retried
// torture_hang_test.go    servers that hang or are left behind, sockets whose place is taken
// torture_two_test.go     two runs at once
// torture_limits_test.go  floods, memory, secrets
func TestTorture(t *testing.T) {
	if os.Getenv("PIPELINE_SKIP_SERVERS") != "" {
		t.Skip("PIPELINE_SKIP_SERVERS is set")
	}
	budget := 15 * time.Second
	if text := os.Getenv("TORTURE"); text != "" { // else the short form, with one fault of each kind
		var err error
		if budget, err = time.ParseDuration(text); err != nil {
			t.Fatalf("TORTURE: %v", err)
		}
	}
	// What a dead tool leaves behind becomes our child, so that nothing can hide.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	count := &tally{injected: map[string]int{}}
	until := time.Now().Add(budget)
	t.Run("signals", func(t *testing.T) { tortureSignals(t, count, budget/10) })
	t.Run("disk", func(t *testing.T) { tortureDisk(t, count) })
	t.Run("servers", func(t *testing.T) { tortureServers(t, count) })
	t.Run("hangs", func(t *testing.T) { tortureHangs(t, count) })
	t.Run("two", func(t *testing.T) { tortureTwo(t, count) })
	t.Run("limits", func(t *testing.T) { tortureLimits(t, count) })
	t.Run("kill", func(t *testing.T) { tortureKill(t, count, until) })
	t.Log(count)
	if count.recovered != count.faults() || count.lost > 0 || count.leaked > 0 {
		t.Error("not everything was recovered")
	}
}

// some returns the first few of a list in the short form, and all of it otherwise.
func some[T any](list []T, few int) []T {
	if os.Getenv("TORTURE") == "" {
		return list[:few]
	}
	return list
}

// tally counts over all faults.
type tally struct {
	injected                map[string]int
	recovered, lost, leaked int
}

func (c *tally) faults() (n int) {
	for _, k := range c.injected {
		n += k
	}
	return n
}

func (c *tally) String() string {
	var b strings.Builder
	kills := 0
	fmt.Fprintln(&b, "faults injected:")
	for _, kind := range slices.Sorted(maps.Keys(c.injected)) {
		fmt.Fprintf(&b, "  %4d  %s\n", c.injected[kind], kind)
		if strings.HasPrefix(kind, "SIGKILL of the tool") {
			kills += c.injected[kind]
		}
	}
	fmt.Fprintf(&b, "%d kills of the tool; ", kills)
	fmt.Fprintf(&b, "%d faults, %d recoveries, %d losses, %d leaked processes", c.faults(), c.recovered, c.lost, c.leaked)
	return b.String()
}

const tortureFile = `version: 1
name: torture
matrix:
  conf: [a, b]
baseline: {conf: a}
configs:
  a: {settings: {shared_buffers: 16MB, fsync: "off"}}
  b: {extends: a, settings: {work_mem: 8MB}}
stages:
  - fetch: {source: "system::"}
  - build: {use: prebuilt}
  - config: {use: "${conf}"}
  - load: {workload: sysbench, tables: 1, rows: 1k}
  - run:
      steps: [point-query, update-index]
      duration: 200ms
      slice: 100ms
      warmup: 50ms
      warmup_cap: 100ms
      settle: 0s
      budget: {blocks: 2, min_blocks: 2}
  - compare: {}
`

// rig is a directory with one experiment, its runs and a cache of its own.
type rig struct {
	t      *testing.T
	count  *tally
	dir    string
	cache  string
	tmp    string
	env    []string     // further variables of the tool
	before map[int]bool // processes below us that are not the tool's
}

// newRig puts the directory into memory where it can: syncing a busy disk is not what is tested here.
func newRig(t *testing.T, count *tally, text string) *rig {
	t.Helper()
	base := "/tmp"
	if unix.Access("/dev/shm", unix.W_OK) == nil {
		base = "/dev/shm"
	}
	dir, err := os.MkdirTemp(base, "pt-")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, count: count, dir: dir, cache: filepath.Join(dir, "cache"), tmp: filepath.Join(dir, "tmp"), before: map[int]bool{}}
	t.Cleanup(func() { removeAll(t, dir) })
	// The unprivileged account works in it.
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(r.tmp, 0o700), os.Chmod(r.tmp, os.ModeSticky|0o777)); err != nil {
		t.Fatal(err)
	}
	for _, pid := range proc.Descendants(os.Getpid()) {
		r.before[pid] = true
	}
	r.write(text)
	return r
}

func (r *rig) write(text string) { r.t.Helper(); r.writeFile("t.yaml", text) }

func (r *rig) writeFile(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// tool is one process of the tool under test: this binary by another name.
type tool struct {
	cmd    *exec.Cmd
	stdout bytes.Buffer
	ended  chan struct{}

	mu     sync.Mutex
	text   strings.Builder // what is on stderr beside the events
	events []engine.Event
	more   chan struct{} // closed and replaced when something came
}

func (r *rig) command(args ...string) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	return &exec.Cmd{Path: exe, Args: append([]string{"pipeline"}, args...), Dir: r.dir, Env: append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "TMPDIR=" + r.tmp, "PIPELINE_CACHE=" + r.cache, "PIPELINE_LOCK_DIR=" + r.dir,
		"PIPELINE_USER=" + os.Getenv("PIPELINE_USER"), "CI=true", "NO_COLOR=1"}, r.env...)}
}

// start starts a command line whose events can be followed.
func (r *rig) start(args ...string) *tool { return r.launch(r.command(args...)) }

func (r *rig) launch(cmd *exec.Cmd) *tool {
	r.t.Helper()
	p := &tool{cmd: cmd, ended: make(chan struct{}), more: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.stdout, p
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(p.ended)
	}()
	return p
}

// Write takes the tool's stderr, line by line as it writes it.
func (p *tool) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range strings.SplitSeq(strings.TrimRight(string(b), "\n"), "\n") {
		var e engine.Event
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &e) == nil {
			p.events = append(p.events, e)
		} else {
			fmt.Fprintln(&p.text, line)
		}
	}
	close(p.more)
	p.more = make(chan struct{})
	return len(b), nil
}

// await returns the first event from the i-th on that fits, and the index after it. false: the tool ended without one.
func (p *tool) await(i int, fits func(engine.Event) bool) (engine.Event, int, bool) {
	for over := false; ; {
		p.mu.Lock()
		for ; i < len(p.events); i++ {
			if fits(p.events[i]) {
				e := p.events[i]
				p.mu.Unlock()
				return e, i + 1, true
			}
		}
		more := p.more
		p.mu.Unlock()
		if over {
			return engine.Event{}, i, false
		}
		select {
		case <-more:
		case <-p.ended:
			over = true
		}
	}
}

// code waits for the end of the tool; -1 means killed.
func (p *tool) code() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

func (p *tool) errors() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// firstLine is what the user reads first when something is wrong.
func (p *tool) firstLine() string {
	line, _, _ := strings.Cut(strings.TrimSpace(p.errors()), "\n")
	return line
}

// do runs a command line to its end and wants an exit code.
func (r *rig) do(code int, args ...string) *tool {
	r.t.Helper()
	p := r.start(args...)
	if got := p.code(); got != code {
		r.t.Errorf("pipeline %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, p.errors(), p.stdout.String())
	}
	return p
}

func (r *rig) run(code int, more ...string) *tool {
	r.t.Helper()
	return r.do(code, append([]string{"run", "t.yaml", "--progress", "json"}, more...)...)
}

// record loads the latest run as `show` does; nil when no run has begun yet.
func (r *rig) record() *engine.Record {
	r.t.Helper()
	if names, _ := filepath.Glob(filepath.Join(r.dir, ".pipeline/runs/2*")); len(names) == 0 {
		return nil
	}
	rec := &engine.Record{}
	if err := json.Unmarshal(r.do(0, "show", "latest", "--json").stdout.Bytes(), rec); err != nil {
		r.t.Fatal(err)
	}
	return rec
}

// leftNow lists what of the tool runs at this moment.
func (r *rig) leftNow() (pids []int) {
	for _, pid := range proc.Descendants(os.Getpid()) {
		title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if !r.before[pid] && !bytes.HasPrefix(title, []byte("pipeline-guard")) { // it ends because the tool has ended
			pids = append(pids, pid)
		}
	}
	return pids
}

// left waits until nothing below us is the tool's any more and returns what does not end. A server writes a checkpoint when
// its tool dies, so the limit is generous.
func (r *rig) left() []int {
	ctx, cancel := context.WithTimeout(r.t.Context(), 90*time.Second)
	defer cancel()
	for {
		left := r.leftNow()
		if len(left) == 0 {
			return nil
		}
		if err := awaitEnd(ctx, left[0]); err != nil {
			return left
		}
	}
}

func awaitEnd(ctx context.Context, pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil // it has
	}
	defer unix.Close(fd)
	for ctx.Err() == nil {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 1000)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if n == 1 {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // when it became our child
			return nil
		}
	}
	return ctx.Err()
}

// nothingLeft is checked after every fault.
func (r *rig) nothingLeft(when string) {
	r.t.Helper()
	left := r.left()
	for _, pid := range left {
		title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		r.t.Errorf("%s: process %d still runs: %q", when, pid, title)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	r.count.leaked += len(left)
}

// inject counts a fault, runs check and counts a recovery when the check found nothing wrong.
func (r *rig) inject(kind string, check func()) {
	r.t.Helper()
	r.count.injected[kind]++
	failed := r.t.Failed()
	check()
	if failed || !r.t.Failed() {
		r.count.recovered++
	}
}
