package postgres

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"pgpipeline/pipeline/proc"
)

const (
	logTailLines   = 200
	logSevereLines = 40
	// defaultLogLimit is the size that a server's log may have. A server that logs every statement writes that much in
	// minutes; what is dropped is counted, and the last lines are kept in memory all the same.
	defaultLogLimit = 64 << 20
)

// serverLog takes what a server writes to its stderr: up to a limit it goes to the caller's writer, and the last lines and
// the last severe ones are kept for messages.
type serverLog struct {
	tail   *proc.Tail
	severe *proc.Tail

	mu      sync.Mutex
	next    io.Writer
	left    int64
	dropped int64
	part    string // a line without an end yet
}

func newServerLog(next io.Writer, limit int64) *serverLog {
	if limit <= 0 {
		limit = defaultLogLimit
	}
	return &serverLog{tail: proc.NewTail(logTailLines, nil), severe: proc.NewTail(logSevereLines, nil), next: next, left: limit}
}

// Write never fails: a full disk under the log must not stop a server.
func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail.Write(p) //nolint:errcheck // it cannot fail
	l.classify(string(p))
	l.pass(p)
	return len(p), nil
}

func (l *serverLog) pass(p []byte) {
	if l.next == nil {
		return
	}
	if int64(len(p)) > l.left {
		if l.dropped == 0 {
			fmt.Fprintf(l.next, "\n[the log has reached its size limit; the rest is dropped]\n")
		}
		l.left, l.dropped = 0, l.dropped+int64(len(p))
		return
	}
	l.left -= int64(len(p))
	if _, err := l.next.Write(p); err != nil {
		l.left, l.dropped = 0, l.dropped+1
	}
}

// severePattern finds what a person looks for in a server's log after a failure.
var severePattern = regexp.MustCompile(`\b(FATAL|PANIC|ERROR|HINT|DETAIL):  |was terminated by signal|exited with exit code|` +
	`out of memory|Out of memory|No space left on device|could not |received (smart|fast|immediate) shutdown request`)

// quietPattern finds lines that look severe and belong to every normal life of a server.
var quietPattern = regexp.MustCompile(`(?i)FATAL:  the database system is (starting up|not yet accepting|shutting down)|` +
	`terminating (connection|background worker|walreceiver).* due to administrator command|background worker ".*exited with exit code [01]$`)

func (l *serverLog) classify(text string) {
	text = l.part + text
	for {
		line, rest, ended := strings.Cut(text, "\n")
		if !ended {
			l.part = line[max(0, len(line)-4096):]
			return
		}
		if severePattern.MatchString(line) && !quietPattern.MatchString(line) {
			fmt.Fprintln(l.severe, line)
		}
		text = rest
	}
}

// linePattern splits a log line into what every line begins with, the severity, and the message.
var linePattern = regexp.MustCompile(`^.*?\b(LOG|WARNING|ERROR|FATAL|PANIC|HINT|DETAIL):  (.*)$`)

// reason picks the line that says why a server ended: the last PANIC, else the first FATAL, else the first message of
// the loader or of postgres itself that has no severity ("error while loading shared libraries").
func (l *serverLog) reason() string {
	lines := append(l.severe.Lines(), l.tail.Lines()...)
	for _, severity := range []string{"PANIC", "FATAL"} {
		for _, line := range lines {
			if m := linePattern.FindStringSubmatch(line); m != nil && m[1] == severity && !quietPattern.MatchString(line) {
				return severity + ": " + m[2]
			}
		}
	}
	for _, line := range lines {
		if linePattern.FindString(line) == "" && strings.TrimSpace(line) != "" {
			return line
		}
	}
	return ""
}
