package engine

import (
	"fmt"

	"pgpipeline/pipeline/internal/store"
)

// Summary is a plan as plain data, for people and for JSON.
type Summary struct {
	Experiment string         `json:"experiment"`
	Nodes      []NodeSummary  `json:"nodes"`
	Facets     []FacetSummary `json:"facets"`
	// Seconds is the forecast of all that has to run, measuring to the least number of blocks included; 0: unknown.
	Seconds float64 `json:"seconds"`
}

// NodeSummary is one node of a plan.
type NodeSummary struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Key      string   `json:"key"`
	State    string   `json:"state"`
	Reason   string   `json:"reason,omitempty"`
	Needs    []string `json:"needs,omitempty"`
	Expected float64  `json:"expected_seconds,omitempty"`
}

// FacetSummary is what will be measured of one facet.
type FacetSummary struct {
	ID          string   `json:"id"`
	EvidenceKey string   `json:"evidence_key"`
	Variants    []string `json:"variants"`
	Steps       int      `json:"steps"`
	MinBlocks   int      `json:"min_blocks"`
	MaxBlocks   int      `json:"max_blocks"`
	Recorded    int      `json:"recorded_blocks"` // complete blocks that earlier runs measured of the same thing
	Reason      string   `json:"reason,omitempty"`
	Seconds     float64  `json:"seconds_per_block"`
}

// BlocksText says in words how much is recorded and how much may be measured.
func (f FacetSummary) BlocksText() string {
	return fmt.Sprintf("%d blocks recorded, at least %d and at most %d wanted", f.Recorded, f.MinBlocks, f.MaxBlocks)
}

// Summary says what the plan will do. Recorded blocks are looked up among the runs.
func (p *Plan) Summary(runs *store.Runs) (Summary, error) {
	s := Summary{Experiment: p.Experiment.Name}
	for _, n := range p.Nodes {
		sum := NodeSummary{ID: n.ID, Kind: n.Kind.Name, Key: n.Key, State: n.State, Reason: n.Reason}
		for _, in := range n.Inputs {
			sum.Needs = append(sum.Needs, in.Node.ID)
		}
		if n.State == Pending {
			sum.Expected = n.Expected
			s.Seconds += n.Expected
		}
		s.Nodes = append(s.Nodes, sum)
	}
	for _, f := range p.Facets {
		sum, err := f.summary(runs)
		if err != nil {
			return s, err
		}
		s.Facets = append(s.Facets, sum)
		s.Seconds += sum.Seconds * float64(max(1, sum.MinBlocks-sum.Recorded))
	}
	return s, nil
}

func (f *FacetPlan) summary(runs *store.Runs) (FacetSummary, error) {
	sum := FacetSummary{ID: f.ID(), EvidenceKey: f.Facet.EvidenceKey, Steps: len(f.Facet.Steps), MinBlocks: f.Facet.MinBlocks,
		MaxBlocks: f.Facet.MaxBlocks, Seconds: f.Forecast(nil)}
	for _, v := range f.Facet.Variants {
		sum.Variants = append(sum.Variants, v.Name)
	}
	blocks, _, err := loadBlocks(runs, f.Facet.EvidenceKey)
	if err != nil {
		return sum, err
	}
	series := currentSeries(blocks)
	for _, b := range blocks {
		if b.Complete && b.Series == series {
			sum.Recorded++
		}
	}
	sum.Reason = f.whyNew(runs, sum.Recorded)
	return sum, nil
}

// whyNew says what changed since the stage was last measured, when nothing was measured of this very thing.
func (f *FacetPlan) whyNew(runs *store.Runs, recorded int) string {
	if recorded > 0 {
		return ""
	}
	for _, rec := range recentRecords(runs) {
		for _, old := range rec.Facets {
			if old.Stage != f.Facet.Stage || old.Name != f.Facet.Name || old.Recipe == "" {
				continue
			}
			if text := f.changes(old.Recipe); text != "" {
				return "since run " + rec.ID + ": " + text
			}
		}
	}
	return "never measured before"
}

// changes words the differences to the recipe of an earlier measurement.
func (f *FacetPlan) changes(old string) string {
	return wordChanges(differences(old, f.Recipe), func(name, was, now string) string {
		var variant int
		var kind string
		if n, _ := fmt.Sscanf(name, "variant %d %s", &variant, &kind); n == 2 && variant < len(f.Facet.Variants) {
			return fmt.Sprintf("%s of %s changed", kind, f.Facet.Variants[variant].Name)
		}
		return fmt.Sprintf("%s was %s, is %s", name, was, now)
	})
}

// Pending counts the nodes that have to run.
func (s Summary) Pending() int { return s.Count(Pending) }

// Count counts the nodes in one state.
func (s Summary) Count(state string) int {
	n := 0
	for _, node := range s.Nodes {
		if node.State == state {
			n++
		}
	}
	return n
}

// Explanation is why a node has the key it has, and what tells it from the nearest entry.
type Explanation struct {
	ID, State, Key, Recipe, Reason string
	Nearest                        string   // key of the nearest entry; "" when there is none
	Changes                        []string // "- old" and "+ new" lines
}

// Explain explains one node, or with an empty id every node that is not cached, and the facets.
func (p *Plan) Explain(id string) ([]Explanation, error) {
	var out []Explanation
	var known []string
	for _, n := range p.Nodes {
		known = append(known, n.ID)
		if n.ID != id && (id != "" || n.State != Pending) {
			continue
		}
		e := Explanation{ID: n.ID, State: n.State, Key: n.Key, Recipe: n.Recipe, Reason: n.Reason}
		if key, near, ok := p.store.Nearest(n.Kind.Name, n.Recipe); ok && n.State != Cached {
			e.Nearest, e.Changes = key, differences(near, n.Recipe)
		}
		out = append(out, e)
	}
	for _, f := range p.Facets {
		known = append(known, f.ID())
		if f.ID() == id {
			out = append(out, Explanation{ID: id, State: "measured anew in every run", Key: f.Facet.EvidenceKey, Recipe: f.Recipe})
		}
	}
	if len(out) == 0 && id != "" {
		return nil, fmt.Errorf("there is no node %q; the plan has %q", id, known)
	}
	return out, nil
}

// Graph is the plan as nodes and arrows.
type Graph struct {
	Nodes []NodeSummary
	Edges []GraphEdge
}

// GraphEdge is an arrow from what is made first to what takes it.
type GraphEdge struct{ From, To string }

// Graph returns the plan as nodes and arrows, the measured and derived stages included.
func (p *Plan) Graph() Graph {
	var g Graph
	for _, n := range p.Nodes {
		g.Nodes = append(g.Nodes, NodeSummary{ID: n.ID, State: n.State})
		for _, in := range n.Inputs {
			g.Edges = append(g.Edges, GraphEdge{in.Node.ID, n.ID})
		}
	}
	for _, f := range p.Facets {
		g.Nodes = append(g.Nodes, NodeSummary{ID: f.ID(), State: "measured"})
		for _, n := range f.nodes() {
			g.Edges = append(g.Edges, GraphEdge{n.ID, f.ID()})
		}
	}
	for _, n := range p.Derived {
		g.Nodes = append(g.Nodes, NodeSummary{ID: n.ID, State: "derived"})
		for _, f := range p.Facets {
			g.Edges = append(g.Edges, GraphEdge{f.ID(), n.ID})
		}
	}
	return g
}
