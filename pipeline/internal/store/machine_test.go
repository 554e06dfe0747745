package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func init() { children["machine"] = holdMachine }

// holdMachine takes the lock exclusively and never gives it back.
func holdMachine(args []string) error {
	_, err := OpenMachine(args[0]).Lock(context.Background(), LockRequest{Exclusive: true, Run: "20261130-215700-abcd", What: "block 3"})
	if err != nil {
		return err
	}
	fmt.Println("holding")
	select {}
}

func lockMachine(t *testing.T, dir string, r LockRequest) *Held {
	t.Helper()
	h, err := OpenMachine(dir).Lock(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func isBusy(err error) bool {
	var se *Error
	return errors.As(err, &se) && se.Kind == Busy
}

func TestMachineExcludes(t *testing.T) {
	dir := tempDir(t)
	var exclusive, shared atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				h, err := OpenMachine(dir).Lock(t.Context(), LockRequest{Exclusive: i%4 == 0})
				if err != nil {
					t.Error(err)
					return
				}
				if i%4 == 0 {
					if n := exclusive.Add(1); n != 1 || shared.Load() != 0 {
						t.Errorf("%d exclusive and %d shared holders", n, shared.Load())
					}
					exclusive.Add(-1)
				} else {
					shared.Add(1)
					if exclusive.Load() != 0 {
						t.Error("shared beside exclusive")
					}
					shared.Add(-1)
				}
				h.Unlock()
			}
		})
	}
	wg.Wait()
	if list := OpenMachine(dir).Holders(); len(list) > 0 {
		t.Errorf("holders at the end: %v", list)
	}
}

func TestMachineSharedTogether(t *testing.T) {
	dir := tempDir(t)
	a := lockMachine(t, dir, LockRequest{What: "build"})
	b := lockMachine(t, dir, LockRequest{What: "load", NoWait: true})
	defer b.Unlock()
	_, err := OpenMachine(dir).Lock(t.Context(), LockRequest{Exclusive: true, NoWait: true})
	if !isBusy(err) || !strings.Contains(err.Error(), "for build") || !strings.Contains(err.Error(), "for load") {
		t.Errorf("exclusive beside shared: %v", err)
	}
	a.Unlock()
	a.Unlock() // a second time does nothing
}

// TestMachineFair: whoever comes after a waiting exclusive one waits behind it, so a stream of shared ones cannot starve it.
func TestMachineFair(t *testing.T) {
	dir := tempDir(t)
	first := lockMachine(t, dir, LockRequest{What: "build"})
	waiting, got := make(chan []Holder, 9), make(chan *Held)
	go func() {
		h, err := OpenMachine(dir).Lock(t.Context(), LockRequest{Exclusive: true, Waiting: func(h []Holder) { waiting <- h }})
		if err != nil {
			t.Error(err)
		}
		got <- h
	}()
	if holders := <-waiting; len(holders) != 1 || holders[0].What != "build" || holders[0].PID != os.Getpid() {
		t.Errorf("waits for %v", holders)
	}
	if _, err := OpenMachine(dir).Lock(t.Context(), LockRequest{NoWait: true}); !isBusy(err) {
		t.Errorf("a shared one overtakes the waiting exclusive one: %v", err)
	}
	first.Unlock()
	(<-got).Unlock()
	lockMachine(t, dir, LockRequest{NoWait: true}).Unlock()
}

func TestMachineDiesWithProcess(t *testing.T) {
	dir := tempDir(t)
	c := start(t, nil, "machine", dir)
	if line := c.line(); line != "holding" {
		t.Fatalf("child says %q", line)
	}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if _, err := OpenMachine(dir).Lock(ctx, LockRequest{}); !isBusy(err) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("past deadline: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	_, err := OpenMachine(dir).Lock(cancelled, LockRequest{Waiting: func([]Holder) { cancel() }})
	if !errors.Is(err, context.Canceled) || isBusy(err) {
		t.Errorf("cancelled: %v", err)
	}
	var seen []Holder
	h := lockMachine(t, dir, LockRequest{Exclusive: true, Waiting: func(list []Holder) {
		seen = append(seen, list...)
		c.kill()
	}})
	h.Unlock()
	if len(seen) != 1 || seen[0].PID != c.cmd.Process.Pid || seen[0].Run != "20261130-215700-abcd" || seen[0].What != "block 3" || !seen[0].Exclusive {
		t.Errorf("waited for %v", seen)
	}
	OpenMachine(dir).Holders() // clears away what the dead one wrote
	left, err := filepath.Glob(filepath.Join(dir, holderPrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestMachineBetweenUsers lets root and an unprivileged user exclude each other in a directory like /tmp.
func TestMachineBetweenUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("takes root, which alone can be two users")
	}
	for _, firstOf := range []string{"root", "nobody"} {
		t.Run("made by "+firstOf, func(t *testing.T) {
			dir := tempDir(t)
			if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
				t.Fatal(err)
			}
			if firstOf == "root" {
				lockMachine(t, dir, LockRequest{Exclusive: true}).Unlock()
			}
			nobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			c, err := startBinary(t, copyBinary(t), nobody, "machine", dir)
			if err != nil {
				t.Fatal(err)
			}
			if line := c.line(); line != "holding" {
				t.Fatalf("child says %q", line)
			}
			_, err = OpenMachine(dir).Lock(t.Context(), LockRequest{NoWait: true})
			if !isBusy(err) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d of nobody", c.cmd.Process.Pid)) {
				t.Errorf("beside nobody's exclusive lock: %v", err)
			}
			c.kill()
			lockMachine(t, dir, LockRequest{Exclusive: true}).Unlock()
		})
	}
}

// copyBinary puts this binary where another user can run it.
func copyBinary(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	dir := tempDir(t)
	path := filepath.Join(dir, "store.test")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(path, data, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMachineTraps puts in the way what another user could.
func TestMachineTraps(t *testing.T) {
	target := filepath.Join(tempDir(t), "target")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	traps := map[string]func(path string) error{
		"link":      func(path string) error { return os.Symlink(target, path) },
		"pipe":      mkfifo,
		"directory": func(path string) error { return os.Mkdir(path, 0o755) },
	}
	for name, trap := range traps {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			for _, file := range []string{machineFile, holderPrefix + "1.x"} {
				if err := trap(filepath.Join(dir, file)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := OpenMachine(dir).Lock(t.Context(), LockRequest{Exclusive: true}); err == nil {
				t.Error("locked it")
			}
		})
	}
}

// TestHolderTextIsHarmless: what another user wrote ends up on our terminal.
func TestHolderTextIsHarmless(t *testing.T) {
	dir := tempDir(t)
	h := lockMachine(t, dir, LockRequest{What: "\x1b[2Jblock\n"})
	defer h.Unlock()
	list := OpenMachine(dir).Holders()
	if len(list) != 1 || list[0].What != "?[2Jblock?" {
		t.Errorf("holders: %q", list)
	}
}

func TestCommandLineHidesValues(t *testing.T) {
	got := commandLine([]string{"/usr/bin/pipeline", "run", "x.yaml", "--set", "password=secret", "--json"})
	if want := "pipeline run x.yaml --set password=... --json"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
