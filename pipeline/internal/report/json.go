package report

import (
	"encoding/json"
	"io"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
	"pgpipeline/pipeline/internal/report/redact"
)

// JSONVersion is the version of the JSON report. It changes when a field changes its meaning or goes; new fields may come at any
// time. templates/report.schema.json documents it.
const JSONVersion = 1

// jsonReport has estimates and verdicts, without samples, histograms and series: those stay in the run's record.
type jsonReport struct {
	Version    int              `json:"version"`
	Tool       string           `json:"tool"`
	Run        string           `json:"run"`
	Status     string           `json:"status"`
	Started    time.Time        `json:"started"`
	Ended      time.Time        `json:"ended,omitzero"`
	Headline   string           `json:"headline"`
	Experiment jsonExperiment   `json:"experiment"`
	Host       engine.HostFacts `json:"host"`
	Stages     []jsonNode       `json:"stages"`
	Facets     []engine.Facet   `json:"facets"`
	Blocks     []jsonBlock      `json:"blocks"`
	Verdict    gate.Verdict     `json:"verdict"`
	Warnings   []string         `json:"warnings"`
}

type jsonExperiment struct {
	Name   string   `json:"name"`
	Doc    string   `json:"doc,omitempty"`
	Path   string   `json:"path"`
	SHA256 string   `json:"sha256"`
	Set    []string `json:"set,omitempty"`
}

type jsonNode struct {
	ID      string            `json:"id"`
	Kind    string            `json:"kind"`
	Key     string            `json:"key"`
	Status  string            `json:"status"`
	Reason  string            `json:"reason,omitempty"`
	Error   string            `json:"error,omitempty"`
	Seconds float64           `json:"seconds"`
	Facts   map[string]string `json:"facts,omitempty"`
}

type jsonBlock struct {
	Run      string    `json:"run"`
	Facet    string    `json:"facet"`
	Stage    string    `json:"stage"`
	Number   int       `json:"number"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"`
	Complete bool      `json:"complete"`
	Error    string    `json:"error,omitempty"`
}

func writeJSON(v *View, _ Input, w io.Writer) error {
	rec := v.Record
	out := jsonReport{Version: JSONVersion, Tool: rec.Tool, Run: rec.ID, Status: rec.Status, Started: rec.Started, Ended: rec.Ended,
		Headline: v.Headline, Host: rec.Host, Verdict: v.Verdict, Warnings: v.Warnings,
		Experiment: jsonExperiment{Name: v.Name, Doc: rec.Experiment.Doc, Path: rec.Experiment.Path, SHA256: rec.Experiment.SHA256}}
	for _, s := range rec.Experiment.Set {
		out.Experiment.Set = append(out.Experiment.Set, redact.Text(s))
	}
	for _, n := range rec.Nodes {
		out.Stages = append(out.Stages, jsonNode{ID: n.ID, Kind: n.Kind, Key: n.Key, Status: n.Status, Reason: redact.Text(n.Reason),
			Error: redact.Text(n.Error), Seconds: n.Seconds, Facts: redactMap(n.Facts)})
	}
	for _, f := range rec.Facets {
		out.Facets = append(out.Facets, redactFacet(f))
	}
	for _, b := range rec.Blocks {
		out.Blocks = append(out.Blocks, jsonBlock{Run: b.Run, Facet: b.Facet, Stage: b.Stage, Number: b.Number, Started: b.Started, Ended: b.Ended,
			Complete: b.Complete, Error: redact.Text(b.Error)})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func redactMap(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = redact.Value(k, v)
	}
	return out
}

// redactFacet returns a copy whose facts hold no secrets.
func redactFacet(f engine.Facet) engine.Facet {
	variants := make([]engine.VariantInfo, len(f.Variants))
	for i, v := range f.Variants {
		facts := make(map[string]map[string]string, len(v.Facts))
		for kind, m := range v.Facts {
			facts[kind] = redactMap(m)
		}
		v.Facts = facts
		variants[i] = v
	}
	f.Variants = variants
	return f
}
