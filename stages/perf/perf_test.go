package perf

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	got := Text(Fold("postgres \n\t  975b7 _bt_compare\n\t  1 ExecutorRun; odd name\n\npostgres \n\t  975b7 _bt_compare\n\t  1 ExecutorRun; odd name\n\n" +
		"postgres: bg \n\t  0\nother \n"))
	want := "other 1\npostgres:_bg;[unknown] 1\npostgres;ExecutorRun:_odd_name;_bt_compare 2\n"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// A process that computes is seen computing, or the reason why it cannot be seen is said.
func TestRecord(t *testing.T) {
	busy := exec.Command("sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Process.Kill(); _ = busy.Wait() }()
	r, err := Start(t.Context(), filepath.Join(t.TempDir(), "data"), []int{busy.Process.Pid})
	if err != nil {
		if _, missing := exec.LookPath("perf"); missing != nil && strings.Contains(err.Error(), "linux-perf") {
			return // that is what it has to say
		}
		t.Fatal(err)
	}
	exec.Command("sh", "-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done").Run() // some work, so that time passes
	var out bytes.Buffer
	if err := r.Stop(t.Context(), &out); err != nil {
		if paranoid, _ := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); os.Geteuid() == 0 && len(paranoid) > 0 && !strings.Contains(err.Error(), "perf") {
			t.Error(err)
		}
		t.Logf("no profile here: %v", err)
		return
	}
	if !strings.HasPrefix(out.String(), "sh;") && !strings.Contains(out.String(), "\nsh;") {
		t.Errorf("no stack of the shell in:\n%s", out.String())
	}
}
