package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/store"
)

// ServerLog is what the log of a variant's servers says of checkpoints, autovacuum and trouble: counts of all, and the first lines.
type ServerLog struct {
	Node                         string
	Variant                      string // "" in logs that do not tell the variants apart
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
	for _, f := range v.Facets {
		path := store.RunInfo{}.LogPath(measuredNode(f))
		if _, err := fs.Stat(files, path); err == nil {
			list = append(list, facetLogs(f, files, path)...)
		}
	}
	return list
}

// facetLogs splits the log of a facet by variant, in their order; lines that belong to none come first.
func facetLogs(f Facet, files fs.FS, path string) []ServerLog {
	node := clean(measuredNode(f))
	logs := []ServerLog{{Node: node}}
	marks := map[string]int{}
	for _, v := range f.Variants {
		marks[v.Name] = len(logs)
		logs = append(logs, ServerLog{Node: node, Variant: clean(v.Name)})
	}
	err := readLines(files, path, func(line string) {
		at := 0
		if name, rest, ok := strings.Cut(line, engine.VariantMark); ok && marks[name] > 0 {
			at, line = marks[name], rest
		}
		logs[at].take(line)
	})
	if err != nil {
		logs[0].Problem = clean(err.Error())
	}
	return slices.DeleteFunc(logs, func(l ServerLog) bool { return l.Problem == "" && len(l.Lines) == 0 })
}

// measuredNode is what measures a facet; it is no node of the plan and named for its stage.
func measuredNode(f Facet) string {
	if f.Info.Name == "" {
		return f.Info.Stage
	}
	return f.Info.Stage + "[" + f.Info.Name + "]"
}

// readLines gives the lines of a file, each cut where a buffer ends.
func readLines(files fs.FS, path string, take func(string)) error {
	f, err := files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadSlice('\n')
		take(string(line))
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

// Title names the log: the variant, with the stage where a run has several.
func (l ServerLog) Title() string {
	if l.Variant == "" {
		return l.Node
	}
	return l.Variant + " (" + l.Node + ")"
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
