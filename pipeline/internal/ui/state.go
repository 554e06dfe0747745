package ui

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/redact"
)

// state is what is known of the run from its events so far. Its owner guards it.
type state struct {
	title    string // name of the experiment
	bases    map[string]string
	name     string // of the run
	began    time.Time
	ended    time.Time
	status   string
	order    []*node // in plan order
	byID     map[string]*node
	planned  bool // the plan is known
	warnings int
	lastWarn string
}

// node is one node of the plan as it stands.
type node struct {
	id, kind string
	status   string // "", "running", "waiting", "cached", "done", "failed", "skipped", "interrupted"
	reason   string // why it runs, why it failed, or for whom it waits
	began    time.Time
	ended    time.Time
	seconds  float64
	expected float64 // seconds, 0 unknown

	progress      *engine.Progress
	what          string    // of the progress
	whatBegan     time.Time // when the progress's subject last changed
	whatFrom      float64   // what was done by then
	block         int
	blocks        int
	steps         []string // of the block
	stepsDone     map[string]bool
	step          string
	rates         map[string]float64 // variant -> operations per second now
	base          string             // the variant that the others are compared with; "" unknown
	variants      []string           // that were measured, the base first
	judge         string             // where the verdicts stand
	waitBegan     time.Time
	blockBegan    time.Time // zero between blocks
	blockExpected float64   // seconds
	timeLeft      float64   // of the budget when the block began, seconds; 0: no limit
	blockTook     []float64 // seconds of the finished blocks
	log           []string  // last lines
}

const logLines = 12

func newState(experiment Experiment) *state {
	return &state{title: clean(experiment.Name), bases: experiment.Bases, byID: map[string]*node{}}
}

// apply folds one event into the state.
func (s *state) apply(e engine.Event) {
	if s.began.IsZero() {
		s.began = e.Time
	}
	if e.Run != "" && s.name == "" {
		s.name = e.Run
	}
	switch e.Type {
	case engine.PlanReady:
		s.plan(e.Nodes)
	case engine.Warning:
		s.warnings++
		s.lastWarn = clean(e.Message)
	case engine.RunFinished:
		s.finish(e)
	default:
		if e.Node != "" {
			s.node(e.Node, e.Kind).apply(e)
		}
	}
}

// plan lists what the run is made of. What the plan knows to be cached or unneeded is over before it begins.
func (s *state) plan(nodes []engine.NodeRecord) {
	for _, n := range nodes {
		known := s.node(n.ID, n.Kind)
		if n.Status == "cached" || n.Status == "unneeded" {
			known.status = n.Status
		}
	}
	s.planned = true
}

// finish ends the run, and what was still running with it.
func (s *state) finish(e engine.Event) {
	s.ended, s.status = e.Time, e.Status
	for _, n := range s.order {
		if n.status == "running" || n.status == "waiting" {
			n.seconds, n.status = n.elapsed(e.Time).Seconds(), "done"
			if e.Status != "done" {
				n.status = "interrupted"
			}
		}
	}
}

func (s *state) node(id, kind string) *node {
	n := s.byID[id]
	if n == nil {
		n = &node{id: id, kind: kind, base: s.bases[id], stepsDone: map[string]bool{}, rates: map[string]float64{}}
		s.byID[id] = n
		s.order = slices.Insert(s.order, s.place(), n)
	}
	if n.kind == "" {
		n.kind = kind
	}
	if n.kind == "" {
		n.kind, _, _ = strings.Cut(id, "[")
	}
	return n
}

// place is where a new node belongs: measuring is not in the list of the plan, and comes before what waits for it.
func (s *state) place() int {
	i := len(s.order)
	for s.planned && i > 0 && s.order[i-1].status == "" {
		i--
	}
	return i
}

func (n *node) apply(e engine.Event) {
	switch e.Type {
	case engine.NodeStarted:
		n.status, n.began, n.reason, n.expected = "running", e.Time, clean(e.Reason), e.Expected
	case engine.NodeWaiting:
		if n.status != "waiting" {
			n.waitBegan = e.Time
		}
		n.status, n.reason = "waiting", clean(e.Message)
	case engine.NodeProgress:
		n.advance(e)
	case engine.NodeFinished:
		n.finish(e)
	case engine.NodeLog:
		n.log = append(n.log, clean(e.Message))
		n.log = n.log[max(0, len(n.log)-logLines):]
	case engine.BlockStarted:
		n.startBlock(e)
	case engine.BlockFinished:
		n.endBlock(e)
	}
}

// endBlock keeps where the verdicts stand. The judge's last word, "decided", comes without a block of its own.
func (n *node) endBlock(e engine.Event) {
	n.judge = clean(e.Message)
	if !n.blockBegan.IsZero() {
		n.blockTook = append(n.blockTook, e.Time.Sub(n.blockBegan).Seconds())
	}
	n.blockBegan = time.Time{}
	if e.Status == "decided" {
		n.seconds, n.status, n.ended = n.elapsed(e.Time).Seconds(), "done", e.Time
	}
}

func (n *node) startBlock(e engine.Event) {
	n.block, n.blocks, n.steps = e.Block, e.Blocks, e.Steps
	n.step, n.stepsDone, n.rates = "", map[string]bool{}, map[string]float64{}
	n.blockBegan, n.blockExpected, n.timeLeft, n.progress = e.Time, e.Expected, e.TimeLeft, nil
	if n.status != "running" {
		n.status = "running"
	}
	if n.began.IsZero() {
		n.began = e.Time
	}
}

// advance takes a progress report.
func (n *node) advance(e engine.Event) {
	p := e.Progress
	if p == nil {
		return
	}
	n.resume(e.Time)
	if n.began.IsZero() {
		n.began = e.Time
	}
	if n.progress == nil || p.What != n.progress.What && p.Total != n.progress.Total || p.Done < n.progress.Done {
		n.whatBegan, n.whatFrom = e.Time, p.Done
	}
	n.progress, n.what = p, clean(p.What)
	if n.block > 0 {
		n.measure(p)
	}
}

// resume ends a wait. The time that it took is no part of the block's.
func (n *node) resume(now time.Time) {
	if n.status == "waiting" && !n.blockBegan.IsZero() {
		n.blockBegan = n.blockBegan.Add(now.Sub(n.waitBegan))
	}
	n.status = "running"
}

// measure reads what a measuring node works on: "STEP on VARIANT", with "warm up " in front while the result is not counted.
func (n *node) measure(p *engine.Progress) {
	step, variant, ok := strings.Cut(strings.TrimPrefix(n.what, warmUp), " on ")
	if !ok || len(n.steps) > 0 && !slices.Contains(n.steps, step) {
		n.step = ""
		return
	}
	if step != n.step {
		n.step = step
		n.stepsDone[step] = true
		clear(n.rates)
	}
	if p.Rate > 0 {
		if !slices.Contains(n.variants, variant) {
			n.variants = append(n.variants, variant)
			slices.SortFunc(n.variants, func(a, b string) int {
				if (a == n.base) != (b == n.base) {
					return map[bool]int{true: -1, false: 1}[a == n.base]
				}
				return strings.Compare(a, b)
			})
		}
		n.rates[variant] = p.Rate
	}
}

const warmUp = "warm up "

func (n *node) finish(e engine.Event) {
	n.status, n.ended, n.seconds = e.Status, e.Time, e.Seconds
	if e.Reason != "" {
		n.reason = clean(e.Reason)
	}
	if e.Message != "" && e.Status == "failed" {
		n.reason = clean(e.Message)
	}
}

// over reports whether nothing more will come of the node.
func (n *node) over() bool {
	switch n.status {
	case "", "running", "waiting":
		return false
	}
	return true
}

// elapsed is how long the node has run.
func (n *node) elapsed(now time.Time) time.Duration {
	switch {
	case n.over():
		return time.Duration(n.seconds * float64(time.Second))
	case n.began.IsZero():
		return 0
	}
	return now.Sub(n.began)
}

// fraction is how much of the node's work (or of the current block) is done, from 0 to 1; ok is false when it is unknown.
func (n *node) fraction(now time.Time) (f float64, ok bool) {
	if n.block > 0 {
		if n.blockExpected > 0 && !n.blockBegan.IsZero() {
			return min(now.Sub(n.blockBegan).Seconds()/n.blockExpected, 0.99), true
		}
		return 0, false
	}
	if p := n.progress; p != nil && p.Total > 0 {
		return clamp(p.Done / p.Total), true
	}
	if n.expected > 0 && n.status == "running" {
		return min(n.elapsed(now).Seconds()/n.expected, 0.99), true
	}
	return 0, false
}

// forecast is what can be said about the time that is left.
type forecast struct {
	left   time.Duration
	known  bool
	atMost bool // the budget's end; a verdict may come sooner
}

// left is the forecast of the time until the node ends. What earlier runs took wins while it is plausible; then the
// speed of the current progress speaks.
func (n *node) left(now time.Time) forecast {
	switch elapsed := n.elapsed(now).Seconds(); {
	case n.over():
		return forecast{known: true}
	case n.block > 0:
		return n.blocksLeft(now)
	case n.expected > elapsed:
		return forecast{left: seconds(n.expected - elapsed), known: true}
	}
	rest, ok := n.restOfProgress(now)
	return forecast{left: seconds(rest), known: ok}
}

// blocksLeft is the rest of this block and of all that the budget allows.
func (n *node) blocksLeft(now time.Time) forecast {
	if n.blockExpected <= 0 {
		return forecast{}
	}
	rest := 0.0
	if !n.blockBegan.IsZero() {
		if n.status == "waiting" {
			now = n.waitBegan
		}
		rest = max(0, n.blockExpected-now.Sub(n.blockBegan).Seconds())
	}
	each := n.blockExpected
	if len(n.blockTook) > 0 {
		each = mean(n.blockTook)
	}
	more := float64(max(0, n.blocks-n.block))
	if n.timeLeft > 0 && each > 0 { // a block begins while there is time, and is then measured whole
		more = min(more, math.Ceil(max(0, n.timeLeft-n.blockExpected)/each))
	}
	return forecast{left: seconds(rest + more*each), known: true, atMost: more > 0}
}

// restOfProgress extrapolates the current progress, in seconds. It is unknown at the beginning of a part, and when a part is done:
// nobody knows what comes after it.
func (n *node) restOfProgress(now time.Time) (float64, bool) {
	p := n.progress
	if p == nil || p.Total <= 0 || p.Done >= p.Total || n.status != "running" {
		return 0, false
	}
	took, done := now.Sub(n.whatBegan).Seconds(), p.Done-n.whatFrom
	if done <= 0 || took < 1 {
		return 0, false
	}
	return (p.Total - p.Done) * took / done, true
}

// left is the forecast for the whole run: the sum over its open nodes, known only when each of them is. While something is
// measured, what waits for it (a comparison) counts for nothing.
func (s *state) left(now time.Time) forecast {
	sum := forecast{known: true}
	measuring := s.measuring()
	for _, n := range s.order {
		if measuring && n.status == "" {
			continue
		}
		f := n.left(now)
		if !f.known {
			return forecast{}
		}
		sum.left += f.left
		sum.atMost = sum.atMost || f.atMost
	}
	return sum
}

// measuring reports whether a block is under way.
func (s *state) measuring() bool {
	return slices.ContainsFunc(s.order, func(n *node) bool { return n.block > 0 && !n.over() })
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

// clean makes foreign text safe to show on a terminal: no secrets, no control sequences, one line.
func clean(text string) string {
	text = redact.Text(ansi.Strip(text))
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, text))
}

func clamp(f float64) float64 { return max(0, min(1, f)) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
