package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pgpipeline/pipeline/proc"
)

// A running server has a directory for its socket and its configuration. Beside it lie NAME.lock, which the tool holds
// for as long as it lives, and NAME.json, which says which server it is. So a later tool can tell a server that was left
// behind from one that is in use, and stop it by its identity: pid, start time, and working directory.
type runDir struct {
	path string   // the directory; the server's account owns it
	lock *os.File // held until removed
}

// PlaceError is in the chain of Start's error when it is not the server's fault that it was not started: the place of its
// socket is taken, or cannot be made.
type PlaceError struct{ Err error }

func (e *PlaceError) Error() string { return e.Err.Error() }
func (e *PlaceError) Unwrap() error { return e.Err }

// socketPort is part of the socket's name only: no server listens on TCP.
const socketPort = 5432

// maxSocketPath is the size of sun_path less its final zero byte.
const maxSocketPath = 107

// identity is the content of NAME.json.
type identity struct {
	PID     int    `json:"pid"`
	Start   uint64 `json:"start"` // clock ticks since boot
	BootID  string `json:"boot_id"`
	DataDir string `json:"data_dir"`
}

// runBase returns the directory that holds the run directories of this user. It may lie in /tmp, where anybody could
// have made it before us, so its owner and mode are checked.
func runBase() (string, error) {
	base := filepath.Join(os.TempDir(), fmt.Sprintf("pipeline-%d", os.Geteuid()))
	if len(base) > 60 { // leaves room for a name and the socket
		base = fmt.Sprintf("/tmp/pipeline-%d", os.Geteuid())
	}
	if err := os.Mkdir(base, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("directory for sockets: %w", err)
	}
	st, err := os.Lstat(base)
	if err != nil {
		return "", fmt.Errorf("directory for sockets: %w", err)
	}
	owner := st.Sys().(*syscall.Stat_t).Uid
	if !st.IsDir() || int(owner) != os.Geteuid() || st.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("directory for sockets: %s is not a directory of ours that nobody else can write; remove it", base)
	}
	// The umask may have closed it to the server's account.
	return base, os.Chmod(base, 0o711)
}

// newRunDir makes the directory for one server. dir is "" for one of our own naming.
func newRunDir(dir string, as *proc.Account) (*runDir, error) {
	if dir == "" {
		base, err := runBase()
		if err != nil {
			return nil, err
		}
		if dir, err = os.MkdirTemp(base, "s"); err != nil {
			return nil, fmt.Errorf("directory for sockets: %w", err)
		}
	}
	socket := filepath.Join(dir, fmt.Sprintf(".s.PGSQL.%d", socketPort))
	if len(socket) > maxSocketPath {
		return nil, fmt.Errorf("socket path %s has %d bytes, the system allows %d; choose a shorter directory", socket, len(socket), maxSocketPath)
	}
	r := &runDir{path: dir}
	if err := makePrivateDir(dir, as); err != nil {
		return nil, fmt.Errorf("directory for the socket: %w", err)
	}
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock of %s: %w", dir, err), os.RemoveAll(dir))
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("socket directory %s is in use by another server: %w", dir, err)
	}
	r.lock = lock
	return r, nil
}

// record notes which server runs here.
func (r *runDir) record(pid int, dataDir string) error {
	start, _ := proc.StartTime(pid)
	text, err := json.Marshal(identity{PID: pid, Start: start, BootID: bootID(), DataDir: dataDir})
	if err != nil {
		return err
	}
	return os.WriteFile(r.path+".json", text, 0o600)
}

func (r *runDir) remove() {
	os.RemoveAll(r.path)
	os.Remove(r.path + ".json")
	os.Remove(r.path + ".lock") // before it is let go, so that nobody finds it free
	r.lock.Close()
}

func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}

// StopLeftovers stops the servers that an earlier tool of this user left running when it was killed, removes their socket
// directories, and returns what it stopped ("server 4711 on /path/data"). Servers of tools that still run, and servers
// that are not ours, are not touched. Their data directories are left to their owner.
func StopLeftovers(ctx context.Context) ([]string, error) {
	base, err := runBase()
	if err != nil {
		return nil, err
	}
	locks, err := filepath.Glob(filepath.Join(base, "s*.lock"))
	if err != nil {
		return nil, err
	}
	var stopped []string
	var errs []error
	for _, path := range locks {
		what, err := stopLeftover(ctx, strings.TrimSuffix(path, ".lock"))
		if what != "" {
			stopped = append(stopped, what)
		}
		errs = append(errs, err)
	}
	return stopped, errors.Join(errs...)
}

func stopLeftover(ctx context.Context, dir string) (string, error) {
	lock, err := os.OpenFile(dir+".lock", os.O_RDWR, 0)
	if err != nil {
		return "", nil // its owner has just removed it
	}
	r := &runDir{path: dir, lock: lock}
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		lock.Close()
		return "", nil // in use
	}
	defer r.remove()
	var id identity
	text, err := os.ReadFile(dir + ".json")
	if err != nil || json.Unmarshal(text, &id) != nil || !id.runs() {
		return "", nil
	}
	what := fmt.Sprintf("server %d on %s", id.PID, id.DataDir)
	if err := id.stop(ctx); err != nil {
		return "", fmt.Errorf("stop %s, left by an earlier run: %w", what, err)
	}
	return what, nil
}

// runs says whether the very process still runs: the pid alone proves nothing, since pids are used again.
func (id identity) runs() bool {
	start, ok := proc.StartTime(id.PID)
	return ok && start == id.Start && id.BootID == bootID() && worksIn(id.PID, id.DataDir)
}

// worksIn says whether the working directory of pid is dir. Every process of a server works in its data directory.
func worksIn(pid int, dir string) bool {
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil && (cwd == dir || cwd == dir+" (deleted)")
}

// stop ends a server that is not our child: fast, then immediate, then by force.
func (id identity) stop(ctx context.Context) error {
	for _, try := range []struct {
		signal syscall.Signal
		limit  time.Duration
	}{{syscall.SIGINT, 30 * time.Second}, {syscall.SIGQUIT, 10 * time.Second}, {syscall.SIGKILL, 10 * time.Second}} {
		tree := proc.Descendants(id.PID)
		if err := syscall.Kill(id.PID, try.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		for _, pid := range append(tree, id.PID) { // what is halted cannot shut down
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
		if try.signal == syscall.SIGKILL {
			for _, pid := range tree {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if id.awaitEnd(ctx, try.limit) {
			return nil
		}
	}
	return errors.New("it survives SIGKILL")
}

// awaitEnd polls: the process is not our child, so there is nothing to wait for.
func (id identity) awaitEnd(ctx context.Context, limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for id.runs() {
		if ctx.Err() != nil || time.Now().After(deadline) {
			return false
		}
		time.Sleep(10 * time.Millisecond)
	}
	return true
}
