package driver

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// ServerError is an error that the server reported for a statement.
type ServerError struct {
	Severity string // "ERROR", "FATAL", "PANIC"
	Code     string // SQLSTATE
	Message  string
	Detail   string
}

func (e *ServerError) Error() string {
	s := fmt.Sprintf("server: %s (SQLSTATE %s)", e.Message, e.Code)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// ServerDeath says that the server went away while it was measured.
type ServerDeath struct {
	PID   int   // of the postmaster; 0 when it is not known
	Alive bool  // the postmaster still lives: one of its backends crashed, or it dropped the connection
	Cause error // the server's last words, a *ServerError, or what the socket said
}

func (e *ServerDeath) Unwrap() error { return e.Cause }

func (e *ServerDeath) Error() string {
	if e.Alive {
		return fmt.Sprintf("server dropped the connection: %v", e.Cause)
	}
	if e.PID == 0 {
		return fmt.Sprintf("server went away: %v", e.Cause)
	}
	return fmt.Sprintf("server process %d died: %v", e.PID, e.Cause)
}

// errRetry is what Exec returns for an expected error; the event passes it on and is run again.
var errRetry = errors.New("statement failed with an error that is expected under concurrency")

// errStopped is what Exec returns when the session was told to stop while a statement was under way.
var errStopped = errors.New("stopped")

// retryable are the SQLSTATEs that concurrent writers cause in each other: deadlock, serialization failure, duplicate key. They
// are the ones that sysbench ignores.
func retryable(code string) bool {
	return code == "40P01" || code == "40001" || code == "23505"
}

// death explains why a connection was lost.
func (c *Client) death(cause error) error {
	d := &ServerDeath{PID: c.pid, Cause: cause}
	if p := &c.conn.parser; p.failed {
		problem := p.problem
		d.Cause = &problem
		c.tally.errors[problem.Code]++
	}
	d.Alive = c.pid != 0 && processLives(c.pid)
	return d
}

// processLives tells a running process from one that is gone or a zombie. A server that was killed may take a moment to
// disappear after its sockets have closed.
func processLives(pid int) bool {
	for range 20 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		if i := strings.LastIndexByte(string(stat), ')'); i >= 0 && strings.HasPrefix(string(stat[i+1:]), " Z") {
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
	return true
}
