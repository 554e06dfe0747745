package redact

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
)

// LeastSecret is the length of the shortest value that can be hidden: a shorter one would take ordinary words apart.
const LeastSecret = 6

// hidden are the values that this process must not show, the longest first: one may be part of another.
var hidden struct {
	sync.RWMutex
	values []string
}

// Hide makes Values, Bytes and Writer take values out wherever they stand, each line of one by itself. Values shorter than
// LeastSecret are left alone; whoever hands one out has to refuse it.
func Hide(values ...string) {
	hidden.Lock()
	defer hidden.Unlock()
	add := func(v string) {
		if len(v) >= LeastSecret && !slices.Contains(hidden.values, v) {
			hidden.values = append(hidden.values, v)
		}
	}
	for _, v := range values {
		for line := range strings.Lines(v) {
			line = strings.TrimRight(line, "\r\n")
			add(line)
			if text, err := json.Marshal(line); err == nil {
				add(string(text[1 : len(text)-1])) // as a record or an event has it
			}
		}
	}
	slices.SortFunc(hidden.values, func(a, b string) int { return len(b) - len(a) })
}

// Hides reports whether there is anything to hide.
func Hides() bool {
	hidden.RLock()
	defer hidden.RUnlock()
	return len(hidden.values) > 0
}

// Values returns s without what is hidden.
func Values(s string) string {
	hidden.RLock()
	defer hidden.RUnlock()
	for _, v := range hidden.values {
		s = strings.ReplaceAll(s, v, Mask)
	}
	return s
}

// Bytes is Values for what goes to disk.
func Bytes(data []byte) []byte {
	hidden.RLock()
	defer hidden.RUnlock()
	for _, v := range hidden.values {
		data = bytes.ReplaceAll(data, []byte(v), []byte(Mask))
	}
	return data
}

// Writer passes on what is written without what is hidden. It holds back a line until its end, or 64 KiB of it, since a value
// may come in pieces; Close passes on the rest and leaves the next writer open.
func Writer(next io.Writer) io.WriteCloser { return &writer{next: next} }

type writer struct {
	mu   sync.Mutex
	next io.Writer
	part []byte
}

const longestLine = 64 << 10

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.part = append(w.part, p...)
	end := bytes.LastIndexByte(w.part, '\n') + 1
	if end == 0 && len(w.part) < longestLine {
		return len(p), nil
	}
	if end == 0 {
		end = len(w.part)
	}
	_, err := w.next.Write(Bytes(w.part[:end]))
	w.part = append(w.part[:0], w.part[end:]...)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.next.Write(Bytes(w.part))
	w.part = nil
	return err
}
