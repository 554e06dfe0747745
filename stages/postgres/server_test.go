package postgres_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pgpipeline/pipeline/proc"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
)

// versions are the oldest supported one, the distribution's, and a recent one.
var versions = []string{"11.21", "system", "17.0"}

func eachVersion(t *testing.T, test func(t *testing.T, i postgres.Install)) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) { test(t, pgtest.Install(t, v)) })
	}
}

func query(t *testing.T, s *postgres.Server, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.ConnString("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var out string
	if err := conn.QueryRow(t.Context(), sql).Scan(&out); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}

func TestServer(t *testing.T) {
	eachVersion(t, func(t *testing.T, i postgres.Install) {
		s := pgtest.Server(t, i, "work_mem = 5MB\nlisten_addresses = '*'\nport = 1\n")
		if got := query(t, s, "SHOW server_version_num"); got != strconv.Itoa(i.VersionNum) {
			t.Errorf("server_version_num is %s, Open said %d", got, i.VersionNum)
		}
		for setting, want := range map[string]string{
			"work_mem": "5MB", "listen_addresses": "", "server_encoding": "UTF8", "max_connections": "100", "data_checksums": "on",
		} {
			if got := query(t, s, "SHOW "+setting); got != want {
				t.Errorf("%s is %q, want %q", setting, got, want)
			}
		}
		if st, err := os.Stat(s.SocketDir()); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("the socket's directory: %v, %v", st.Mode(), err)
		}
		if listens := tcpListeners(t, s.PID()); len(listens) > 0 {
			t.Errorf("the server listens on TCP: %v", listens)
		}
	})
}

// tcpListeners returns the lines of /proc/net/tcp whose socket the process holds.
func tcpListeners(t *testing.T, pid int) (out []string) {
	t.Helper()
	inodes := map[string]bool{}
	fds, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
	if err != nil || len(fds) == 0 {
		t.Fatalf("open files of %d: %v", pid, err)
	}
	for _, fd := range fds {
		if link, err := os.Readlink(fd); err == nil {
			inodes[strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]")] = true
		}
	}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(file)
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 9 && inodes[f[9]] {
				out = append(out, line)
			}
		}
	}
	return out
}

// TestOnlyMappedUsersConnect tries to connect as a user that is neither the tool's nor the server's.
func TestOnlyMappedUsersConnect(t *testing.T) {
	i := pgtest.Install(t, "system")
	s := pgtest.Server(t, i, "")
	conf, err := pgx.ParseConfig(s.ConnString("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	conf.User = "somebody"
	if _, err := pgx.ConnectConfig(t.Context(), conf); err == nil || !strings.Contains(err.Error(), "28000") {
		t.Errorf("connecting as another role: %v", err)
	}
}

func TestStartErrors(t *testing.T) {
	i := pgtest.Install(t, "17.0")
	for name, c := range map[string]struct {
		conf   string
		break_ func(t *testing.T, data string)
		want   string // the first line begins with this
	}{
		"bad value":       {conf: "shared_buffers = '3 apples'", want: "start server 17.0: FATAL: configuration file"},
		"too much memory": {conf: "shared_buffers = '8000GB'", want: "start server 17.0: FATAL: could not map anonymous shared memory"},
		"damaged control file": {want: "start server 17.0: ", break_: func(t *testing.T, data string) {
			damage(t, filepath.Join(data, "global", "pg_control"), 40)
		}},
		"missing WAL": {want: "start server 17.0: PANIC: could not locate a valid checkpoint record", break_: func(t *testing.T, data string) {
			segments, _ := filepath.Glob(filepath.Join(data, "pg_wal", "0*"))
			for _, s := range segments {
				if err := os.Remove(s); err != nil {
					t.Fatal(err)
				}
			}
		}},
		"not a data directory": {want: "start server 17.0: data directory: ", break_: func(t *testing.T, data string) {
			if err := os.Remove(filepath.Join(data, "PG_VERSION")); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			data := pgtest.DataDir(t, i)
			if c.break_ != nil {
				c.break_(t, data)
			}
			_, err := postgres.Start(t.Context(), postgres.Config{Install: i, DataDir: data, Conf: c.conf})
			if err == nil {
				t.Fatal("it started")
			}
			first, _, _ := strings.Cut(err.Error(), "\n")
			if !strings.HasPrefix(first, c.want) {
				t.Errorf("first line is %q, want %q...", first, c.want)
			}
		})
	}
}

func damage(t *testing.T, path string, at int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[at] ^= 0xff
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWrongVersion(t *testing.T) {
	old, now := pgtest.Install(t, "11.21"), pgtest.Install(t, "17.0")
	_, err := postgres.Start(t.Context(), postgres.Config{Install: now, DataDir: pgtest.DataDir(t, old)})
	want := "start server 17.0: the data directory was made by version 11 and does not fit a server of version 17.0; load it with a build of that version"
	if err == nil || err.Error() != want {
		t.Errorf("error is %v", err)
	}
}

func TestKilledServer(t *testing.T) {
	i := pgtest.Install(t, "17.0")
	data := pgtest.DataDir(t, i)
	conf := postgres.Config{Install: i, DataDir: data}
	s, err := postgres.Start(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Dead()
	if err := s.Died(); err == nil || !strings.HasPrefix(err.Error(), "server 17.0: the server process ended: signal: killed") {
		t.Errorf("Died says %v", err)
	}
	if err := s.Stop(t.Context()); !errors.Is(err, postgres.ErrUnclean) {
		t.Errorf("Stop of a killed server: %v", err)
	}
	control, err := postgres.ControlFile(data)
	if err != nil || control.State != "in production" || control.ShutDown() {
		t.Errorf("control file: %+v, %v", control, err)
	}
	// It left postmaster.pid, and recovers.
	if _, err := os.Stat(filepath.Join(data, "postmaster.pid")); err != nil {
		t.Fatal(err)
	}
	s, err = postgres.Start(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Start(t.Context(), conf); err == nil || !strings.Contains(err.Error(), "a server already runs on") {
		t.Errorf("a second server on the same data: %v", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if control, err := postgres.ControlFile(data); err != nil || !control.ShutDown() {
		t.Errorf("control file: %+v, %v", control, err)
	}
	if err := s.Died(); err != nil {
		t.Errorf("Died after Stop: %v", err)
	}
}

// TestFrozenServer stops a server whose processes were all halted by SIGSTOP.
func TestFrozenServer(t *testing.T) {
	s := pgtest.Server(t, pgtest.Install(t, "17.0"), "")
	if err := syscall.Kill(s.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for _, pid := range proc.Descendants(s.PID()) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
}

// TestHangingStop gives the fast shutdown no time and expects that the immediate one follows and is said.
func TestHangingStop(t *testing.T) {
	i := pgtest.Install(t, "17.0")
	data := pgtest.DataDir(t, i)
	s, err := postgres.Start(t.Context(), postgres.Config{Install: i, DataDir: data, StopTimeout: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Stop(t.Context())
	if !errors.Is(err, postgres.ErrUnclean) || !strings.Contains(err.Error(), "so it was shut down immediately") {
		t.Errorf("Stop: %v", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("second Stop: %v", err)
	}
	if _, err := os.Stat(s.SocketDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket's directory is still there: %v", err)
	}
}

// TestStopOfNoPatience has a context that has ended.
func TestStopOfNoPatience(t *testing.T) {
	i := pgtest.Install(t, "17.0")
	s, err := postgres.Start(t.Context(), postgres.Config{Install: i, DataDir: pgtest.DataDir(t, i)})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(ended); err != nil && !errors.Is(err, postgres.ErrUnclean) {
		t.Error(err)
	}
	if _, running := proc.StartTime(s.PID()); running {
		t.Error("it still runs")
	}
}

func TestCancelShutsDown(t *testing.T) {
	i := pgtest.Install(t, "17.0")
	data := pgtest.DataDir(t, i)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := postgres.Start(ctx, postgres.Config{Install: i, DataDir: data})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-s.Dead()
	if control, err := postgres.ControlFile(data); err != nil || !control.ShutDown() {
		t.Errorf("control file after a cancelled context: %+v, %v", control, err)
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Errorf("Stop after a clean end: %v", err)
	}
	if _, err := os.Stat(s.SocketDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket's directory is still there: %v", err)
	}
}

// atLine calls do when a server has written a line with a text.
type atLine struct {
	text string
	do   func()
}

func (l atLine) Write(p []byte) (int, error) {
	if strings.Contains(string(p), l.text) {
		l.do()
	}
	return len(p), nil
}

// TestCancelAtStart stops the server in the instant in which it is ready and Start does not know it yet.
func TestCancelAtStart(t *testing.T) {
	i := pgtest.Install(t, "system")
	data := pgtest.DataDir(t, i)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := postgres.Start(ctx, postgres.Config{Install: i, DataDir: data, Log: atLine{"ready to accept connections", cancel}})
	if err == nil { // it was quicker
		<-s.Dead()
	} else if !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("error is %v", err)
	}
	if control, err := postgres.ControlFile(data); err != nil || !control.ShutDown() {
		t.Errorf("control file after a cancelled start: %+v, %v", control, err)
	}
}

func TestCrashOfABackendIsInTheLog(t *testing.T) {
	i := pgtest.Install(t, "17.0")
	s, err := postgres.Start(t.Context(), postgres.Config{Install: i, DataDir: pgtest.DataDir(t, i)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop(context.Background()) //nolint:errcheck // it may stop below
	var conns [2]*pgx.Conn
	for n := range conns {
		if conns[n], err = pgx.Connect(t.Context(), s.ConnString("postgres")); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Kill(int(conns[0].PgConn().PID()), syscall.SIGSEGV); err != nil {
		t.Fatal(err)
	}
	// The postmaster logs the crash, then ends the other backends.
	if _, err := conns[1].WaitForNotification(t.Context()); err == nil {
		t.Fatal("the other backend survived")
	}
	s.Kill() // and everything that was written has been read
	if !strings.Contains(strings.Join(s.Severe(), "\n"), "was terminated by signal 11") {
		t.Errorf("severe lines: %q, log: %q", s.Severe(), s.LogTail(20))
	}
}

func TestInitOptions(t *testing.T) {
	for _, bad := range []string{"-D/x", "--pgdata=/x", "--auth=trust", "-Atrust", "--waldir=/x", "data-checksums", "--", "-"} {
		if err := postgres.CheckInitOptions([]string{bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if err := postgres.CheckInitOptions([]string{"--data-checksums", "-k", "--wal-segsize=1", "--locale=C.UTF-8"}); err != nil {
		t.Error(err)
	}
	i := pgtest.Install(t, "system")
	data := filepath.Join(pgtest.Dir(t), "data")
	if err := i.InitDB(t.Context(), data, postgres.InitOptions{NoSync: true, Options: []string{"--no-such-option"}}); err == nil ||
		!strings.Contains(err.Error(), "no-such-option") {
		t.Errorf("unknown option: %v", err)
	}
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a failed initdb left its directory: %v", err)
	}
	if err := i.InitDB(t.Context(), data, postgres.InitOptions{NoSync: true, Options: []string{"--wal-segsize=1"}}); err != nil {
		t.Fatal(err)
	}
	c, err := postgres.ControlFile(data)
	if err != nil || c.WALSegmentSize != 1<<20 || c.Checksums || c.BlockSize != 8192 || c.MaxAlign != 8 || !c.ShutDown() {
		t.Errorf("control file: %+v, %v", c, err)
	}
}
