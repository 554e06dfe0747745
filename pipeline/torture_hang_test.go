package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/proc"
)

// tortureHangs has servers that do not do what they are told, and places that are taken.
func tortureHangs(t *testing.T, count *tally) {
	r := newRig(t, count, faultShort())
	r.run(exitOK)
	if t.Failed() {
		t.FailNow()
	}
	t.Run("frozen", func(t *testing.T) { r.t = t; frozen(r) })
	t.Run("left behind", func(t *testing.T) { r.t = t; leftBehind(r) })
	if os.Getenv("TORTURE") == "" { // the rest is in the long form, and in the tests of packages
		return
	}
	t.Run("socket directory taken", func(t *testing.T) { r.t = t; socketTaken(r) })
	t.Run("fresh data under another run", func(t *testing.T) { r.t = t; freshUnderAnother(r) })
}

// faultShort measures for a few seconds.
func faultShort() string {
	return unasserted(strings.Replace(faultFile, "duration: 6s", "duration: 4s", 1))
}

// servers lists the postmasters below a tool.
func servers(of int) (pids []int) {
	for _, pid := range proc.Descendants(of) {
		title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if bytes.Contains(title, []byte("unix_socket_directories=")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// halt stops a process and all below it, as a debugger or a full cgroup freezer would.
func halt(t *testing.T, root int) {
	t.Helper()
	for _, pid := range append([]int{root}, proc.Descendants(root)...) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
	}
}

// frozen halts the server that has been measured while the other one still is: it is woken to be stopped, and what it
// yielded counts.
func frozen(r *rig) {
	r.inject("server: frozen before it is to stop", func() {
		p := r.start("run", "t.yaml", "--progress", "json")
		seen := map[string]bool{}
		if _, _, ok := p.await(0, func(e engine.Event) bool {
			if e.Progress != nil && strings.HasPrefix(e.Progress.What, "update-index") {
				seen[e.Progress.What] = true
			}
			return len(seen) == 2
		}); !ok {
			r.t.Fatalf("the second variant was not measured:\n%s", p.errors())
		}
		working := r.busy(p, " UPDATE").postmaster
		for _, pid := range servers(p.cmd.Process.Pid) {
			if pid != working {
				halt(r.t, pid)
			}
		}
		if code := p.code(); code != exitOK {
			r.t.Errorf("exit code %d\n%s", code, p.errors())
		}
		r.nothingLeft("frozen server")
	})
}

// leftBehind kills a tool and its guard while their servers are halted, so that these survive. The next run finds and ends
// them before it starts one of its own.
func leftBehind(r *rig) {
	r.inject("server: left behind by a killed run", func() {
		p := r.start("run", "t.yaml", "--progress", "json")
		p.await(0, func(e engine.Event) bool { return phaseOf(e) == "measure" })
		left := servers(p.cmd.Process.Pid)
		for _, pid := range left {
			halt(r.t, pid)
		}
		for _, pid := range proc.Descendants(p.cmd.Process.Pid) {
			title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if bytes.HasPrefix(title, []byte("pipeline-guard")) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		_ = p.cmd.Process.Kill()
		p.code()
		if now := r.leftNow(); len(left) != 2 || len(now) < 2 {
			r.t.Errorf("servers %v, and %v after the kill", left, now)
		}
		r.run(exitOK, resume(r.record())...)
		logs, _ := filepath.Glob(filepath.Join(r.dir, ".pipeline/runs/2*/logs/run*.log"))
		said := 0
		for _, path := range logs {
			text, _ := os.ReadFile(path)
			for _, pid := range left {
				said += strings.Count(string(text), fmt.Sprintf("server %d on ", pid))
			}
		}
		if said != len(left) {
			r.t.Errorf("the logs %v name %d of the servers %v", logs, said, left)
		}
		r.nothingLeft("left behind")
	})
}

// socketTaken has a link where the sockets' directory is to be.
func socketTaken(r *rig) {
	place := filepath.Join(r.tmp, fmt.Sprintf("pipeline-%d", os.Geteuid()))
	if err := errors.Join(os.RemoveAll(place), os.Symlink("/etc", place)); err != nil {
		r.t.Fatal(err)
	}
	r.inject("server: socket directory taken", func() {
		r.says(r.run(exitInvalid), "is not a directory of ours")
		if b := r.record().Blocks; b[len(b)-1].ErrorSide != "outside" {
			r.t.Errorf("it is blamed on %s", b[len(b)-1].ErrorSide)
		}
		r.nothingLeft("socket directory taken")
	})
	if err := os.Remove(place); err != nil {
		r.t.Fatal(err)
	}
	r.run(exitOK)
}

// freshUnderAnother loads anew what another run measures: the second waits and says for whom, the first ends well.
func freshUnderAnother(r *rig) {
	r.inject("data made again while another run uses it", func() {
		first := r.start("run", "t.yaml", "--progress", "json")
		first.await(0, func(e engine.Event) bool { return phaseOf(e) == "boot" })
		second := r.start("run", "t.yaml", "--progress", "json", "--fresh", "load", "--fresh", "build")
		wait, _, ok := second.await(0, func(e engine.Event) bool { return e.Type == engine.NodeWaiting })
		if !ok || wait.Kind != "load" && wait.Kind != "build" || !strings.Contains(wait.Message, fmt.Sprintf("pid %d ", first.cmd.Process.Pid)) {
			r.t.Errorf("the second did not wait for the first: %+v\n%s", wait, second.errors())
		}
		if code := first.code(); code != exitOK {
			r.t.Errorf("first: exit code %d\n%s", code, first.errors())
		}
		if code := second.code(); code != exitOK {
			r.t.Errorf("second: exit code %d\n%s", code, second.errors())
		}
		r.nothingLeft("fresh data")
		r.do(0, "cache", "verify")
	})
}
