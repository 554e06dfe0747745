package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"pgpipeline/pipeline/internal/redact"
	"pgpipeline/pipeline/internal/store"
)

// Info is what the record says about the experiment. set is the command line's --set.
func (p *Plan) Info(set []string) ExperimentInfo {
	e := p.Experiment
	info := ExperimentInfo{Name: e.Name, Doc: e.Doc, Path: e.Path, SHA256: e.SHA256, Text: redact.Text(string(e.Text)), Set: hidden(set),
		Groups: e.Groups, OnInconclusive: string(e.Gate.OnInconclusive)}
	for _, a := range e.Asserts {
		info.Asserts = append(info.Asserts, Assertion{Expr: a.Expr, Severity: a.Severity, Where: a.Where, Published: a.Published,
			File: a.Pos.File, Line: a.Pos.Line, Column: a.Pos.Col})
	}
	return info
}

// hidden masks values of --set that are named like secrets: `token=abc`. They do not belong on disk.
func hidden(set []string) []string {
	out := slices.Clone(set)
	for i, s := range out {
		if name, value, ok := strings.Cut(s, "="); ok {
			out[i] = name + "=" + redact.Value(name, value)
		}
	}
	return out
}

// FacetList is what will be measured, as the record keeps it.
func (p *Plan) FacetList() []Facet {
	out := make([]Facet, len(p.Facets))
	for i, f := range p.Facets {
		out[i] = f.Facet
	}
	return out
}

// Locks is what belongs in the lock file.
func (p *Plan) Locks() map[string]Pin {
	out := map[string]Pin{}
	for address, pin := range p.Pins {
		out[address] = *pin
	}
	return out
}

// newRecord is the record as it stands before anything has run: with the evidence of earlier runs.
func (x *executor) newRecord() (*Record, error) {
	rec := &Record{Version: RecordVersion, ID: x.dir.ID, Tool: x.Tool, Experiment: x.Info(x.Set), Host: x.Host,
		Started: time.Now(), Status: "running", Warnings: x.Warnings, Vars: map[string]string{}}
	if x.Resume != nil {
		rec.Started = x.Resume.Started
	}
	for _, v := range x.Experiment.Vars {
		rec.Vars[v.Name] = redact.Value(v.Name, v.Value.Text)
	}
	for _, f := range x.Facets {
		blocks, damage, err := loadBlocks(x.Runs, f.Facet.EvidenceKey)
		if err != nil {
			return nil, err
		}
		rec.Warnings = append(rec.Warnings, damage...)
		f.Facet.Series = currentSeries(blocks)
		if x.Fresh[f.Kind.Name] {
			f.Facet.Series = rec.ID
		}
		rec.Blocks = append(rec.Blocks, blocks...)
	}
	if err := x.adopt(rec); err != nil {
		return nil, err
	}
	for _, n := range append(slices.Clone(x.Nodes), x.Derived...) {
		rec.Nodes = append(rec.Nodes, x.nodeRecord(n))
	}
	rec.Facets = x.recordFacets()
	return rec, nil
}

// adopt stores the block in which the resumed run was killed, once.
func (x *executor) adopt(rec *Record) error {
	if x.Resume == nil || x.Resume.Open == nil || hasBlock(rec.Blocks, x.Resume.Open) {
		return nil
	}
	b := killed(*x.Resume.Open)
	rec.Blocks = append(rec.Blocks, b)
	return x.saveBlock(&b)
}

// killed is what is known of a block whose process died.
func killed(b BlockRecord) BlockRecord {
	b.Ended, b.Complete, b.Measurements = b.Started, false, nil
	b.Error = "the run was killed in this block"
	return b
}

func hasBlock(blocks []BlockRecord, b *BlockRecord) bool {
	return slices.ContainsFunc(blocks, func(have BlockRecord) bool { return have.Run == b.Run && have.Seed == b.Seed })
}

func (x *executor) nodeRecord(n *Node) NodeRecord {
	r := NodeRecord{ID: n.ID, Kind: n.Kind.Name, Key: n.Key, Status: n.State, Reason: n.Reason}
	for _, in := range n.Inputs {
		r.Needs = append(r.Needs, in.Node.ID)
	}
	if entry, _ := x.Store.Lookup(n.Key); entry != nil && n.State == Cached {
		r.Facts, r.Warnings = entry.Facts, entry.Warnings
	}
	return r
}

func (x *executor) recordFacets() []Facet {
	out := make([]Facet, len(x.Facets))
	for i, f := range x.Facets {
		out[i] = f.Facet
		for k := range out[i].Variants {
			for kind, n := range f.inputs[k] {
				out[i].Variants[k].Nodes[kind] = n.ID
			}
		}
	}
	return out
}

// currentSeries is the series of the latest block: runs continue it until --fresh run opens another.
func currentSeries(blocks []BlockRecord) string {
	if len(blocks) == 0 {
		return ""
	}
	return blocks[len(blocks)-1].Series
}

// updateNodes carries the plan's states into the record.
func (x *executor) updateNodes() {
	for _, n := range x.Nodes {
		x.update(n.ID, func(r *NodeRecord) { r.Status, r.Reason = n.State, n.Reason })
	}
}

// fillFacts copies what the stages reported into the variants that stand on them.
func (x *executor) fillFacts() {
	byNode := map[string]map[string]string{}
	for _, n := range x.record.Nodes {
		byNode[n.ID] = n.Facts
	}
	for i := range x.record.Facets {
		for k := range x.record.Facets[i].Variants {
			v := &x.record.Facets[i].Variants[k]
			v.Facts = map[string]map[string]string{}
			for kind, id := range v.Nodes {
				if facts := byNode[id]; len(facts) > 0 {
					v.Facts[kind] = facts
				}
			}
		}
	}
}

// save writes the record, without the blocks: each has a file of its own, so that a week-long run does not write all of them
// again after every block.
func (x *executor) save() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fillFacts()
	rec := *x.record
	rec.Blocks = nil
	text, err := json.MarshalIndent(rec, "", " ")
	if err != nil {
		return err
	}
	summary, err := json.Marshal(summarize(&rec, x.record.Blocks))
	if err != nil {
		return err
	}
	return x.dir.Save(redact.Bytes(text), redact.Bytes(summary))
}

func (x *executor) saveBlock(b *BlockRecord) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return x.dir.AppendBlock(b.EvidenceKey, redact.Bytes(text))
}

// LoadRecord reads the record of a run ("latest", an id, or a unique beginning of one) with the evidence as it was when the
// run ended. A run whose process died is shown as interrupted.
func LoadRecord(runs *store.Runs, id string) (*Record, error) {
	loaded, err := runs.Load(id)
	if err != nil {
		return nil, err
	}
	rec := &Record{}
	if loaded.Record == nil {
		return unwritten(loaded), nil
	}
	if err := json.Unmarshal(loaded.Record, rec); err != nil {
		return nil, fmt.Errorf("run %s: read the record: %w", loaded.ID, err)
	}
	if rec.Version > RecordVersion {
		return nil, fmt.Errorf("run %s: its record has version %d and this program knows %d: use a newer one", rec.ID, rec.Version, RecordVersion)
	}
	if loaded.Interrupted {
		rec.Status = "interrupted"
	}
	for _, f := range rec.Facets {
		blocks, damage, err := loadBlocks(runs, f.EvidenceKey)
		if err != nil {
			return nil, err
		}
		rec.Warnings = append(rec.Warnings, damage...)
		for _, b := range blocks {
			if b.Run == rec.ID || rec.Ended.IsZero() || !b.Ended.After(rec.Ended) {
				rec.Blocks = append(rec.Blocks, b)
			}
		}
	}
	if rec.Open != nil && !loaded.Live && !hasBlock(rec.Blocks, rec.Open) {
		rec.Blocks = append(rec.Blocks, killed(*rec.Open))
	}
	return rec, nil
}

// unwritten stands for the record of a run that died in the instant between its beginning and its first record. It can be
// shown and resumed like any other.
func unwritten(run *store.Loaded) *Record {
	rec := &Record{Version: RecordVersion, ID: run.ID, Status: "interrupted", Error: "the run died before it wrote a record"}
	if begun, err := time.Parse("20060102-150405", run.ID[:min(15, len(run.ID))]); err == nil {
		rec.Started = begun
	}
	return rec
}

// loadBlocks reads all blocks of one evidence key over all runs, in the order they were measured, and says which are damaged.
func loadBlocks(runs *store.Runs, key string) (blocks []BlockRecord, damage []string, err error) {
	var unreadable []string
	damage, err = runs.Blocks(key, func(file store.Block) {
		var b BlockRecord
		if err := json.Unmarshal(file.Data, &b); err != nil {
			unreadable = append(unreadable, fmt.Sprintf("block %s cannot be read: %v", file.Path, err))
		} else if b.EvidenceKey == key {
			for i := range b.Measurements {
				m := &b.Measurements[i]
				m.Samples, m.Series = slices.Clone(m.Samples), slices.Clone(m.Series) // decoding leaves room for a third more
			}
			blocks = append(blocks, b)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	damage = append(damage, unreadable...)
	sort.SliceStable(blocks, func(i, j int) bool { return blocks[i].Started.Before(blocks[j].Started) })
	return blocks, damage, nil
}

// RunSummary is a run in a listing: what can be said without reading its record.
type RunSummary struct {
	Experiment string    `json:"experiment"`
	Status     string    `json:"status"`
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended,omitzero"`
	Blocks     int       `json:"blocks"` // complete ones that this run measured
}

func summarize(r *Record, blocks []BlockRecord) RunSummary {
	s := RunSummary{Experiment: r.Experiment.Name, Status: r.Status, Started: r.Started, Ended: r.Ended}
	for _, b := range blocks {
		if b.Run == r.ID && b.Complete {
			s.Blocks++
		}
	}
	return s
}

// recentRecords are the last runs of this repository, newest first, without their blocks. Unreadable ones are left out.
func recentRecords(runs *store.Runs) []Record {
	const recent = 20
	list, err := runs.List()
	if err != nil {
		return nil
	}
	var out []Record
	for i := len(list) - 1; i >= 0 && len(out) < recent; i-- {
		loaded, err := runs.Load(list[i].ID)
		if err != nil || loaded.Record == nil {
			continue
		}
		var rec Record
		if json.Unmarshal(loaded.Record, &rec) == nil {
			out = append(out, rec)
		}
	}
	return out
}
