package report

import (
	"fmt"
	"slices"
	"strings"

	"pgpipeline/pipeline/engine"
)

// Stage sums up the nodes of one kind.
type Stage struct {
	Kind    string
	Count   map[string]int // by status
	Seconds float64        // of those that ran
	Nodes   []engine.NodeRecord
	Note    string // for what is measured: it belongs to no node of the plan
}

func buildStages(rec *engine.Record) []Stage {
	var list []Stage
	index := map[string]int{}
	for _, n := range rec.Nodes {
		i, ok := index[n.Kind]
		if !ok {
			i = len(list)
			index[n.Kind] = i
			list = append(list, Stage{Kind: n.Kind, Count: map[string]int{}})
		}
		s := &list[i]
		s.Nodes = append(s.Nodes, n)
		s.Count[n.Status]++
		if n.Status != "cached" && n.Status != "unneeded" {
			s.Seconds += n.Seconds
		}
	}
	at := beforeDerived(list, rec.Facets)
	for _, f := range rec.Facets {
		if _, planned := index[f.Stage]; !planned {
			list = slices.Insert(list, at, Stage{Kind: f.Stage, Note: measuredText(rec, f)})
			at++
		}
	}
	return list
}

// beforeDerived is the place behind the last stage that a variant stands on: what comes later is made of measurements.
func beforeDerived(list []Stage, facets []engine.Facet) int {
	for i := len(list); i > 0; i-- {
		for _, f := range facets {
			for _, v := range f.Variants {
				if _, ok := v.Nodes[list[i-1].Kind]; ok {
					return i
				}
			}
		}
	}
	return len(list)
}

// measuredText says whose blocks the evidence of a facet is. A measurement never comes from the cache: blocks of earlier runs of
// the same thing are evidence, and are named as such.
func measuredText(rec *engine.Record, f engine.Facet) string {
	own, earlier := 0, 0
	for _, b := range rec.Blocks {
		switch {
		case b.Facet != f.Name || b.Stage != f.Stage || b.Series != f.Series || !b.Complete:
		case b.Run == rec.ID:
			own++
		default:
			earlier++
		}
	}
	text := count(own, "block") + " measured by this run"
	if earlier > 0 {
		text += fmt.Sprintf(", %d by earlier runs", earlier)
	}
	if f.Name != "" {
		text += " (" + f.Name + ")"
	}
	return text
}

// statuses in the order and the words in which they are told.
var statuses = []struct{ status, text string }{{"cached", "from the cache"}, {"unneeded", "not needed"}, {"done", "made"}, {"failed", "failed"},
	{"skipped", "skipped"}, {"interrupted", "interrupted"}, {"running", "running"}, {"pending", "pending"}, {"", "to do"}}

// Text says what became of a stage: "2 from the cache, 1 made in 3m12s".
func (s Stage) Text() string {
	if s.Note != "" {
		return s.Note
	}
	var parts []string
	for _, st := range statuses {
		n := s.Count[st.status]
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("%d %s", n, st.text)
		if st.status == "done" && s.Seconds > 0 {
			text += " in " + durationText(s.Seconds)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
