package imports

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgpipeline/pipeline/engine"
)

// StageName is the stage that imported facets name.
const StageName = "import"

// Record makes the record of run id. Each repetition becomes a block.
func (s *Set) Record(id string, opt Options) *engine.Record {
	now := time.Now()
	rec := &engine.Record{Version: engine.RecordVersion, ID: id, Started: now, Ended: now, Status: "done",
		Experiment: engine.ExperimentInfo{Name: opt.Name, Doc: "imported results of " + opt.Format, Asserts: []engine.Assertion{}},
		Host:       engine.HostFacts{CPUs: s.CPUs, CPUModel: s.CPUModel, MachineID: "imported"}, Vars: map[string]string{}}
	f := s.facet(id, opt)
	rec.Facets = []engine.Facet{f}
	for _, v := range s.Variants {
		rec.Nodes = append(rec.Nodes, engine.NodeRecord{ID: nodeID(v), Kind: StageName, Key: f.EvidenceKey, Status: "done", Started: now, Facts: v.Facts})
	}
	rec.Blocks = s.blocks(id, f, now)
	rec.Warnings = append(s.Warnings, s.caveats(opt)...)
	return rec
}

func nodeID(v Variant) string { return StageName + "[" + v.Name + "]" }

// facet compares all variants that were imported together.
func (s *Set) facet(id string, opt Options) engine.Facet {
	f := engine.Facet{Stage: StageName, Cell: map[string]string{}, MinBlocks: 1, MaxBlocks: 1}
	for i, v := range s.Variants {
		f.Variants = append(f.Variants, engine.VariantInfo{Name: v.Name, Base: i == 0, Cell: map[string]string{"imported": v.Name},
			Facts: map[string]map[string]string{StageName: v.Facts}, Nodes: map[string]string{StageName: nodeID(v)}})
	}
	for _, step := range s.steps() {
		f.Steps = append(f.Steps, s.step(step, opt))
	}
	f.Recipe = s.recipe(id, opt)
	sum := sha256.Sum256([]byte(f.Recipe))
	f.EvidenceKey = hex.EncodeToString(sum[:])
	return f
}

func (s *Set) step(name string, opt Options) engine.StepInfo {
	info := engine.StepInfo{Name: name, Class: "whole", Operations: []string{}, Groups: []string{}}
	for _, r := range s.Results {
		if r.Step == name {
			info.Unit, info.Clients, info.Seconds = r.Unit, r.Clients, r.Seconds
			break
		}
	}
	if opt.Groups != nil {
		if groups := opt.Groups(name); groups != nil {
			info.Groups = groups
		}
	}
	return info
}

// recipe says what was imported. The run's id is in it: the same files imported again are not more evidence.
func (s *Set) recipe(id string, opt Options) string {
	lines := []string{"kind: import", "as: " + opt.Format}
	for i, v := range s.Variants {
		lines = append(lines, fmt.Sprintf("variant %d: %s", i, v.Name))
		for _, file := range slices.Sorted(maps.Keys(v.Files)) {
			lines = append(lines, fmt.Sprintf("variant %d file %s: %s", i, file, v.Files[file]))
		}
	}
	return strings.Join(append(lines, "machine: not known; imported by run "+id), "\n") + "\n"
}

func (s *Set) blocks(id string, f engine.Facet, now time.Time) []engine.BlockRecord {
	var out []engine.BlockRecord
	for _, r := range s.Results {
		for len(out) <= r.Repeat {
			out = append(out, engine.BlockRecord{Run: id, Stage: f.Stage, Facet: f.Name, EvidenceKey: f.EvidenceKey, Number: len(out) + 1,
				Started: now, Ended: now, Complete: true})
		}
		b := &out[r.Repeat]
		b.Measurements = append(b.Measurements, r.measurement(now))
	}
	return out
}

func (r Result) measurement(now time.Time) engine.Measurement {
	cost := maps.Clone(r.Cost)
	if len(cost) > 0 {
		cost[engine.CostOperations] = r.Ops
	}
	return engine.Measurement{Step: r.Step, Variant: r.Variant, Class: "whole", Unit: r.Unit, Clients: r.Clients, Cost: cost, Notes: r.Notes,
		Samples: []engine.Sample{{Start: now, Seconds: r.Seconds, Ops: r.Ops, Events: r.Events, Errors: r.Errors, Retries: r.Retries,
			MaxSeconds: r.MaxSeconds, ServerCPU: cost[engine.CostServerCPU]}}}
}

// caveats are what every report of imported figures has to say.
func (s *Set) caveats(opt Options) []string {
	most := map[string]int{}
	for _, r := range s.Results {
		most[r.Variant] = max(most[r.Variant], r.Repeat+1)
	}
	least := 0
	for _, n := range most {
		if least == 0 || n < least {
			least = n
		}
	}
	out := []string{"imported: the variants were not measured side by side; drift of the machine between them is in every ratio"}
	if least == 1 {
		out = append(out, "one measurement per variant says nothing of its own noise: no assertion with a limit passes on it")
	}
	if opt.Legacy {
		out = append(out, "legacy: costs from vmstat are averaged as the published tables do, 4 to 5 percent too low")
	}
	return out
}
