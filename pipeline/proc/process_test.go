package proc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain makes the test binary a small tool when a test starts it as one; see TestToolKilled.
func TestMain(m *testing.M) {
	if script := os.Getenv("PROC_TEST_TOOL"); script != "" {
		toolMain(script)
		return
	}
	os.Exit(m.Run())
}

// toolMain starts a child that runs script, passes its output on, and never ends by itself.
func toolMain(script string) {
	_, err := Start(context.Background(), Cmd{
		Path: "sh", Args: []string{"-c", script}, Env: Environ(), Stdout: os.Stdout, Grace: 300 * time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	select {}
}

func shell(script string) Cmd {
	return Cmd{Path: "sh", Args: []string{"-c", script}, Env: Environ()}
}

// awaitGone waits until pid has ended, through a pidfd; the limit only keeps a broken test from hanging.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatalf("pidfd of %d: %v", pid, err)
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 30_000)
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 30_000)
	}
	if n != 1 {
		t.Fatalf("process %d still runs (%v)", pid, err)
	}
}

// readPIDs reads n lines with a pid each.
func readPIDs(t *testing.T, r io.Reader, n int) []int {
	t.Helper()
	var pids []int
	for lines := bufio.NewScanner(r); len(pids) < n && lines.Scan(); {
		pid, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil {
			t.Fatalf("not a pid: %q", lines.Text())
		}
		pids = append(pids, pid)
	}
	if len(pids) < n {
		t.Fatalf("got %d pids, want %d", len(pids), n)
	}
	return pids
}

func TestRunError(t *testing.T) {
	err := Run(t.Context(), shell("echo one >&2; echo two >&2; exit 3"))
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Fatalf("error %v does not lead to exit code 3", err)
	}
	if want := "sh: exit status 3\none\ntwo"; err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
	var buf bytes.Buffer
	c := shell("echo hidden >&2; kill -9 $$")
	c.Stderr = &buf
	if err := Run(t.Context(), c); err == nil || err.Error() != "sh: signal: killed" {
		t.Errorf("error is %v", err)
	}
	if _, err := Start(t.Context(), Cmd{Path: "no-such-program", Env: Environ()}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing program: %v", err)
	}
}

func TestEnvironmentIsComplete(t *testing.T) {
	t.Setenv("SECRET_OF_THE_SHELL", "x")
	var out bytes.Buffer
	c := Cmd{Path: "/usr/bin/env", Env: []string{"ONLY=this"}, Stdout: &out}
	if err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if out.String() != "ONLY=this\n" {
		t.Errorf("environment is %q", out.String())
	}
	out.Reset()
	if err := Run(t.Context(), Cmd{Path: "/usr/bin/env", Stdout: &out}); err != nil || out.Len() > 0 {
		t.Errorf("empty environment: %v, %q", err, out.String())
	}
	if env := Environ("TZ=Mars", "X=1"); !slices.Contains(env, "TZ=Mars") || slices.Contains(env, "TZ=UTC") ||
		!slices.Contains(env, "X=1") || strings.Contains(strings.Join(env, " "), "SECRET") {
		t.Errorf("environment is %q", env)
	}
}

func TestStandardInputIsClosed(t *testing.T) {
	var out bytes.Buffer
	c := shell("cat; echo end")
	c.Stdout = &out
	if err := Run(t.Context(), c); err != nil || out.String() != "end\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestCPUs(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	last := 0
	for cpu := range 1024 {
		if allowed.IsSet(cpu) {
			last = cpu
		}
	}
	list := func(cpus []int) string {
		var out bytes.Buffer
		c := Cmd{Path: "grep", Args: []string{"Cpus_allowed_list", "/proc/self/status"}, Env: Environ(), Stdout: &out, CPUs: cpus}
		if err := Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		return strings.Fields(out.String())[1]
	}
	all := list(nil)
	if got := list([]int{last}); got != strconv.Itoa(last) {
		t.Errorf("pinned to %d, runs on %s", last, got)
	}
	if got := list(nil); got != all {
		t.Errorf("a pinned child changed the cpus of the next: %s, not %s", got, all)
	}
	for _, bad := range [][]int{{100_000}, {last, last + 1}, {-1}} {
		c := shell("true")
		c.CPUs = bad
		if err := Run(t.Context(), c); err == nil {
			t.Errorf("cpu set %v was accepted", bad)
		}
	}
}

func TestPrivilegesAreDropped(t *testing.T) {
	as, err := Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	if as == nil {
		t.Skip("not root: there is nothing to drop")
	}
	var out bytes.Buffer
	c := shell("id -u; id -G; pwd; echo $HOME; grep CapEff /proc/self/status")
	c.As, c.Stdout = as, &out
	if err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%d\n%d\n/\n%s\nCapEff:\t0000000000000000\n", as.UID, as.GID, as.Home)
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	t.Setenv("PIPELINE_USER", "root")
	if _, err := Unprivileged(); err == nil || !strings.Contains(err.Error(), "is root") {
		t.Errorf("PIPELINE_USER=root: %v", err)
	}
	t.Setenv("PIPELINE_USER", "no-such-user")
	if _, err := Unprivileged(); err == nil || !strings.Contains(err.Error(), `"no-such-user" does not exist`) {
		t.Errorf("PIPELINE_USER=no-such-user: %v", err)
	}
}

func TestTimeout(t *testing.T) {
	c := shell("sleep 1000")
	c.Timeout = 50 * time.Millisecond
	if err := Run(t.Context(), c); !errors.Is(err, ErrTimeout) {
		t.Errorf("error is %v", err)
	}
}

// stubborn ignores the stop signal, as do its helpers, one of which left the session as PostgreSQL's backends do.
const stubborn = `trap "" TERM
sleep 1000 & echo $!
setsid sh -c 'echo $$; exec sleep 1000' &
sh -c 'sleep 1000 & echo $!; wait' &
wait; wait; wait; sleep 1000`

func TestCancelKillsTheTree(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	c := shell(stubborn)
	c.Stdout, c.Grace = w, 50*time.Millisecond
	p, err := Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	pids := append(readPIDs(t, r, 3), p.PID())
	go io.Copy(io.Discard, r) //nolint:errcheck // the rest does not matter
	cancel()
	if err := p.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	for _, pid := range pids {
		if _, running := StartTime(pid); running {
			t.Errorf("process %d outlived its stage", pid)
		}
	}
	if left := orphansIn(processes()); len(left) > 0 {
		t.Errorf("not reaped: %v", left)
	}
}

func TestStop(t *testing.T) {
	start := func(script string) *Process {
		r, w := io.Pipe()
		c := shell(script)
		c.Stdout, c.Grace = w, 100*time.Millisecond
		p, err := Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		readPIDs(t, r, 1)         // the script is past its trap
		go io.Copy(io.Discard, r) //nolint:errcheck // the rest does not matter
		return p
	}
	p := start(`trap "exit 0" TERM; echo $$; while :; do sleep 0.01; done`)
	p.grace = time.Minute
	if err := p.Stop(t.Context()); err != nil || p.Wait() != nil {
		t.Errorf("obedient child: %v, %v", err, p.Wait())
	}
	if err := p.Signal(syscall.SIGTERM); err == nil {
		t.Error("an ended child took a signal")
	}
	p = start(`trap "" TERM; echo $$; while :; do sleep 0.01; done`)
	if err := p.Stop(t.Context()); !errors.Is(err, ErrKilled) {
		t.Errorf("stubborn child: %v", err)
	}
	p = start(`echo $$; kill -STOP $$`)
	p.grace = time.Minute
	if err := p.Stop(t.Context()); err != nil {
		t.Errorf("stopped child: %v", err)
	}
	p = start(`trap "" TERM; echo $$; while :; do sleep 0.01; done`)
	p.grace = time.Hour
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_ = p.Stop(ended)
	if _, running := StartTime(p.PID()); running {
		t.Error("Stop with an ended context left the child running")
	}
}

func TestLeftoversOfAChildThatEnded(t *testing.T) {
	var out bytes.Buffer
	c := shell("sleep 1000 & echo $!")
	c.Stdout = &out
	if err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for _, pid := range readPIDs(t, &out, 1) {
		if _, running := StartTime(pid); running {
			t.Errorf("process %d of the session outlived it", pid)
		}
	}
	out.Reset()
	c = shell("mkfifo up && { setsid sh -c 'echo $$; echo >up; exec sleep 1000 >/dev/null 2>&1' & read x <up; }")
	c.Stdout, c.Dir = &out, t.TempDir()
	if err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	daemon := readPIDs(t, &out, 1)[0]
	if n := KillOrphans(); n != 1 {
		t.Errorf("killed %d orphans, want the daemon", n)
	}
	awaitGone(t, daemon)
}

// TestToolKilled kills the tool itself and expects that nothing of it runs on.
func TestToolKilled(t *testing.T) {
	for name, script := range map[string]string{
		"obedient": "sleep 1000 & echo $!; wait",
		"stubborn": `trap "" TERM; sleep 1000 & echo $!; sleep 1000`,
	} {
		t.Run(name, func(t *testing.T) {
			tool := exec.Command("/proc/self/exe")
			tool.Env = append(os.Environ(), "PROC_TEST_TOOL="+script)
			out, err := tool.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := tool.Start(); err != nil {
				t.Fatal(err)
			}
			pids := readPIDs(t, out, 1)
			pids = append(pids, Descendants(tool.Process.Pid)...) // the guard among them
			if len(pids) < 4 {
				t.Fatalf("expected child, sleeper and guard below the tool, found %v", pids)
			}
			if err := tool.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = tool.Wait()
			for _, pid := range pids {
				awaitGone(t, pid)
			}
		})
	}
}

func TestTail(t *testing.T) {
	var all bytes.Buffer
	tail := NewTail(3, &all)
	for i := range 10 {
		fmt.Fprintf(tail, "line %d\r\n", i)
	}
	fmt.Fprint(tail, "no ", "end")
	if got := strings.Join(tail.Lines(), "|"); got != "line 8|line 9|no end" {
		t.Errorf("tail is %q", got)
	}
	if !strings.HasPrefix(all.String(), "line 0\r\nline 1\r\n") || !strings.HasSuffix(all.String(), "no end") {
		t.Errorf("passed on: %q", all.String())
	}
	flood := NewTail(2, nil)
	for range 1000 {
		fmt.Fprint(flood, strings.Repeat("x", 10_000))
	}
	if got := flood.Lines(); len(got) != 1 || len(got[0]) != maxLine {
		t.Errorf("an endless line was not cut: %d lines", len(got))
	}
	fmt.Fprint(flood, "\nnext\n")
	if got := flood.Lines(); len(got) != 2 || got[1] != "next" {
		t.Errorf("after an endless line: %d lines", len(got))
	}
}

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if err := Run(b.Context(), Cmd{Path: "/bin/true", Env: Environ()}); err != nil {
			b.Fatal(err)
		}
	}
}
