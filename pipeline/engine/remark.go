package engine

import (
	"fmt"
	"sort"

	"pgpipeline/pipeline/internal/spec"
)

// Remark is something about a plan that is worth saying and not wrong.
type Remark struct {
	Pos  spec.Pos
	Text string
}

// Sharable names the stages that make the same thing several times only because an axis changed an input that they could
// take from one cell: pinning the axis would share it.
func (p *Plan) Sharable() []Remark {
	byDecl := map[int][]*Node{}
	for _, n := range p.Nodes {
		if n.Kind.Scope == Host && n.Kind.Heavy && len(n.Inputs) > 1 {
			byDecl[n.decl] = append(byDecl[n.decl], n)
		}
	}
	var out []Remark
	for decl, nodes := range byDecl {
		d := p.Experiment.Stages[decl]
		for _, axis := range p.Experiment.Matrix.Axes {
			if _, pinned := d.Pin[axis.Name]; !pinned && sameRoots(nodes, axis.Name) {
				out = append(out, Remark{d.Pos, fmt.Sprintf("the values of axis %q come from one source, and each makes its own %s: `pin: {%s: %s}` beside it would share one",
					axis.Name, d.Kind, axis.Name, axis.Values[0].Text)})
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Text < out[j].Text })
	return out
}

// sameRoots reports whether two nodes that differ in an axis stand on the same nodes without inputs.
func sameRoots(nodes []*Node, axis string) bool {
	for i, a := range nodes {
		for _, b := range nodes[i+1:] {
			va, _ := a.cells[0].value(axis)
			vb, _ := b.cells[0].value(axis)
			if va != vb && root(a) == root(b) {
				return true
			}
		}
	}
	return false
}

// root follows the first inputs down to where they begin.
func root(n *Node) *Node {
	for len(n.Inputs) > 0 {
		n = n.Inputs[0].Node
	}
	return n
}

// Runner is a stage that runs programs, and says which.
type Runner interface{ Programs() []string }

// Programs lists the programs that running the experiment starts, in the order of the stages.
func (p *Plan) Programs() []string {
	var out []string
	seen := map[string]bool{}
	add := func(s Stage) {
		r, ok := s.(Runner)
		if !ok {
			return
		}
		for _, program := range r.Programs() {
			if !seen[program] {
				seen[program] = true
				out = append(out, program)
			}
		}
	}
	for _, n := range p.Nodes {
		add(n.Stage)
	}
	for _, f := range p.Facets {
		add(f.Stage)
	}
	return out
}
