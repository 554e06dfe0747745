package ui

import (
	"encoding/json"
	"io"
	"sync"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/redact"
)

// jsonLines writes every event as one line of JSON, in the order in which they came.
type jsonLines struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func newJSONLines(w io.Writer) *jsonLines {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &jsonLines{enc: enc}
}

// Event writes e. A reader that went away is no reason to end a measurement: write errors are dropped.
func (j *jsonLines) Event(e engine.Event) {
	e.Message, e.Reason = redact.Text(e.Message), redact.Text(e.Reason)
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.enc.Encode(e)
}

func (j *jsonLines) Close() {}
