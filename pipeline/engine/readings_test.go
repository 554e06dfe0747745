package engine

import (
	"encoding/json"
	"maps"
	"testing"
)

func TestReadingsInJSON(t *testing.T) {
	for _, text := range []string{`{}`, `{"env":{"steal":0.25}}`, `{"env":{"cpu_busy":1,"dirty_bytes":123456789012,"steal":0}}`} {
		var s struct {
			Env Readings `json:"env,omitzero"`
		}
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(s)
		if err != nil || string(again) != text {
			t.Errorf("%s became %s, %v", text, again, err)
		}
	}
	var r Readings
	if err := json.Unmarshal([]byte(`{"steal":"much"}`), &r); err == nil {
		t.Error("text was taken for a number")
	}
}

// TestReadingsShareNames: what is the same in every sample is there once.
func TestReadingsShareNames(t *testing.T) {
	m := map[string]float64{"b": 2, "a": 1}
	one, two, other := NewReadings(m), NewReadings(maps.Clone(m)), NewReadings(map[string]float64{"a": 3})
	if one.names != two.names || one.names == other.names {
		t.Errorf("names %p, %p, %p", one.names, two.names, other.names)
	}
	m["a"] = 5
	if !maps.Equal(one.Map(), map[string]float64{"a": 1, "b": 2}) {
		t.Errorf("%v", one.Map())
	}
}
