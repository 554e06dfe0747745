package ui

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"pgpipeline/pipeline/engine"
)

// tty paints the tree over and over. The cursor rests at the start of the line below the tree: a ^C that the terminal echoes, or
// a shell that takes over, finds a clean line. Nothing of the terminal's state is changed, so nothing has to be put back.
type tty struct {
	out  io.Writer
	look look
	size func() (width, height int)

	mu    sync.Mutex // guards state and above
	state *state
	above []string // lines to be printed above the tree once

	paintMu sync.Mutex // guards what is on the screen
	shown   []string

	once sync.Once
	quit chan struct{}
	done chan struct{}
}

// The tree is painted eight times a second, and once a second while something is measured: the machine belongs to the
// measurement then.
const (
	repaintEvery   = 125 * time.Millisecond
	repaintMeasure = time.Second
)

func newTTY(w io.Writer, l look, experiment Experiment) *tty {
	t := &tty{out: w, look: l, size: sizeOf(w), state: newState(experiment), quit: make(chan struct{}), done: make(chan struct{})}
	go t.loop()
	return t
}

// sizeOf asks the terminal at every repaint, which follows a resize without a signal handler.
func sizeOf(w io.Writer) func() (int, int) {
	f, _ := w.(*os.File)
	return func() (int, int) {
		if f != nil {
			if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
				return width, height
			}
		}
		return 80, 24
	}
}

// Event takes e; the next repaint shows it. Failures and warnings are printed above the tree, where they stay.
func (t *tty) Event(e engine.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.apply(e)
	switch {
	case e.Type == engine.Warning:
		t.above = append(t.above, "warning: "+clean(e.Message))
	case e.Type == engine.NodeFinished && e.Status == "failed":
		n := t.state.node(e.Node, e.Kind)
		t.above = append(t.above, n.id+": "+n.reason)
		for _, line := range n.log {
			t.above = append(t.above, "  | "+line)
		}
	}
}

// Close paints the last state and leaves it on the screen.
func (t *tty) Close() {
	t.once.Do(func() {
		close(t.quit)
		<-t.done
		t.repaint(time.Now())
	})
}

func (t *tty) loop() {
	defer close(t.done)
	timer := time.NewTimer(repaintEvery)
	defer timer.Stop()
	for {
		select {
		case <-t.quit:
			return
		case now := <-timer.C:
			t.repaint(now)
			timer.Reset(t.pause())
		}
	}
}

// pause is the time until the next repaint.
func (t *tty) pause() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state.measuring() {
		return repaintMeasure
	}
	return repaintEvery
}

// repaint writes what differs from the screen in one write, so that a terminal never shows half a frame for long.
func (t *tty) repaint(now time.Time) {
	t.paintMu.Lock()
	defer t.paintMu.Unlock()
	width, height := t.size()
	t.mu.Lock()
	if t.state.began.IsZero() {
		t.mu.Unlock()
		return
	}
	lines := tree{look: t.look, width: max(width-1, 1), height: max(height-1, 1)}.frame(t.state, now)
	above := t.above
	t.above = nil
	t.mu.Unlock()
	if len(above) == 0 && slices.Equal(lines, t.shown) {
		return
	}
	_, _ = io.WriteString(t.out, repaintText(t.shown, above, lines, width))
	t.shown = lines
}

// repaintText moves up over the old frame and writes the new one. A terminal that became narrower has wrapped the old lines, each
// over as many rows as its width now needs.
func repaintText(old, above, lines []string, width int) string {
	var b strings.Builder
	rows := 0
	for _, l := range old {
		rows += max(1, (ansi.StringWidth(l)+width-1)/width)
	}
	if rows > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", rows)
	}
	b.WriteString("\r")
	if len(above) > 0 {
		b.WriteString("\x1b[J")
	}
	for _, l := range above {
		b.WriteString(l + "\n")
	}
	for _, l := range lines {
		b.WriteString(l + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	return b.String()
}
