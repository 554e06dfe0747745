package postgres

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"pgpipeline/pipeline/proc"
)

// immediateTimeout bounds an immediate shutdown, which writes nothing.
const immediateTimeout = 30 * time.Second

// ErrUnclean is in the chain of Stop's error when the server did not shut down fast: its data directory needs recovery.
var ErrUnclean = errors.New("unclean stop")

// Stop shuts the server down: fast, which ends its connections and writes a checkpoint; when that takes longer than
// StopTimeout, immediately; when that does not do, by SIGKILL. A stop that was not fast is an error that says so. When ctx
// ends, the fast shutdown is not waited for any longer. Stop may be called twice.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	already := s.stopped
	s.stopped = true
	s.closeMonitor()
	s.mu.Unlock()
	if already {
		<-s.proc.Done()
		return nil
	}
	defer s.cleanUp()
	select {
	case <-s.proc.Done():
		if s.endedOnRequest() {
			return nil
		}
		return fmt.Errorf("stop server %s: %w: %s", s.conf.Version, ErrUnclean, s.explain(errors.New("it had already ended")))
	default:
	}
	how := s.shutDown(ctx)
	if how == "" && (s.proc.Wait() == nil || s.endedOnRequest()) {
		return nil
	}
	if how == "" {
		how = s.explain(errors.New("it ended badly"))
	}
	return fmt.Errorf("stop server %s: %w: %s", s.conf.Version, ErrUnclean, how)
}

// endedOnRequest says that the context of Start ended and the server then shut down with success: its error has a cause but
// no exit status.
func (s *Server) endedOnRequest() bool {
	var status *exec.ExitError
	err := s.proc.Wait()
	return err != nil && !errors.As(err, &status)
}

// shutDown returns "" when the server obeyed the fast shutdown, else what it took.
func (s *Server) shutDown(ctx context.Context) string {
	s.wake()
	_ = s.proc.Signal(syscall.SIGINT)
	fast := time.NewTimer(s.conf.StopTimeout)
	defer fast.Stop()
	began := time.Now()
	select {
	case <-s.proc.Done():
		return ""
	case <-fast.C:
	case <-ctx.Done():
	}
	waited := time.Since(began).Round(time.Second)
	_ = s.proc.Signal(syscall.SIGQUIT)
	immediate := time.NewTimer(immediateTimeout)
	defer immediate.Stop()
	select {
	case <-s.proc.Done():
		return fmt.Sprintf("the fast shutdown had not ended after %s, so it was shut down immediately", waited)
	case <-immediate.C:
	}
	s.proc.Kill()
	<-s.proc.Done()
	return fmt.Sprintf("neither the fast shutdown (%s) nor the immediate one (%s) ended it, so it was killed", waited, immediateTimeout)
}

// wake continues processes of the server that were stopped by a signal: they could not shut down.
func (s *Server) wake() {
	for _, pid := range append(proc.Descendants(s.PID()), s.PID()) {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
}

// Kill ends the server and all its processes by SIGKILL, as a crash of the machine would, and waits until they are gone.
func (s *Server) Kill() {
	s.proc.Kill()
	<-s.proc.Done()
}

func (s *Server) cleanUp() {
	<-s.proc.Done()
	s.run.remove()
}

// identMap maps the users that may connect to the server's superuser: whoever runs the tool, and the server's account, for
// drivers that run as that.
func identMap(as *proc.Account) string {
	text := ""
	if u, err := user.LookupId(strconv.Itoa(syscall.Geteuid())); err == nil {
		text += fmt.Sprintf("tool %q %s\n", u.Username, User)
	}
	if as != nil {
		text += fmt.Sprintf("tool %q %s\n", as.Name, User)
	}
	return text
}
