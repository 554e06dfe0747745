package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"pgpipeline/pipeline/proc"
)

// Config says how a server is to run.
type Config struct {
	Install
	DataDir string // absolute; owned by the account
	// Conf is text in the format of postgresql.conf. It comes after the file that initdb wrote, so the last setting wins.
	Conf      string
	SocketDir string // "": a new private directory
	Log       io.Writer
	LogLimit  int64 // bytes that may go to Log; 0: 64 MiB
	CPUs      []int // nil: all
	As        *proc.Account
	Env       []string // extra variables, "K=V"
	// StartTimeout bounds the start, recovery included; 0: 10 minutes. StopTimeout bounds a fast shutdown, whose checkpoint
	// writes all of shared_buffers; 0: 10 minutes.
	StartTimeout, StopTimeout time.Duration
}

// Server is a running server.
type Server struct {
	conf Config
	run  *runDir
	log  *serverLog
	proc *proc.Process

	mu      sync.Mutex
	monitor *pgx.Conn // for Stats; nil until the first use
	stopped bool
}

// Start starts a server and returns when a connection works and answers. When ctx ends, the server is shut down fast.
//
// A postmaster.pid of a server that is gone is removed; one that belongs to a server that still runs in the data directory
// is an error. When the server ends during the start, the first line of the error is its reason.
func Start(ctx context.Context, conf Config) (*Server, error) {
	if err := prepare(&conf); err != nil {
		return nil, fmt.Errorf("start server %s: %w", conf.Version, err)
	}
	leftovers.Do(func() { stopLeftoversOnce(ctx, conf.Log) })
	run, err := newRunDir(conf.SocketDir, conf.As)
	if err != nil {
		return nil, fmt.Errorf("start server %s: %w", conf.Version, &PlaceError{err})
	}
	s := &Server{conf: conf, run: run, log: newServerLog(conf.Log, conf.LogLimit)}
	if err := s.launch(ctx); err != nil {
		run.remove()
		return nil, fmt.Errorf("start server %s: %w", conf.Version, err)
	}
	if err := s.awaitReady(ctx); err != nil {
		if ctx.Err() == nil { // else it is being shut down already
			s.proc.Kill()
		}
		<-s.proc.Done()
		s.cleanUp()
		return nil, err
	}
	return s, nil
}

// leftovers are looked for once, before the first server of this tool starts: a server that a killed run left would
// disturb what is measured.
var leftovers sync.Once

func stopLeftoversOnce(ctx context.Context, log io.Writer) {
	stopped, err := StopLeftovers(ctx)
	if log == nil {
		return
	}
	for _, what := range stopped {
		fmt.Fprintf(log, "stopped %s, which an earlier run left behind\n", what)
	}
	if err != nil {
		fmt.Fprintf(log, "servers of earlier runs: %v\n", err)
	}
}

// prepare fills in defaults and refuses a data directory that cannot work, before the server does so less clearly.
func prepare(conf *Config) (err error) {
	if conf.As, err = account(conf.As); err != nil {
		return err
	}
	if conf.StartTimeout <= 0 {
		conf.StartTimeout = 10 * time.Minute
	}
	if conf.StopTimeout <= 0 {
		conf.StopTimeout = 10 * time.Minute
	}
	if conf.DataDir, err = filepath.Abs(conf.DataDir); err != nil {
		return err
	}
	if conf.DataDir, err = filepath.EvalSymlinks(conf.DataDir); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	control, err := ControlFile(conf.DataDir)
	if err != nil {
		return err
	}
	if err := control.Fits(conf.Install); err != nil {
		return err
	}
	return clearPIDFile(conf.DataDir)
}

// clearPIDFile removes postmaster.pid unless its server runs. The server would do so too, but it takes any process with
// that pid for a postmaster, which after a crash and a reboot is a matter of luck.
func clearPIDFile(dataDir string) error {
	path := filepath.Join(dataDir, "postmaster.pid")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err == nil && worksIn(pid, dataDir) {
		return fmt.Errorf("a server already runs on %s (process %d)", dataDir, pid)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("stale postmaster.pid: %w", err)
	}
	return nil
}

// launch writes the server's configuration and starts the process.
func (s *Server) launch(ctx context.Context) error {
	if err := s.writeConf(); err != nil {
		return err
	}
	dir := s.run.path
	p, err := proc.Start(ctx, proc.Cmd{
		Path: s.conf.program("postgres"),
		Args: []string{"-D", s.conf.DataDir,
			"-c", "config_file=" + filepath.Join(dir, "postgresql.conf"),
			"-c", "hba_file=" + filepath.Join(dir, "pg_hba.conf"),
			"-c", "ident_file=" + filepath.Join(dir, "pg_ident.conf"),
			"-c", "listen_addresses=", "-c", "unix_socket_directories=" + dir, "-c", "unix_socket_permissions=0700",
			"-c", fmt.Sprintf("port=%d", socketPort), "-c", "logging_collector=off", "-c", "log_destination=stderr"},
		Env: proc.Environ(s.conf.Env...), As: s.conf.As, Dir: s.conf.DataDir,
		Stdout: s.log, Stderr: s.log, CPUs: s.conf.CPUs,
		StopSignal: syscall.SIGINT, Grace: time.Minute,
	})
	if err != nil {
		return err
	}
	s.proc = p
	if err := s.run.record(p.PID(), s.conf.DataDir); err != nil {
		p.Kill()
		<-p.Done()
		return err
	}
	return nil
}

// writeConf puts the configuration beside the socket; the data directory keeps what initdb wrote.
func (s *Server) writeConf() error {
	quoted := "'" + strings.ReplaceAll(filepath.Join(s.conf.DataDir, "postgresql.conf"), "'", "''") + "'"
	files := map[string]string{
		"postgresql.conf": "include " + quoted + "\n" + s.conf.Conf + "\n",
		"pg_hba.conf":     "local all all peer map=tool\n",
		"pg_ident.conf":   identMap(s.conf.As),
	}
	for name, text := range files {
		path := filepath.Join(s.run.path, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
		if err := give(path, s.conf.As); err != nil {
			return err
		}
	}
	return nil
}

// awaitReady connects until it works. A line in the log would say less: only a connection proves socket, authentication
// and recovery.
func (s *Server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.conf.StartTimeout,
		fmt.Errorf("not ready after %s", s.conf.StartTimeout))
	defer cancel()
	pause := 2 * time.Millisecond
	for {
		err := s.ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.proc.Done():
			return s.startError(errors.New("it ended"))
		case <-ctx.Done():
			return s.startError(fmt.Errorf("%w; the last attempt to connect: %w", context.Cause(ctx), err))
		case <-time.After(pause):
			pause = min(2*pause, 100*time.Millisecond)
		}
	}
}

func (s *Server) ping(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.ConnString("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var one int
	return conn.QueryRow(ctx, "SELECT 1").Scan(&one)
}

// startError puts the reason first and the lines of the log that belong to it below.
func (s *Server) startError(cause error) error {
	return fmt.Errorf("start server %s: %s", s.conf.Version, s.explain(cause))
}

func (s *Server) explain(cause error) string {
	first := cause.Error()
	if reason := s.log.reason(); reason != "" {
		first = reason
	} else if err := s.ended(); err != nil {
		first = err.Error()
	}
	lines := s.log.severe.Lines()
	if len(lines) == 0 {
		lines = s.LogTail(10)
	}
	return strings.Join(append([]string{first}, lines...), "\n")
}

// ended returns how the process ended, without its output; nil while it runs or when it ended well.
func (s *Server) ended() error {
	select {
	case <-s.proc.Done():
	default:
		return nil
	}
	var exit *proc.ExitError
	if errors.As(s.proc.Wait(), &exit) {
		return fmt.Errorf("the server process ended: %w", exit.Cause)
	}
	return nil
}

// Died explains the end of a server that nobody stopped: why, and the lines of its log that matter. It is nil while the
// server runs and after Stop.
func (s *Server) Died() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.proc.Done():
	default:
		return nil
	}
	if s.stopped {
		return nil
	}
	how := s.ended()
	if how == nil {
		how = errors.New("the server process ended by itself")
	}
	return errors.New(strings.Join(append([]string{fmt.Sprintf("server %s: %s", s.conf.Version, how)}, s.log.severe.Lines()...), "\n"))
}

// PID returns the postmaster's process id.
func (s *Server) PID() int { return s.proc.PID() }

// Version of the server, as Install has it.
func (s *Server) Version() string { return s.conf.Version }

// DataDir of the server.
func (s *Server) DataDir() string { return s.conf.DataDir }

// SocketDir holds the server's socket; its port is 5432.
func (s *Server) SocketDir() string { return s.run.path }

// Dead is closed when the server has ended, wanted or not.
func (s *Server) Dead() <-chan struct{} { return s.proc.Done() }

// LogTail returns the last n lines of the server's log, at most 200.
func (s *Server) LogTail(n int) []string {
	lines := s.log.tail.Lines()
	return lines[max(0, len(lines)-n):]
}

// Severe returns the last lines of the log that tell of errors, crashes of backends and the like.
func (s *Server) Severe() []string { return s.log.severe.Lines() }

// ConnString returns the connection string for a database, for pgx and libpq alike. It holds no secret.
func (s *Server) ConnString(db string) string {
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable", quoteConn(s.run.path), socketPort, User, quoteConn(db))
}

func quoteConn(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
}
