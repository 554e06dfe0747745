package engine

import (
	"fmt"
	"strings"
)

// lookUp finds out which nodes have entries, why the others have none, and which of those nobody needs: a build that is
// there needs no source.
func (p *planner) lookUp() {
	for _, n := range p.plan.Nodes {
		n.State, n.Reason = p.state(n)
	}
	wanted := map[*Node]bool{}
	var want func(n *Node)
	want = func(n *Node) {
		if wanted[n] {
			return
		}
		wanted[n] = true
		if n.State == Pending {
			for _, in := range n.Inputs {
				want(in.Node)
			}
		}
	}
	for _, n := range p.plan.sinks() {
		want(n)
	}
	for _, n := range p.plan.Nodes {
		if !wanted[n] && n.State == Pending {
			n.State, n.Reason = Unneeded, "nothing that has to run needs it"
		}
	}
}

// sinks are the nodes that are wanted for their own sake: what is measured, and what no other stage takes.
func (p *Plan) sinks() []*Node {
	taken := map[*Node]bool{}
	for _, n := range p.Nodes {
		for _, in := range n.Inputs {
			taken[in.Node] = true
		}
	}
	var out []*Node
	for _, n := range p.Nodes {
		if !taken[n] {
			out = append(out, n)
		}
	}
	for _, f := range p.Facets {
		out = append(out, f.nodes()...)
	}
	return out
}

func (p *planner) state(n *Node) (state, reason string) {
	if p.Fresh[n.Kind.Name] {
		if entry, _ := p.Store.Lookup(n.Key); entry != nil {
			n.replace = entry.ID
		}
		return Pending, fmt.Sprintf("--fresh %s", n.Kind.Name)
	}
	entry, why := p.Store.Lookup(n.Key)
	if entry != nil {
		n.Expected = entry.Seconds
		return Cached, ""
	}
	if why.Damaged {
		return Pending, "the cached entry is " + why.Text
	}
	return Pending, p.missReason(n)
}

// missReason says in one line what tells this node from the nearest entry.
func (p *planner) missReason(n *Node) string {
	key, nearest, ok := p.Store.Nearest(n.Kind.Name, n.Recipe)
	if !ok {
		return "never made before"
	}
	if entry, _ := p.Store.Lookup(key); entry != nil {
		n.Expected = entry.Seconds
	}
	changes := differences(nearest, n.Recipe)
	const alike = 16 // lines; beyond that the nearest entry is of something else
	switch {
	case len(changes) == 0:
		return "the entry was removed"
	case len(changes) > alike:
		return "nothing like it was made before"
	}
	return wordChanges(changes, func(name, was, now string) string {
		if kind, ok := strings.CutPrefix(name, "input "); ok && !strings.Contains(kind, ".") {
			return kind + " changed"
		}
		return fmt.Sprintf("%s was %s, is %s", name, was, now)
	})
}

// wordChanges puts the first few differing lines of two recipes into one line.
func wordChanges(lines []string, word func(name, was, now string) string) string {
	var parts []string
	for i := 0; i < len(lines); i++ {
		name, value, _ := strings.Cut(lines[i][2:], ": ")
		if strings.HasSuffix(name, ".#") || value == `""` && lines[i][0] == '+' {
			continue // the lines that were counted, and what was left empty, say nothing more
		}
		if strings.HasPrefix(lines[i], "- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+ "+name+": ") {
			_, now, _ := strings.Cut(lines[i+1], ": ")
			parts = append(parts, word(name, value, now))
			i++
			continue
		}
		parts = append(parts, lines[i])
	}
	const shown = 3
	if more := len(parts) - shown; more > 0 {
		parts = append(parts[:shown], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}
