package store

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// Some tests need other processes: this test binary, which plays the part that childVar names instead of running tests.
const childVar = "PIPELINE_STORE_TEST_CHILD"

var children = map[string]func(args []string) error{}

func TestMain(m *testing.M) {
	role := os.Getenv(childVar)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := children[role](os.Args[1:]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// child is a started process and the lines that it prints.
type child struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

// start runs this binary in a role. It is killed when the test ends, if not before.
func start(t *testing.T, attr *syscall.SysProcAttr, role string, args ...string) *child {
	t.Helper()
	c, err := tryStart(t, attr, role, args...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tryStart(t *testing.T, attr *syscall.SysProcAttr, role string, args ...string) (*child, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startBinary(t, exe, attr, role, args...)
}

func startBinary(t *testing.T, exe string, attr *syscall.SysProcAttr, role string, args ...string) (*child, error) {
	t.Helper()
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), childVar+"="+role)
	cmd.SysProcAttr = attr
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd, bufio.NewScanner(out)}
	t.Cleanup(c.kill)
	return c, nil
}

// line waits for the child's next line; empty at its end.
func (c *child) line() string {
	if c.lines.Scan() {
		return c.lines.Text()
	}
	return ""
}

func (c *child) kill() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait() // "signal: killed" is what we want
	}
}
