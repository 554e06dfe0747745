package block

import (
	"bytes"
	"io"
	"sync"

	"pgpipeline/pipeline/engine"
)

// variantLog puts the variant's name in front of every line of its server. A line goes on whole, in one write.
type variantLog struct {
	mark string

	mu   sync.Mutex
	next io.Writer
	part []byte // a line without an end yet
}

func newVariantLog(variant string, next io.Writer) *variantLog {
	return &variantLog{mark: variant + engine.VariantMark, next: next}
}

// Write returns the error of the log below: the server's own log then stops passing lines on.
func (l *variantLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	end := bytes.LastIndexByte(l.part, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	var out bytes.Buffer
	for line := range bytes.Lines(l.part[:end]) {
		out.WriteString(l.mark)
		out.Write(line)
	}
	l.part = append(l.part[:0], l.part[end:]...)
	if _, err := l.next.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}
