package ui

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pgpipeline/pipeline/engine"
)

var update = flag.Bool("update", false, "write the golden files anew")

// quick is the experiment of the story.
var quick = Experiment{Name: "quick", Bases: map[string]string{"run": "15.8"}}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(secs float64) time.Time { return start.Add(seconds(secs)) }

// story is the stream of a run: fetches from the cache, one build, a load that waits, then blocks.
func story() []engine.Event {
	build, load, run := "build[pg=17.0]", "load[pg=17.0]", "run"
	nodes := []engine.NodeRecord{
		{ID: "fetch[pg=15.8]", Kind: "fetch", Status: "cached"}, {ID: "fetch[pg=17.0]", Kind: "fetch", Status: "unneeded"},
		{ID: "build[pg=15.8]", Kind: "build", Status: "cached"}, {ID: build, Kind: "build", Status: "pending"},
		{ID: "load[pg=15.8]", Kind: "load", Status: "pending"}, {ID: load, Kind: "load", Status: "pending"},
		{ID: "compare", Kind: "compare", Status: "pending"},
	}
	steps := []string{"point-query", "hot-points", "update-index"}
	progress := func(s float64, node, kind, what string, done, total float64, unit string, rate float64) engine.Event {
		return engine.Event{Time: at(s), Type: engine.NodeProgress, Node: node, Kind: kind,
			Progress: &engine.Progress{What: what, Done: done, Total: total, Unit: unit, Rate: rate}}
	}
	return []engine.Event{
		{Time: at(0), Type: engine.PlanReady, Run: "20260301-120000-quick", Nodes: nodes},
		{Time: at(1), Type: engine.NodeStarted, Node: build, Kind: "build", Reason: "flags differ: CFLAGS", Expected: 200},
		{Time: at(2), Type: engine.NodeLog, Node: build, Kind: "build", Message: "checking for gcc... \x1b[31mgcc\x1b[0m"},
		progress(40, build, "build", "make", 320, 800, "files", 0),
		{Time: at(100), Type: engine.Warning, Message: "fetch https://joe:secret@mirror/x: 404, took the next source"},
		{Time: at(180), Type: engine.NodeFinished, Node: build, Kind: "build", Status: "done", Seconds: 179},
		{Time: at(181), Type: engine.NodeStarted, Node: "load[pg=15.8]", Kind: "load"},
		{Time: at(181), Type: engine.NodeWaiting, Node: load, Kind: "load", Message: "pid 4711 of joe (pipeline run io.yaml)"},
		progress(182, "load[pg=15.8]", "load", "copy sbtest1", 0, 2e6, "rows", 0),
		progress(192, "load[pg=15.8]", "load", "copy sbtest1", 1.5e6, 2e6, "rows", 0),
		{Time: at(200), Type: engine.NodeFinished, Node: "load[pg=15.8]", Kind: "load", Status: "done", Seconds: 19},
		{Time: at(201), Type: engine.NodeFinished, Node: load, Kind: "load", Status: "done", Seconds: 20},
		{Time: at(202), Type: engine.BlockStarted, Node: run, Kind: "run", Block: 1, Blocks: 12, Steps: steps, Expected: 120},
		progress(203, run, "run", "boot 17.0", 0, 0, "", 0),
		progress(205, run, "run", "warm up point-query on 15.8", 2, 5, "s", 0),
		progress(210, run, "run", "point-query on 15.8", 2, 20, "s", 81234),
		progress(211, run, "run", "point-query on 17.0", 3, 20, "s", 84000),
		progress(250, run, "run", "hot-points on 15.8", 4, 20, "s", 11234),
		progress(251, run, "run", "hot-points on 17.0", 5, 20, "s", 27345),
		{Time: at(330), Type: engine.BlockFinished, Node: run, Kind: "run", Block: 1, Message: "1 of 2 assertions decided; relqps(\"hot-points\") > 1.7 wants 2 more blocks"},
		{Time: at(331), Type: engine.BlockStarted, Node: run, Kind: "run", Block: 2, Blocks: 12, Steps: steps[1:], Expected: 90},
		progress(335, run, "run", "hot-points on 17.0", 3, 20, "s", 27000),
		{Time: at(420), Type: engine.BlockFinished, Node: run, Kind: "run", Block: 2, Blocks: 12, Status: "done", Message: "all assertions are decided"},
		{Time: at(421), Type: engine.BlockFinished, Node: run, Block: 2, Blocks: 12, Status: "decided", Message: "all assertions are decided"},
		{Time: at(421), Type: engine.NodeStarted, Node: "compare", Kind: "compare"},
		{Time: at(421), Type: engine.NodeLog, Node: "compare", Kind: "compare", Message: "reading"},
		{Time: at(422), Type: engine.NodeFinished, Node: "compare", Kind: "compare", Status: "failed", Seconds: 1, Message: "no data for \"scan\""},
		{Time: at(422), Type: engine.RunFinished, Status: "failed"},
	}
}

// after folds the story up to the given second.
func after(secs float64) *state {
	s := newState(quick)
	for _, e := range story() {
		if !e.Time.After(at(secs)) {
			s.apply(e)
		}
	}
	return s
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("golden file: %v (write it with -update)", err)
	}
	if got != string(want) {
		t.Errorf("%s differs (write it with -update):\n--- got\n%s--- want\n%s", name, got, want)
	}
}

func TestFrames(t *testing.T) {
	looks := []struct {
		name string
		tree tree
	}{
		{"200", tree{look: look{Unicode: true}, width: 199}},
		{"80", tree{look: look{Unicode: true}, width: 79}},
		{"80-ascii", tree{width: 79}},
		{"40", tree{look: look{Unicode: true}, width: 39}},
		{"20x6", tree{look: look{Unicode: true}, width: 19, height: 6}},
		{"80-color", tree{look: look{Unicode: true, Color: true}, width: 79}},
	}
	for _, l := range looks {
		var b strings.Builder
		for _, secs := range []float64{0, 45, 195, 206, 255, 340, 422} {
			fmt.Fprintf(&b, "=== %.0f s\n", secs)
			for _, line := range l.tree.frame(after(secs), at(secs)) {
				if w := ansi.StringWidth(line); w > l.tree.width {
					t.Errorf("%s: line of %d cells: %q", l.name, w, line)
				}
				b.WriteString(line + "\n")
			}
		}
		golden(t, "frames-"+l.name+".txt", b.String())
	}
}

// TestWaitingStopsTheClock: a block that waits for the machine comes no nearer to its end.
func TestWaitingStopsTheClock(t *testing.T) {
	s := newState(quick)
	event := func(secs float64, typ engine.EventType, change func(*engine.Event)) {
		e := engine.Event{Time: at(secs), Type: typ, Node: "run", Kind: "run"}
		if change != nil {
			change(&e)
		}
		s.apply(e)
	}
	event(0, engine.BlockStarted, func(e *engine.Event) { e.Block, e.Blocks, e.Expected = 1, 1, 100 })
	event(10, engine.NodeWaiting, func(e *engine.Event) { e.Message = "pid 1" })
	event(400, engine.NodeWaiting, func(e *engine.Event) { e.Message = "pid 2" })
	if left := s.left(at(500)).left.Seconds(); left != 90 {
		t.Errorf("%v s left while waiting, want 90", left)
	}
	event(1000, engine.NodeProgress, func(e *engine.Event) { e.Progress = &engine.Progress{What: "boot 17.0"} })
	if left := s.left(at(1020)).left.Seconds(); left != 70 {
		t.Errorf("%v s left after waiting, want 70", left)
	}
}

func TestFrameHeight(t *testing.T) {
	for h := 1; h < 12; h++ {
		lines := tree{width: 79, height: h}.frame(after(340), at(340))
		if len(lines) > h {
			t.Errorf("height %d: %d lines", h, len(lines))
		}
	}
}

func TestPlain(t *testing.T) {
	var out bytes.Buffer
	p := makePlain(&out, quick)
	next := 0.0
	for _, e := range story() {
		for ; at(next).Before(e.Time); next++ {
			p.beat(at(next))
		}
		p.Event(e)
	}
	close(p.done)
	p.Close()
	golden(t, "plain.txt", out.String())
}

func TestJSONLines(t *testing.T) {
	var out bytes.Buffer
	s := New("json", quick, &out)
	for _, e := range story() {
		s.Event(e)
	}
	s.Close()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(story()) {
		t.Fatalf("%d lines for %d events", len(lines), len(story()))
	}
	for i, line := range lines {
		var e engine.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if want := story()[i]; e.Type != want.Type || !e.Time.Equal(want.Time) || e.Node != want.Node {
			t.Errorf("line %d is %v, want %v", i+1, e, want)
		}
	}
	if strings.Contains(out.String(), "joe:secret") {
		t.Error("a password went out")
	}
}

// screen is a terminal of a given width that knows what the painter uses: line feeds, CR, cursor up, erase to the end of line and screen.
type screen struct {
	width int
	rows  []string
	row   int
}

func (s *screen) write(text string) {
	for text != "" {
		var n int
		switch {
		case strings.HasPrefix(text, "\x1b["):
			end := strings.IndexAny(text, "AKJ")
			s.control(text[2:end], text[end])
			text = text[end+1:]
			continue
		case text[0] == '\n':
			s.row++
		case text[0] == '\r':
		default:
			n = strings.IndexAny(text, "\x1b\n\r")
			s.put(text[:n])
			text = text[n:]
			continue
		}
		text = text[1:]
	}
}

func (s *screen) put(text string) {
	for ansi.StringWidth(text) > s.width {
		s.set(ansi.Truncate(text, s.width, ""))
		text = ansi.TruncateLeft(text, s.width, "")
		s.row++
	}
	s.set(text)
}

func (s *screen) set(text string) {
	for len(s.rows) <= s.row {
		s.rows = append(s.rows, "")
	}
	s.rows[s.row] = text // the painter always writes from the first column
}

func (s *screen) control(arg string, verb byte) {
	switch verb {
	case 'A':
		n := 0
		_, _ = fmt.Sscan(arg, &n)
		s.row = max(0, s.row-n)
	case 'J':
		s.rows = s.rows[:min(s.row, len(s.rows))]
	}
}

// TestRepaint follows a run on a terminal that shrinks: at every step the screen shows the last frame once, below what was printed above it.
func TestRepaint(t *testing.T) {
	sc := &screen{width: 100}
	var out bytes.Buffer
	ui := &tty{out: &out, look: look{Unicode: true}, state: newState(quick), size: func() (int, int) { return sc.width, 40 }}
	var above []string
	for _, e := range story() {
		ui.Event(e)
		above = append(above, ui.above...)
		ui.repaint(e.Time)
		sc.write(out.String())
		out.Reset()
		want := append(append([]string{}, above...), tree{look: ui.look, width: sc.width - 1, height: 39}.frame(ui.state, e.Time)...)
		if got := strings.Join(sc.rows, "\n"); got != strings.Join(want, "\n") {
			t.Fatalf("after %s at %v:\n--- got\n%s\n--- want\n%s", e.Type, e.Time, got, strings.Join(want, "\n"))
		}
	}
	if len(above) < 2 {
		t.Errorf("nothing was kept above the tree: %q", above)
	}
}

// TestRepaintNarrower wraps the old frame over more rows, as terminals that reflow do.
func TestRepaintNarrower(t *testing.T) {
	old := []string{strings.Repeat("a", 79), "b"}
	got := repaintText(old, nil, []string{"c"}, 40)
	if want := "\x1b[3A\rc\x1b[K\n\x1b[J"; got != want {
		t.Errorf("repaint = %q, want %q", got, want)
	}
}

func TestNoControlSequencesFromOutside(t *testing.T) {
	s := newState(quick)
	s.apply(engine.Event{Time: at(0), Type: engine.NodeStarted, Node: "load", Kind: "load"})
	s.apply(engine.Event{Time: at(1), Type: engine.NodeProgress, Node: "load", Progress: &engine.Progress{What: "x\x1b[2J\x1b]0;title\x07y\nz"}})
	s.apply(engine.Event{Time: at(2), Type: engine.Warning, Message: "a\u009b2Jb\x00c"})
	for _, line := range (tree{width: 79}).frame(s, at(3)) {
		if strings.ContainsAny(line, "\x1b\x07\n\u009b\x00") {
			t.Errorf("control characters in %q", line)
		}
	}
}

func TestWords(t *testing.T) {
	for d, want := range map[float64]string{0: "0s", 59.4: "59s", 62: "1m02s", 7505: "2h05m"} {
		if got := clock(seconds(d)); got != want {
			t.Errorf("clock(%v) = %q, want %q", d, got, want)
		}
	}
	for d, want := range map[float64]string{2: "a moment", 12: "15s", 61: "2m", 5000: "1h25m"} {
		if got := about(seconds(d)); got != want {
			t.Errorf("about(%v) = %q, want %q", d, got, want)
		}
	}
	for v, want := range map[float64]string{812: "812", 12345: "12.3k", 4560000: "4.56M", 2e9: "2G", 150000: "150k"} {
		if got := short(v); got != want {
			t.Errorf("short(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestLive(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if live(f, func(string) string { return "xterm" }) {
		t.Error("a regular file is no terminal")
	}
	if unicodeLocale(func(k string) string { return map[string]string{"LC_ALL": "C", "LANG": "de_DE.UTF-8"}[k] }) {
		t.Error("LC_ALL=C wins over LANG")
	}
	if !unicodeLocale(func(k string) string { return map[string]string{"LANG": "C.UTF-8"}[k] }) {
		t.Error("C.UTF-8 is a Unicode locale")
	}
}

// TestTTYFromManyGoroutines is for the race detector: events come from everywhere while the painter paints.
func TestTTYFromManyGoroutines(t *testing.T) {
	var out syncBuffer
	ui := newTTY(&out, look{}, quick)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, e := range story() {
				ui.Event(e)
			}
		})
	}
	wg.Wait()
	ui.Close()
	ui.Close()
	if text := out.String(); !strings.Contains(text, "failed after") || !strings.HasSuffix(text, "\n\x1b[J") {
		t.Errorf("the last frame is not on the screen: %q", text)
	}
}

type syncBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// The forecast ends where the first of the two budgets does: blocks or time.
func TestForecastKeepsToTheTimeBudget(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		timeLeft float64
		want     time.Duration
	}{{0, 12 * time.Minute}, {3600, 12 * time.Minute}, {240, 4 * time.Minute}, {90, 2 * time.Minute}, {1, time.Minute}} {
		s := newState(quick)
		s.apply(engine.Event{Time: began, Type: engine.BlockStarted, Node: "run", Kind: "run", Block: 1, Blocks: 12, Expected: 60, TimeLeft: c.timeLeft})
		if got := s.left(began); got.left != c.want {
			t.Errorf("with %v s of the budget left: %v, want %v", c.timeLeft, got.left, c.want)
		}
	}
}

// TestRatesAreAgainstTheBase: the base stands first and has no ratio, whatever its name and whoever was measured first.
func TestRatesAreAgainstTheBase(t *testing.T) {
	for base, want := range map[string]string{
		"15.8": "15.8 11,234/s   17.0 27,345/s (2.43)",
		"17.0": "17.0 27,345/s   15.8 11,234/s (0.41)",
		"":     "15.8 11,234/s   17.0 27,345/s",
	} {
		s := newState(Experiment{Bases: map[string]string{"run": base}})
		for _, e := range story() {
			if !e.Time.After(at(255)) {
				s.apply(e)
			}
		}
		if got := (tree{width: 80}).rates(s.byID["run"]); got != want {
			t.Errorf("base %q: %q, want %q", base, got, want)
		}
	}
}
