package engine

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"pgpipeline/pipeline/stat"
)

func TestTenthsSurviveARecord(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	busy := make(Tenths, 36000) // an hour of 20,000 events a second
	for i := range busy {
		busy[i] = uint32(2000 + random.NormFloat64()*45)
	}
	for name, list := range map[string]Tenths{"empty": {}, "quiet": {0, 0, 0}, "ends of the range": {0, 1<<32 - 1, 0, 7}, "an hour": busy} {
		text, err := json.Marshal(map[string]Tenths{"insert": list})
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]Tenths
		if err := json.Unmarshal(text, &back); err != nil || !slices.Equal(back["insert"], list) {
			t.Errorf("%s: %d counts came back as %d, %v", name, len(list), len(back["insert"]), err)
		}
		if name == "an hour" && len(text) > 60_000 {
			t.Errorf("an hour takes %d bytes", len(text))
		}
	}
}

func TestDamagedTenths(t *testing.T) {
	for _, text := range []string{`"%"`, `"AAAA"`, `"YmFk"`} {
		var got Tenths
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s was read as %v", text, got)
		}
	}
	negative, err := Tenths{5}.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	if err := new(Tenths).UnmarshalText(negative[:len(negative)-4]); err == nil {
		t.Error("a text that was cut off was read")
	}
}

func TestStallsOfAMeasurement(t *testing.T) {
	list := func(n uint32, from, to int) Tenths {
		out := make(Tenths, 100)
		for i := range out {
			out[i] = n
		}
		clear(out[from:to])
		return out
	}
	m := Measurement{Ops: map[string]Operation{"insert": {Response: "x"}, "query": {}}, Tenths: map[string]Tenths{"insert": list(2, 40, 43), "query": list(50, 40, 45)},
		Series: []Second{{Ops: NewReadings(map[string]float64{"insert": 1000})}}}
	for operation, want := range map[string]float64{"insert": 0.3, "query": 0.5, "": 0.5} {
		if found, ok := m.Stalls(operation, 0.1); !ok || len(found) != 1 || found[0] != (stat.Stall{Start: 4, Seconds: want}) {
			t.Errorf("%q: %v, %v", operation, found, ok)
		}
	}
	m.Outputs = []string{"of a load generator, which draws the distances"}
	if found, ok := m.Stalls("insert", 0.1); !ok || len(found) > 0 {
		t.Errorf("two inserts by chance in a tenth: %v, %v", found, ok)
	}
	m.Tenths = nil
	for i := range 10 {
		m.Series = append(m.Series, Second{T: float64(i + 1), Ops: NewReadings(map[string]float64{"insert": float64(min(i, 1)) * 7, "query": 1})})
	}
	if found, ok := m.Stalls("insert", 0.1); !ok || len(found) != 1 || found[0].Seconds != 1 {
		t.Errorf("seconds: %v, %v", found, ok)
	}
}
