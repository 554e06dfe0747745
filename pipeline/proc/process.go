package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	defaultGrace = 5 * time.Second
	errorLines   = 20 // lines of stderr in an error
	// outputDelay is how long output is still read after a child and everything below it are dead. It matters only when a
	// process that escaped still holds the pipe.
	outputDelay = 3 * time.Second
)

// Cmd is a child process to be started.
type Cmd struct {
	Path string // a bare name is looked up along the PATH in Env
	Args []string
	Dir  string // "" is the root directory when As is set, else the current one
	// Env is the complete environment; see Environ.
	Env []string
	// As is the account to run as, without supplementary groups; nil keeps our own.
	As    *Account
	Stdin io.Reader // nil: /dev/null
	// Stdout and Stderr are written by one goroutine each; nil discards. A *Tail as Stderr, or nil, gives errors the last lines.
	Stdout, Stderr io.Writer
	Timeout        time.Duration  // 0: none beyond the context
	CPUs           []int          // affinity; nil: all
	Grace          time.Duration  // between StopSignal and SIGKILL; 0: 5 s
	StopSignal     syscall.Signal // 0: SIGTERM. The child also gets it when the tool dies.
}

// ErrTimeout is in the chain of the error of a child that was stopped because its Timeout passed.
var ErrTimeout = errors.New("timed out")

// ErrKilled is what Stop returns when the child ignored its stop signal and was killed.
var ErrKilled = errors.New("ignored its stop signal; killed")

// ExitError says how a child ended that did not end well. Unwrap leads to the *exec.ExitError, and to the context's
// error or ErrTimeout when that is why it was stopped.
type ExitError struct {
	Name  string   // base name of the program
	Cause error    // exit status or signal, or why it was stopped
	Lines []string // the end of its stderr, when it was kept
}

func (e *ExitError) Error() string {
	msg := e.Name + ": " + e.Cause.Error()
	if len(e.Lines) > 0 {
		msg += "\n" + strings.Join(e.Lines, "\n")
	}
	return msg
}

func (e *ExitError) Unwrap() error { return e.Cause }

// Run starts c and waits for it.
func Run(ctx context.Context, c Cmd) error {
	p, err := Start(ctx, c)
	if err != nil {
		return err
	}
	return p.Wait()
}

// Process is a running child.
type Process struct {
	cmd     *exec.Cmd
	name    string
	tail    *Tail
	signal  syscall.Signal
	grace   time.Duration
	timeout time.Duration

	stop     chan struct{} // closed by the first Stop
	stopOnce sync.Once
	kill     chan struct{} // closed by Kill
	killOnce sync.Once
	done     chan struct{} // closed when everything is over; err and killed are set before
	err      error
	killed   bool

	mu     sync.Mutex
	reaped bool // the pid may belong to somebody else from now on
}

// Start starts c. When ctx ends, the child's session gets StopSignal and, after Grace, SIGKILL.
func Start(ctx context.Context, c Cmd) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: not started: %w", filepath.Base(c.Path), err)
	}
	p := &Process{
		name: filepath.Base(c.Path), signal: c.StopSignal, grace: c.Grace, timeout: c.Timeout,
		stop: make(chan struct{}), kill: make(chan struct{}), done: make(chan struct{}),
	}
	if p.signal == 0 {
		p.signal = syscall.SIGTERM
	}
	if p.grace <= 0 {
		p.grace = defaultGrace
	}
	cmd, err := p.command(c)
	if err != nil {
		return nil, err
	}
	p.cmd = cmd
	if err := fork(cmd, c.CPUs); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	watch(p.PID(), p.grace)
	go p.supervise(ctx)
	return p, nil
}

func (p *Process) command(c Cmd) (*exec.Cmd, error) {
	env := childEnv(c.Env, c.As)
	path, err := findProgram(c.Path, env)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: path, Args: append([]string{c.Path}, c.Args...), Dir: c.Dir, Env: env,
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, WaitDelay: outputDelay,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: p.signal},
	}
	switch w := c.Stderr.(type) {
	case nil:
		p.tail = NewTail(errorLines, nil)
		cmd.Stderr = p.tail
	case *Tail:
		p.tail = w
	}
	if c.As != nil {
		// Groups is set so that setgroups is called: without it the child would keep root's supplementary groups.
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: c.As.UID, Gid: c.As.GID, Groups: []uint32{c.As.GID}}
		if cmd.Dir == "" {
			cmd.Dir = "/"
		}
	}
	return cmd, nil
}

// PID returns the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended and nothing of it is left.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end of the child and everything below it. The error is nil or an *ExitError.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// CPU is the user and system time of the child and of what it waited for; 0 before the end of Wait.
func (p *Process) CPU() time.Duration {
	select {
	case <-p.done:
	default:
		return 0
	}
	if p.cmd.ProcessState == nil {
		return 0
	}
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// Signal sends a signal to the child alone.
func (p *Process) Signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return fmt.Errorf("signal %s: %s: it has ended", p.name, sig)
	}
	return syscall.Kill(p.PID(), sig)
}

// Stop sends the stop signal to the child's session, waits for Grace, kills what is left, and waits until it is gone. It
// returns ErrKilled when the grace did not do. When ctx ends first, the child is killed at once.
func (p *Process) Stop(ctx context.Context) error {
	p.stopOnce.Do(func() { close(p.stop) })
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Kill()
		<-p.done
	}
	if p.killed {
		return fmt.Errorf("%s %w", p.name, ErrKilled)
	}
	return nil
}

// Kill sends SIGKILL to the child and everything below it, without waiting.
func (p *Process) Kill() { p.killOnce.Do(func() { close(p.kill) }) }

// supervise is the only one that ends and reaps the child, so that no signal ever goes to a pid that was used again.
func (p *Process) supervise(ctx context.Context) {
	defer close(p.done)
	exited := make(chan struct{})
	go func() {
		awaitExit(p.PID())
		close(exited)
	}()
	seen, cause := p.await(ctx, exited)
	sweep(p.PID(), seen)
	p.mu.Lock()
	p.reaped = true
	err := p.cmd.Wait()
	p.mu.Unlock()
	forget(p.PID())
	unwatch(p.PID())
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	p.err = p.describe(err, cause)
}

// await returns when the child has ended, of itself or because it was to. cause says why it was ended early; seen are
// the processes that were below it when it was killed.
func (p *Process) await(ctx context.Context, exited <-chan struct{}) (seen []entry, cause error) {
	var late <-chan time.Time
	if p.timeout > 0 {
		timer := time.NewTimer(p.timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-exited:
		return nil, nil
	case <-late:
		cause = fmt.Errorf("%w after %s", ErrTimeout, p.timeout)
	case <-ctx.Done():
		cause = whyEnded(ctx)
	case <-p.stop:
	case <-p.kill:
	}
	return p.end(exited), cause
}

// whyEnded keeps both that a context was cancelled and why, for callers that ask for the one or the other.
func whyEnded(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// end stops the session: the stop signal, the grace, then SIGKILL for the whole tree. The tree is noted before each
// signal, since what is below a dead process can no longer be found.
func (p *Process) end(exited <-chan struct{}) (seen []entry) {
	pid := p.PID()
	if !p.asked() {
		seen = below(pid)
		_ = syscall.Kill(-pid, p.signal)
		_ = syscall.Kill(-pid, syscall.SIGCONT) // a stopped process would take the signal only when it is continued
		timer := time.NewTimer(p.grace)
		defer timer.Stop()
		select {
		case <-exited:
			return seen
		case <-p.kill:
		case <-timer.C:
		}
	}
	seen = append(seen, below(pid)...)
	p.killed = !p.asked()
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	<-exited
	return seen
}

// asked says whether Kill was called.
func (p *Process) asked() bool {
	select {
	case <-p.kill:
		return true
	default:
		return false
	}
}

func (p *Process) describe(err, cause error) error {
	if err == nil && cause == nil {
		return nil
	}
	if cause == nil {
		cause = err
	} else if err != nil {
		cause = fmt.Errorf("%w (%w)", cause, err)
	}
	out := &ExitError{Name: p.name, Cause: cause}
	if p.tail != nil {
		lines := p.tail.Lines()
		out.Lines = lines[max(0, len(lines)-errorLines):]
	}
	return out
}

// awaitExit blocks until the process is dead and leaves it to be reaped, so that its pid stays its own.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
