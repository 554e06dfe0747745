package engine

import (
	"fmt"
	"strings"
)

// facets groups the cells of a measured stage into facets: cells that differ only in the axes named in `baseline` are
// compared with each other, and the base comes first.
func (p *planner) facets(i int, kind *Kind) error {
	compared := map[string]bool{}
	for axis := range p.exp.Baseline {
		compared[axis] = true
	}
	groups, order := map[string][]cell{}, []string{}
	for _, c := range p.measuredCells(i) {
		key := c.only(func(a string) bool { return !compared[a] })
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], c)
	}
	for _, key := range order {
		f, err := p.facet(i, kind, baseFirst(groups[key], p.exp.Baseline), compared)
		if err != nil {
			return err
		}
		p.plan.Facets = append(p.plan.Facets, f)
	}
	return nil
}

// measuredCells are the cells of a measured stage, with its pinned axes folded away.
func (p *planner) measuredCells(i int) []cell {
	var out []cell
	seen := map[string]bool{}
	for _, c := range p.cells {
		c = c.with(p.exp.Stages[i].Pin)
		if !seen[c.key()] {
			seen[c.key()] = true
			out = append(out, c)
		}
	}
	return out
}

func baseFirst(group []cell, baseline map[string]string) []cell {
	var out []cell
	for _, c := range group {
		if c.matches(baseline) {
			out = append([]cell{c}, out...)
		} else {
			out = append(out, c)
		}
	}
	return out
}

func (p *planner) facet(i int, kind *Kind, group []cell, compared map[string]bool) (*FacetPlan, error) {
	decl := &p.exp.Stages[i]
	name := facetName(group[0], compared, p.varying)
	if len(compared) > 0 && !group[0].matches(p.exp.Baseline) {
		return nil, p.exp.ErrorAt(p.exp.BaselinePos, fmt.Sprintf("the facet %q has no base cell: `exclude` drops it", name),
			"exclude the whole facet or keep its base")
	}
	f := &FacetPlan{Kind: kind}
	f.Facet = Facet{Name: name, Stage: decl.ID, Cell: map[string]string{}}
	for a, v := range group[0].asMap() {
		if !compared[a] {
			f.Facet.Cell[a] = v
		}
	}
	if p.AA {
		group = group[:1]
	}
	for _, c := range group {
		if err := p.addVariant(f, i, c, compared); err != nil {
			return nil, err
		}
	}
	if p.AA || f.Stage.Limits().Sentinel {
		f.addSentinel()
	}
	return f, p.finishFacet(f, i)
}

// addSentinel adds a second copy of the base, under the base's name with a prime.
func (f *FacetPlan) addSentinel() {
	twin := f.Facet.Variants[0]
	twin.Name, twin.Base, twin.Sentinel, twin.Nodes = twin.Name+"'", false, true, map[string]string{}
	f.Facet.Variants = append(f.Facet.Variants, twin)
	f.inputs = append(f.inputs, f.inputs[0])
}

// addVariant adds one compared cell to a facet. The client's side must be the same for all of them.
func (p *planner) addVariant(f *FacetPlan, i int, c cell, compared map[string]bool) error {
	decl := &p.exp.Stages[i]
	stage, _, err := p.decode(i, c)
	if err != nil {
		return err
	}
	m, ok := stage.(Measurer)
	if !ok {
		return fmt.Errorf("kind %q is measured but has no steps", decl.Kind)
	}
	name := variantName(c, compared, p.varying)
	if f.Stage == nil {
		f.Stage = m
	} else if !sameParams(f.Stage, m) {
		return p.exp.ErrorAt(decl.Pos, fmt.Sprintf("stage %q differs between the compared variants %q and %q: what the client does must be the same",
			decl.Kind, f.Facet.Variants[0].Name, name), "take the axis out of `baseline`: it is then a facet of its own")
	}
	edges, err := p.inputs(i, c)
	if err != nil {
		return err
	}
	inputs := map[string]*Node{}
	for _, e := range edges {
		inputs[e.Take.Kind] = e.Node
	}
	f.inputs = append(f.inputs, inputs)
	f.Facet.Variants = append(f.Facet.Variants, VariantInfo{Name: name, Base: len(compared) > 0 && c.matches(p.exp.Baseline),
		Cell: c.asMap(), Nodes: map[string]string{}})
	return nil
}

// finishFacet names the steps and computes the evidence key.
func (p *planner) finishFacet(f *FacetPlan, i int) error {
	decl := &p.exp.Stages[i]
	steps, err := f.Stage.Measures()
	if err != nil {
		return p.at(decl.Params, decl, err)
	}
	if p.measuredStages() > 1 {
		for k := range steps {
			steps[k].Name = decl.ID + "/" + steps[k].Name
		}
	}
	f.Facet.Steps = steps
	budget := f.Stage.Limits()
	f.Facet.MinBlocks, f.Facet.MaxBlocks = budget.MinBlocks, budget.MaxBlocks
	r := newRecipe(f.Kind)
	r.params("", f.Stage)
	if err := p.fingerprint(r, f.Stage); err != nil {
		return p.at(decl.Params, decl, err)
	}
	for k, v := range f.Facet.Variants {
		r.add(fmt.Sprintf("variant %d", k), v.Name)
		if len(f.Facet.Variants) == 1 {
			f.Facet.Variants[0].Base = true // alone, it is its own base: there is nothing else to say of it
		}
		for _, kind := range sortedKeys(f.inputs[k]) {
			r.add(fmt.Sprintf("variant %d %s", k, kind), f.inputs[k][kind].Key)
		}
	}
	r.add("machine", p.Host.MachineID)
	f.Recipe = r.text()
	f.Facet.Recipe, f.Facet.EvidenceKey = f.Recipe, keyOf(f.Recipe)
	return nil
}

func (p *planner) measuredStages() int {
	n := 0
	for _, d := range p.exp.Stages {
		if p.kinds[d.Kind].Scope == Measured {
			n++
		}
	}
	return n
}

// ID names the facet in events and logs: "run" or "run[clients=8]".
func (f *FacetPlan) ID() string {
	if f.Facet.Name == "" {
		return f.Facet.Stage
	}
	return f.Facet.Stage + "[" + f.Facet.Name + "]"
}

// localStep is a step's name inside its own stage: without the stage id that a second run stage puts before it.
func (f *FacetPlan) localStep(name string) string { return strings.TrimPrefix(name, f.Facet.Stage+"/") }

func (f *FacetPlan) qualified(name string) string {
	for _, s := range f.Facet.Steps {
		if s.Name == f.Facet.Stage+"/"+name {
			return s.Name
		}
	}
	return name
}

// nodes are all nodes that the facet's variants stand on.
func (f *FacetPlan) nodes() []*Node {
	var out []*Node
	seen := map[*Node]bool{}
	for _, inputs := range f.inputs {
		for _, kind := range sortedKeys(inputs) {
			if n := inputs[kind]; !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}
