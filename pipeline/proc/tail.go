package proc

import (
	"bytes"
	"io"
	"sync"
)

// maxLine bounds what is kept of one line, so that output without line ends cannot grow without limit.
const maxLine = 4096

// Tail is an io.Writer that keeps the last lines of what is written and passes everything on. It is safe for concurrent
// use, so that one Tail may take both outputs of a child. Its memory is bounded whatever is written.
type Tail struct {
	mu    sync.Mutex
	next  io.Writer
	lines []string // ring
	first int      // index of the oldest line once the ring is full
	limit int
	part  []byte // the line that has no end yet
}

// NewTail keeps the last n lines; next may be nil.
func NewTail(n int, next io.Writer) *Tail {
	return &Tail{next: next, limit: max(n, 1)}
}

// Write never fails on its own account; an error is that of the next writer.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep(p)
	if t.next != nil {
		return t.next.Write(p)
	}
	return len(p), nil
}

func (t *Tail) keep(p []byte) {
	for {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		room := maxLine - len(t.part)
		t.part = append(t.part, line[:min(room, len(line))]...)
		if !ended {
			return
		}
		t.push(string(bytes.TrimRight(t.part, "\r")))
		t.part = t.part[:0]
		p = rest
	}
}

func (t *Tail) push(line string) {
	if len(t.lines) < t.limit {
		t.lines = append(t.lines, line)
		return
	}
	t.lines[t.first] = line
	t.first = (t.first + 1) % t.limit
}

// Lines returns the last lines, oldest first, an unfinished one included.
func (t *Tail) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := append([]string{}, t.lines[t.first:]...)
	out = append(out, t.lines[:t.first]...)
	if len(t.part) > 0 {
		out = append(out, string(t.part))
	}
	if len(out) > t.limit {
		out = out[len(out)-t.limit:]
	}
	return out
}
