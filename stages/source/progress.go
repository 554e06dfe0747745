package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// stallLimit is how long a download may stand still before it counts as broken.
const stallLimit = 60 * time.Second

var errStalled = errors.New("the server sent nothing for a minute")

// A tracker is go-getter's progress listener.
type tracker struct {
	job  *job
	name string
}

// TrackProgress implements getter.ProgressTracker.
func (t *tracker) TrackProgress(_ string, have, total int64, stream io.ReadCloser) io.ReadCloser {
	return &trackedReader{ReadCloser: stream, job: t.job, what: "download " + t.name, done: have, total: max(total, 0)}
}

// trackedReader reports what is read, ten times a second, and ends it when it is more than allowed. go-getter's own limit
// does not hold when there is a progress listener.
type trackedReader struct {
	io.ReadCloser
	job         *job
	what        string
	done, total int64
	reported    time.Time
}

func (r *trackedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.done += int64(n)
	if now := time.Now(); err != nil || now.Sub(r.reported) > 100*time.Millisecond {
		r.reported = now
		r.job.Progress(r.what, float64(r.done), float64(r.total))
	}
	if limit := r.job.Limits.Bytes; r.done > limit {
		return n, fmt.Errorf("more than %d bytes: too large for a source", limit)
	}
	return n, err
}

// A counter adds up what several goroutines did.
type counter struct {
	mu          sync.Mutex
	job         *job
	what        string
	done, total float64
	reported    time.Time
}

func newCounter(j *job, what string, total float64) *counter {
	return &counter{job: j, what: what, total: total}
}

func (c *counter) add(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done += float64(n)
	if now := time.Now(); now.Sub(c.reported) > 100*time.Millisecond || c.done >= c.total {
		c.reported = now
		c.job.Progress(c.what, c.done, c.total)
	}
}

// watchPosition reports how far f has been read, by us or by a child that shares its position, until the result is called.
func (j *job) watchPosition(what string, f *os.File) (stop func()) {
	st, err := f.Stat()
	if err != nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			if at, err := f.Seek(0, io.SeekCurrent); err == nil {
				j.Progress(what, float64(at), float64(st.Size()))
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-over }
}
