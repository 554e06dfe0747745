package engine

import "fmt"

// nameNodes gives every node an id that names only the axes which tell it from the other nodes of its stage.
func (p *planner) nameNodes() {
	byDecl := map[int][]*Node{}
	for _, n := range p.plan.Nodes {
		byDecl[n.decl] = append(byDecl[n.decl], n)
	}
	taken := map[string]bool{}
	for _, n := range append(append([]*Node(nil), p.plan.Nodes...), p.plan.Derived...) {
		name := p.exp.Stages[n.decl].ID
		if axes := n.cells[0].only(p.telling(byDecl[n.decl])); axes != "" {
			name += "[" + axes + "]"
		}
		for k := 2; taken[name]; k++ {
			name = fmt.Sprintf("%s~%d", name, k)
		}
		taken[name] = true
		n.ID = name
	}
}

// telling reports which axes have one value in all cells of each node: the others are those that the stage does not depend on.
func (p *planner) telling(nodes []*Node) func(axis string) bool {
	return func(axis string) bool {
		if !p.varying[axis] || len(nodes) < 2 {
			return false
		}
		for _, n := range nodes {
			want, _ := n.cells[0].value(axis)
			for _, c := range n.cells[1:] {
				if got, _ := c.value(axis); got != want {
					return false
				}
			}
		}
		return true
	}
}
