package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// ServerLog is what a node's log says of checkpoints, autovacuum and trouble: counts of all, and the first lines.
type ServerLog struct {
	Node                         string
	Checkpoints, Vacuums, Errors int
	Lines                        []string
	More                         int // lines that were left out
	Problem                      string
}

const (
	logExcerptLines = 60
	logLineBytes    = 400
)

// serverLogs reads the logs of the nodes that measured. Files is the run's directory, nil when it is not at hand.
func serverLogs(v *View, files fs.FS) []ServerLog {
	if files == nil {
		return nil
	}
	var list []ServerLog
	for _, path := range measuredLogs(v, files) {
		l := ServerLog{Node: clean(strings.TrimSuffix(strings.TrimPrefix(path, "logs/"), ".log"))}
		if err := l.read(files, path); err != nil {
			l.Problem = clean(err.Error())
		}
		if l.Problem != "" || len(l.Lines) > 0 {
			list = append(list, l)
		}
	}
	return list
}

// measuredLogs names the log of each facet: it belongs to no node of the plan and is named for its stage.
func measuredLogs(v *View, files fs.FS) []string {
	var list []string
	for _, f := range v.Facets {
		name := f.Info.Stage
		if f.Info.Name != "" {
			name += "@" + f.Info.Name
		}
		path := "logs/" + name + ".log"
		if _, err := fs.Stat(files, path); err == nil {
			list = append(list, path)
		}
	}
	return list
}

func (l *ServerLog) read(files fs.FS, path string) error {
	f, err := files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadSlice('\n')
		l.take(string(line))
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a very long line
			_, err = r.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the server's log: %w", err)
		}
	}
}

// take keeps a line that tells something. What every start says is left out.
func (l *ServerLog) take(line string) {
	switch {
	case strings.Contains(line, "LOG:  checkpoint complete"):
		l.Checkpoints++
	case strings.Contains(line, "LOG:  automatic vacuum of table"):
		l.Vacuums++
		if strings.Contains(line, ".pg_catalog.") {
			return
		}
	case strings.Contains(line, "FATAL:  the database system is"):
		return
	case strings.Contains(line, "ERROR:") || strings.Contains(line, "FATAL:") || strings.Contains(line, "PANIC:") || strings.Contains(line, "WARNING:"):
		l.Errors++
	default:
		return
	}
	if len(l.Lines) == logExcerptLines {
		l.More++
		return
	}
	line = clean(strings.TrimRight(line, "\r\n"))
	l.Lines = append(l.Lines, line[:min(len(line), logLineBytes)])
}

// Summary counts what the log holds.
func (l ServerLog) Summary() string {
	return fmt.Sprintf("%s, %s by autovacuum, %s", count(l.Checkpoints, "checkpoint"), count(l.Vacuums, "vacuum"), count(l.Errors, "message")+" of warning or error")
}

// Text is the excerpt.
func (l ServerLog) Text() string {
	text := strings.Join(l.Lines, "\n")
	if l.More > 0 {
		text += fmt.Sprintf("\n... and %s more", count(l.More, "line"))
	}
	return text
}
