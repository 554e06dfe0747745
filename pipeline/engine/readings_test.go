package engine

import (
	"encoding/json"
	"errors"
	"maps"
	"testing"
)

func TestReadingsInJSON(t *testing.T) {
	for _, text := range []string{`{}`, `{"env":{"steal":0.25}}`, `{"env":{"":-1.5e-7}}`, `{"env":{"a\"b":1,"c":2}}`, `{"env":{"a,}":1}}`, `{"env":{"cpu_busy":1,"dirty_bytes":123456789012,"steal":0}}`} {
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
	for _, text := range []string{`{"steal":"much"}`, `{"a":NaN}`, `{"a":0x1p4}`, `{"a":1_0}`, `{"a":1`, `{"a":}`, `{"a"}`} {
		var r Readings
		if err := json.Unmarshal([]byte(text), &r); err == nil {
			t.Errorf("%s was taken: %v", text, r.Map())
		}
	}
	for _, text := range []string{`{"b":1,"a":2}`, `{ "a" : 2, "b": 1 }`, "null", "{}"} {
		var r Readings
		var m map[string]float64
		if err := errors.Join(json.Unmarshal([]byte(text), &r), json.Unmarshal([]byte(text), &m)); err != nil || !maps.Equal(r.Map(), m) {
			t.Errorf("%s became %v, %v", text, r.Map(), err)
		}
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
