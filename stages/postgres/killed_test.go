package postgres_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pgpipeline/pipeline/proc"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
)

// toolVariable makes the test binary a tool that runs a server until it is killed: "install tree, data directory".
const toolVariable = "POSTGRES_TEST_TOOL"

func TestMain(m *testing.M) {
	if args := os.Getenv(toolVariable); args != "" {
		if err := toolMain(strings.Split(args, ",")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func toolMain(args []string) error {
	i, err := postgres.Open(args[0])
	if err != nil {
		return err
	}
	s, err := postgres.Start(context.Background(), postgres.Config{Install: i, DataDir: args[1]})
	if err != nil {
		return err
	}
	fmt.Println(s.PID())
	select {}
}

// TestToolKilled kills a tool that runs a server. The server shuts down cleanly, nothing runs on, and the next tool finds
// nothing to stop and cleans up.
func TestToolKilled(t *testing.T) {
	t.Setenv("TMPDIR", pgtest.Dir(t))
	i := pgtest.Install(t, "17.0")
	data := pgtest.DataDir(t, i)
	tool := exec.Command("/proc/self/exe")
	tool.Env = append(os.Environ(), toolVariable+"="+i.BinDir+","+data)
	out, err := tool.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tool.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	server, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the tool says %q", line)
	}
	tree := append(proc.Descendants(tool.Process.Pid), server)
	if len(tree) < 6 {
		t.Fatalf("expected a guard, a server and its processes, found %v", tree)
	}
	if err := tool.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = tool.Wait()
	for _, pid := range tree {
		awaitEnd(t, pid)
	}
	if control, err := postgres.ControlFile(data); err != nil || !control.ShutDown() {
		t.Errorf("the server did not shut down cleanly: %+v, %v", control, err)
	}
	if stopped, err := postgres.StopLeftovers(t.Context()); err != nil || len(stopped) > 0 {
		t.Errorf("left over: %v, %v", stopped, err)
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR") + "/pipeline-" + strconv.Itoa(os.Geteuid())); len(left) > 0 {
		t.Errorf("not cleaned up: %v", left)
	}
}

// awaitEnd waits until a process has ended; the limit only keeps a broken test from hanging.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it has
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000)
		if err == unix.EINTR {
			continue
		}
		if n != 1 {
			t.Errorf("process %d still runs (%v)", pid, err)
		}
		return
	}
}
