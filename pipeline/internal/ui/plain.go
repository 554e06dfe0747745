package ui

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"time"

	"pgpipeline/pipeline/engine"
)

// heartbeat is how long a running node may be silent in a plain log. Many CI systems end a job that is silent for minutes.
const heartbeat = 30 * time.Second

// plain prints one line per change, with the time in front, and a heartbeat for what takes long.
type plain struct {
	mu     sync.Mutex
	out    io.Writer
	state  *state
	spoken map[string]time.Time // node -> when a line about it was last printed
	cached map[string]int       // kind -> hits not yet printed
	kinds  []string             // of cached, in order

	once sync.Once
	quit chan struct{}
	done chan struct{}
}

func newPlain(w io.Writer, experiment Experiment) *plain {
	p := makePlain(w, experiment)
	go p.loop()
	return p
}

func makePlain(w io.Writer, experiment Experiment) *plain {
	return &plain{out: w, state: newState(experiment), spoken: map[string]time.Time{}, cached: map[string]int{},
		quit: make(chan struct{}), done: make(chan struct{})}
}

func (p *plain) loop() {
	defer close(p.done)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case now := <-tick.C:
			p.beat(now)
		}
	}
}

// Close prints what was held back.
func (p *plain) Close() {
	p.once.Do(func() {
		close(p.quit)
		<-p.done
		p.mu.Lock()
		defer p.mu.Unlock()
		p.flushCached(time.Now())
	})
}

// Event prints a line about e when it says something new.
func (p *plain) Event(e engine.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.apply(e)
	switch {
	case e.Type == engine.NodeFinished && e.Status == "cached":
		p.holdCached(p.state.node(e.Node, e.Kind).kind)
		return
	case e.Type == engine.PlanReady:
		defer p.flushCached(e.Time)
		for _, n := range e.Nodes {
			if n.Status == "cached" {
				p.holdCached(n.Kind)
			}
		}
		p.say(e.Time, "", p.text(e))
		return
	}
	text := p.text(e)
	if text == "" {
		return
	}
	p.flushCached(e.Time)
	p.say(e.Time, e.Node, text)
	if e.Type == engine.NodeFinished && e.Status == "failed" {
		for _, line := range p.state.node(e.Node, e.Kind).log {
			p.say(e.Time, e.Node, "| "+line)
		}
	}
}

// text is the line for an event, "" for the events that plain lines leave out: progress comes with the heartbeat.
func (p *plain) text(e engine.Event) string {
	switch e.Type {
	case engine.PlanReady:
		return p.state.heading() + ": " + planText(e.Nodes)
	case engine.NodeStarted:
		return withReason("started", e.Reason) + expectedText("took", e.Expected)
	case engine.NodeWaiting:
		return "waits for " + clean(e.Message)
	case engine.NodeFinished:
		return finishedText(e)
	case engine.BlockStarted:
		return fmt.Sprintf("block %d of at most %d started: %s", e.Block, e.Blocks, plural(len(e.Steps), "step")) + expectedText("takes", e.Expected)
	case engine.BlockFinished:
		if e.Status == "decided" {
			return withReason("no more blocks", e.Message)
		}
		return withReason(fmt.Sprintf("block %d %s", e.Block, orFinished(e.Status)), e.Message)
	case engine.Warning:
		return "warning: " + clean(e.Message)
	case engine.RunFinished:
		return withReason("run "+e.Status, e.Message)
	}
	return ""
}

// heading names the run and its experiment.
func (s *state) heading() string {
	if s.title != "" && s.name != "" {
		return "run " + s.name + " of " + s.title
	}
	return "plan of " + s.titled()
}

func orFinished(status string) string {
	if status == "" || status == "done" {
		return "finished"
	}
	return status
}

func finishedText(e engine.Event) string {
	reason := e.Reason
	if e.Status == "failed" && e.Message != "" {
		reason = e.Message
	}
	if e.Status == "done" {
		reason = ""
	}
	return withReason(e.Status+" after "+clock(seconds(e.Seconds)), reason)
}

func withReason(text, reason string) string {
	if reason = clean(reason); reason != "" {
		return text + ": " + reason
	}
	return text
}

func expectedText(verb string, expected float64) string {
	if expected <= 0 {
		return ""
	}
	return " (" + verb + " about " + about(seconds(expected)) + ")"
}

// planText counts the plan's nodes by kind: "3 fetch, 3 build, 1 run".
func planText(nodes []engine.NodeRecord) string {
	count := map[string]int{}
	var kinds []string
	for _, n := range nodes {
		if count[n.Kind] == 0 {
			kinds = append(kinds, n.Kind)
		}
		count[n.Kind]++
	}
	parts := make([]string, len(kinds))
	for i, k := range kinds {
		parts[i] = fmt.Sprintf("%d %s", count[k], k)
	}
	return strings.Join(parts, ", ")
}

// beat prints a line for every running node that was silent for a heartbeat.
func (p *plain) beat(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.state.order {
		if n.status != "running" && n.status != "waiting" {
			continue
		}
		if now.Sub(p.spoken[n.id]) >= heartbeat {
			p.say(now, n.id, p.beatText(n, now))
		}
	}
}

func (p *plain) beatText(n *node, now time.Time) string {
	if n.status == "waiting" {
		return "still waits for " + n.reason
	}
	parts := []string{"running for " + clock(n.elapsed(now))}
	if n.block > 0 {
		parts = append(parts, fmt.Sprintf("block %d of at most %d", n.block, n.blocks))
	}
	if n.what != "" {
		parts = append(parts, strings.TrimSpace(n.what+" "+amount(n.progress)))
	}
	if f, ok := n.fraction(now); ok {
		parts = append(parts, fmt.Sprintf("%.0f%%", f*100))
	}
	if r := rateList(n.rates); r != "" {
		parts = append(parts, r)
	}
	if text := n.left(now).text("about ", "at most "); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func rateList(rates map[string]float64) string {
	names := make([]string, 0, len(rates))
	for v := range rates {
		names = append(names, v)
	}
	sort.Strings(names)
	for i, v := range names {
		names[i] = v + " " + rate(rates[v]) + "/s"
	}
	return strings.Join(names, ", ")
}

func (p *plain) holdCached(kind string) {
	if p.cached[kind] == 0 {
		p.kinds = append(p.kinds, kind)
	}
	p.cached[kind]++
}

// flushCached prints the cache hits since the last line as one line.
func (p *plain) flushCached(now time.Time) {
	if len(p.kinds) == 0 {
		return
	}
	parts := make([]string, len(p.kinds))
	for i, k := range p.kinds {
		parts[i] = fmt.Sprintf("%d %s", p.cached[k], k)
	}
	p.kinds, p.cached = nil, map[string]int{}
	p.say(now, "", "from the cache: "+strings.Join(parts, ", "))
}

// say prints one line. Write errors are dropped: a log that went away is no reason to end a measurement.
func (p *plain) say(at time.Time, node, text string) {
	if node != "" {
		p.spoken[node] = at
		text = node + ": " + text
	}
	_, _ = fmt.Fprintf(p.out, "%s %s\n", at.Format("15:04:05"), text)
}
