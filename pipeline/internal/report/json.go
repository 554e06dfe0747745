package report

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
	"pgpipeline/pipeline/internal/redact"
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
	out.Experiment.Set = rec.Experiment.Set
	for _, n := range rec.Nodes {
		out.Stages = append(out.Stages, jsonNode{ID: n.ID, Kind: n.Kind, Key: n.Key, Status: n.Status, Reason: n.Reason,
			Error: n.Error, Seconds: n.Seconds, Facts: n.Facts})
	}
	out.Facets = rec.Facets
	for _, b := range rec.Blocks {
		out.Blocks = append(out.Blocks, jsonBlock{Run: b.Run, Facet: b.Facet, Stage: b.Stage, Number: b.Number, Started: b.Started, Ended: b.Ended,
			Complete: b.Complete, Error: b.Error})
	}
	clean, err := withoutSecrets(out)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(clean)
}

// withoutSecrets returns a deep copy whose every string passed redact: the original still belongs to the record.
func withoutSecrets(in jsonReport) (jsonReport, error) {
	var out jsonReport
	text, err := json.Marshal(in)
	if err != nil {
		return out, fmt.Errorf("json: %w", err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return out, fmt.Errorf("json: %w", err)
	}
	redactAll(reflect.ValueOf(&out).Elem())
	return out, nil
}

// redactAll goes through structs, slices and maps and redacts strings in place; a map's key names its value.
func redactAll(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(redact.Text(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			redactAll(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			redactAll(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				redactAll(v.Field(i))
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			if value.Kind() == reflect.String {
				value.SetString(redact.Value(key.String(), value.String()))
			} else {
				redactAll(value)
			}
			v.SetMapIndex(key, value)
		}
	}
}
