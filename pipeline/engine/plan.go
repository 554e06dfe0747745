package engine

import (
	"context"
	"errors"
	"fmt"

	"pgpipeline/pipeline/internal/spec"
	"pgpipeline/pipeline/internal/store"
)

// Node states of a plan.
const (
	Cached   = "cached"   // an entry exists
	Pending  = "pending"  // has to run
	Unneeded = "unneeded" // has no entry, and nothing that is pending wants it
)

// A Node is one stage in one or more cells of the matrix. Cells whose recipes are equal share a node.
type Node struct {
	ID     string
	Kind   *Kind
	Stage  Stage
	Inputs []Edge
	Recipe string
	Key    string
	State  string
	Reason string // why it is not cached
	// Expected is the forecast in seconds when it has to run, learnt from earlier entries; 0: unknown.
	Expected float64
	replace  string // id of an entry that must not be used
	decl     int
	cells    []cell
}

// Edge is one input of a node.
type Edge struct {
	Take Take
	Node *Node
}

// A FacetPlan is the measuring of one facet: the variants, base first, and the nodes that each of them stands on.
type FacetPlan struct {
	Facet  Facet
	Stage  Measurer
	Kind   *Kind
	Recipe string             // the evidence key's pre-image
	inputs []map[string]*Node // by variant: kind -> node
}

// Plan is what a run will do.
type Plan struct {
	Experiment *spec.Experiment
	Host       HostFacts
	Nodes      []*Node // in dependency order; the measured and derived stages are not among them
	Facets     []*FacetPlan
	Derived    []*Node
	Pins       map[string]*Pin // every moving reference in use: what belongs in the lock file
	NewPins    bool            // Pins has something that the lock file lacked
	Warnings   []string
	store      *store.Store
}

// PlanOptions is what planning depends on besides the experiment.
type PlanOptions struct {
	Kinds  []Kind
	Host   HostFacts
	Base   string // directory of the experiment file, for relative sources
	Store  *store.Store
	Locks  map[string]Pin
	Locked bool            // refuse anything that the lock file lacks
	Update bool            // ignore the lock file and resolve anew
	Fresh  map[string]bool // kinds whose entries are not to be used
	AA     bool            // measure the base against a second copy of itself, and no candidate
}

// NewPlan expands the matrix, decodes and checks every stage, pins moving references, computes keys and looks them up. It
// writes nothing, and needs the network only for references that the lock file lacks.
func NewPlan(ctx context.Context, e *spec.Experiment, opt PlanOptions) (*Plan, error) {
	p := &planner{
		PlanOptions: opt, ctx: ctx, exp: e, cells: cells(e.Matrix), kinds: map[string]*Kind{},
		memo: map[string]*Node{}, byKey: map[string]*Node{}, names: map[string]names{},
		plan: &Plan{Experiment: e, Host: opt.Host, Pins: map[string]*Pin{}, store: opt.Store},
	}
	p.varying = varyingAxes(p.cells)
	if n := len(p.cells) * len(e.Stages); n > maxInstances {
		return nil, fmt.Errorf("%s: %d cells x %d stages is more than %d: split the experiment", e.Path, len(p.cells), len(e.Stages), maxInstances)
	}
	for i := range opt.Kinds {
		p.kinds[opt.Kinds[i].Name] = &opt.Kinds[i]
	}
	if len(p.cells) == 0 {
		return nil, errors.New("the matrix has no cells left: every combination is excluded")
	}
	if err := p.expand(); err != nil {
		return nil, err
	}
	p.nameNodes()
	p.lookUp()
	return p.plan, nil
}

// maxInstances bounds what planning may cost; the largest real experiments have some hundreds.
const maxInstances = 20_000

type planner struct {
	PlanOptions
	ctx     context.Context
	exp     *spec.Experiment
	kinds   map[string]*Kind
	cells   []cell
	varying map[string]bool
	names   map[string]names // by cell key
	memo    map[string]*Node // by stage declaration and cell
	byKey   map[string]*Node
	plan    *Plan
}

// expand makes the nodes of every stage in every cell.
func (p *planner) expand() error {
	var errs spec.Errors
	for i := range p.exp.Stages {
		kind := p.kinds[p.exp.Stages[i].Kind]
		err := p.expandStage(i, kind)
		var several spec.Errors
		var one *spec.Error
		switch {
		case err == nil:
		case errors.As(err, &several):
			errs = append(errs, several...)
		case errors.As(err, &one):
			errs = append(errs, one)
		default:
			return err
		}
		if len(errs) > 0 {
			return errs.Tidy() // later stages would only repeat it
		}
	}
	return nil
}

func (p *planner) expandStage(i int, kind *Kind) error {
	switch kind.Scope {
	case Measured:
		return p.facets(i, kind)
	case Derived:
		n, err := p.instance(i, p.cells[0])
		if err == nil {
			p.plan.Derived = append(p.plan.Derived, n)
		}
		return err
	}
	for _, c := range p.cells {
		if _, err := p.instance(i, c); err != nil {
			return err
		}
	}
	return nil
}

// instance returns the node of one stage in one cell, making it and its inputs when they are new.
func (p *planner) instance(i int, c cell) (*Node, error) {
	decl := &p.exp.Stages[i]
	c = c.with(decl.Pin)
	id := fmt.Sprint(i, "\x00", c.key())
	if n, ok := p.memo[id]; ok {
		return n, nil
	}
	n, err := p.build(i, c)
	if err != nil {
		return nil, err
	}
	if same, ok := p.byKey[n.Key]; ok && n.Kind.Scope != Derived {
		same.cells = append(same.cells, c)
		same.Inputs = joinEdges(same.Inputs, n.Inputs)
		n = same
	} else {
		p.byKey[n.Key] = n
		if n.Kind.Scope != Derived {
			p.plan.Nodes = append(p.plan.Nodes, n)
		}
	}
	p.memo[id] = n
	return n, nil
}

// joinEdges adds the inputs of a merged node: they have equal keys, or only a field of them counts and they differ otherwise.
func joinEdges(have, more []Edge) []Edge {
	for _, e := range more {
		known := false
		for _, h := range have {
			known = known || h.Node == e.Node
		}
		if !known {
			have = append(have, e)
		}
	}
	return have
}

func (p *planner) build(i int, c cell) (*Node, error) {
	decl := &p.exp.Stages[i]
	kind := p.kinds[decl.Kind]
	stage, params, err := p.decode(i, c)
	if err != nil {
		return nil, err
	}
	n := &Node{Kind: kind, Stage: stage, decl: i, cells: []cell{c}}
	if kind.Scope != Derived {
		if n.Inputs, err = p.inputs(i, c); err != nil {
			return nil, err
		}
	}
	if n.Recipe, err = p.recipe(n); err != nil {
		return nil, p.at(params, decl, err)
	}
	n.Key = keyOf(n.Recipe)
	return n, nil
}

// inputs finds what a stage takes: the nearest earlier stage of each kind, unless `needs` names another one.
func (p *planner) inputs(i int, c cell) ([]Edge, error) {
	decl := &p.exp.Stages[i]
	kind := p.kinds[decl.Kind]
	var edges []Edge
	for _, take := range kind.Takes {
		from, err := p.supplier(i, take)
		if err != nil {
			return nil, err
		}
		if from < 0 {
			continue
		}
		n, err := p.instance(from, c)
		if err != nil {
			return nil, err
		}
		edges = append(edges, Edge{Take: take, Node: n})
	}
	return edges, nil
}

// supplier is the index of the stage that an input comes from, or -1 for an optional one that is absent.
func (p *planner) supplier(i int, take Take) (int, error) {
	decl := &p.exp.Stages[i]
	for _, id := range decl.Needs {
		for j := range p.exp.Stages[:i] {
			if p.exp.Stages[j].ID == id && p.exp.Stages[j].Kind == take.Kind {
				return j, nil
			}
		}
	}
	for j := i - 1; j >= 0; j-- {
		if p.exp.Stages[j].Kind == take.Kind {
			return j, nil
		}
	}
	if take.Optional {
		return -1, nil
	}
	return 0, p.exp.ErrorAt(decl.Pos, fmt.Sprintf("stage %q needs an earlier stage %q, and there is none", decl.Kind, take.Kind),
		fmt.Sprintf("put `- %s: {...}` before it", take.Kind))
}
