package postgres_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pgpipeline/pipeline/proc"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
)

// TestLeftovers has two servers: one whose tool lives, and one whose tool is dead.
func TestLeftovers(t *testing.T) {
	t.Setenv("TMPDIR", pgtest.Dir(t)) // other tests and runs have directories of their own
	i := pgtest.Install(t, "system")
	ours := pgtest.Server(t, i, "")
	data := pgtest.DataDir(t, i)
	left, err := postgres.Start(t.Context(), postgres.Config{Install: i, DataDir: data})
	if err != nil {
		t.Fatal(err)
	}
	if stopped, err := postgres.StopLeftovers(t.Context()); err != nil || len(stopped) > 0 {
		t.Fatalf("servers in use were stopped: %v, %v", stopped, err)
	}
	left.LetGo()
	for _, pid := range append(proc.Descendants(left.PID()), left.PID()) { // halted, it would not even see the signal
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	stopped, err := postgres.StopLeftovers(t.Context())
	if err != nil || len(stopped) != 1 || stopped[0] != "server "+strconv.Itoa(left.PID())+" on "+data {
		t.Fatalf("stopped %v, %v", stopped, err)
	}
	<-left.Dead()
	if control, err := postgres.ControlFile(data); err != nil || !control.ShutDown() {
		t.Errorf("control file: %+v, %v", control, err)
	}
	if _, err := os.Stat(left.SocketDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket's directory is still there: %v", err)
	}
	if err := ours.Died(); err != nil {
		t.Errorf("the other server: %v", err)
	}
	if got := query(t, ours, "SELECT 'alive'"); got != "alive" {
		t.Error(got)
	}
	if stopped, err := postgres.StopLeftovers(t.Context()); err != nil || len(stopped) > 0 {
		t.Errorf("again: %v, %v", stopped, err)
	}
}

// TestLeftoverOfAnotherProcess has a note that names a process which is no server of ours.
func TestLeftoverOfAnotherProcess(t *testing.T) {
	dir := pgtest.Dir(t)
	t.Setenv("TMPDIR", dir)
	base := dir + "/pipeline-" + strconv.Itoa(os.Geteuid())
	if err := os.MkdirAll(base+"/s1", 0o711); err != nil {
		t.Fatal(err)
	}
	note := `{"pid":` + strconv.Itoa(os.Getpid()) + `,"start":1,"boot_id":"x","data_dir":"/nowhere"}`
	for name, text := range map[string]string{"/s1.json": note, "/s1.lock": ""} {
		if err := os.WriteFile(base+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if stopped, err := postgres.StopLeftovers(t.Context()); err != nil || len(stopped) > 0 { // and this test still runs
		t.Errorf("%v, %v", stopped, err)
	}
	if entries, _ := os.ReadDir(base); len(entries) > 0 {
		t.Errorf("not cleaned up: %v", entries)
	}
}

func TestForeignSocketDirectory(t *testing.T) {
	dir := pgtest.Dir(t)
	t.Setenv("TMPDIR", dir)
	if err := os.Symlink("/etc", dir+"/pipeline-"+strconv.Itoa(os.Geteuid())); err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.StopLeftovers(t.Context()); err == nil || !strings.Contains(err.Error(), "is not a directory of ours") {
		t.Errorf("a planted link was taken: %v", err)
	}
	i := pgtest.Install(t, "system")
	_, err := postgres.Start(t.Context(), postgres.Config{Install: i, DataDir: pgtest.DataDir(t, i)})
	var place *postgres.PlaceError
	if !errors.As(err, &place) {
		t.Errorf("a server was started, or blamed: %v", err)
	}
}

func TestLongSocketPath(t *testing.T) {
	i := pgtest.Install(t, "system")
	dir := pgtest.Dir(t) + "/" + strings.Repeat("x", 100)
	_, err := postgres.Start(t.Context(), postgres.Config{Install: i, DataDir: pgtest.DataDir(t, i), SocketDir: dir})
	if err == nil || !strings.Contains(err.Error(), "the system allows 107") {
		t.Errorf("error is %v", err)
	}
}
