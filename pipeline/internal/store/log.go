package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// A run of many days appends every block to one log, and what a server or a build prints has no limit of its own. So when a
// log is opened again it is cut down to its beginning and its end, and what is added until it is closed is bounded too.
// Nothing is cut while something may be measured.
type logLimits struct {
	part  int64 // kept of the beginning, and of the end
	added int64 // between Open and Close
}

var defaultLogLimits = logLimits{part: 32 << 20, added: 256 << 20}

// Log is the log of a node, open for appending. Write may be called from several goroutines.
type Log struct {
	mu   sync.Mutex
	file *os.File
	left int64
	full bool
}

// Write adds to the log. What is beyond the limit is dropped, which the log says once.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full {
		return len(p), nil
	}
	if int64(len(p)) <= l.left {
		l.left -= int64(len(p))
		return l.file.Write(p)
	}
	l.full = true
	text := append(p[:l.left:l.left], "\n[the log has reached its size limit; the rest is dropped]\n"...)
	if _, err := l.file.Write(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// OpenLog opens the log of a node for appending and returns its path below the run's directory. Ids that differ get
// different files.
func (r *Run) OpenLog(node string) (*Log, string, error) {
	rel := filepath.Join("logs", logName(node))
	path := filepath.Join(r.Dir, rel)
	limits := r.runs.logs
	_ = trimLog(path, limits.part) // one that cannot be trimmed grows on, by no more than what may be added
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, "", runError("open the log of "+node, path, err, 0)
	}
	return &Log{file: f, left: limits.added}, rel, nil
}

// trimLog cuts what is between the first and the last part of a log, at line ends. Whoever reads the log meanwhile goes on
// reading the old one.
func trimLog(path string, part int64) error {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil || info.Size() <= 3*part { // not for a few bytes each time
		return err
	}
	first, last := make([]byte, part), make([]byte, part)
	if _, err := io.ReadFull(from, first); err != nil {
		return err
	}
	if _, err := from.ReadAt(last, info.Size()-part); err != nil {
		return err
	}
	first = first[:bytes.LastIndexByte(first, '\n')+1]
	last = last[bytes.IndexByte(last, '\n')+1:]
	note := fmt.Sprintf("[%s of the log were left out here]\n", sizeText(info.Size()-int64(len(first)+len(last))))
	tmp := path + ".tmp-" + randomText(6)
	err = os.WriteFile(tmp, bytes.Join([][]byte{first, []byte(note), last}, nil), 0o644)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return nil
}
