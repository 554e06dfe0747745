package engine

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Readings are named numbers about one sample or one second. A week of samples has hundreds of thousands of them with the same few names,
// and a map for each would be most of the memory that judging takes; so the names are shared. In JSON they are an object.
// The zero Readings hold nothing.
type Readings struct {
	names  *[]string // sorted; shared by all readings that have the same
	values []float64
}

// readingNames holds the lists of names by their text.
var readingNames sync.Map

// NewReadings takes a copy of m.
func NewReadings(m map[string]float64) Readings {
	if len(m) == 0 {
		return Readings{}
	}
	names := slices.Sorted(maps.Keys(m))
	r := Readings{values: make([]float64, len(names))}
	for i, name := range names {
		r.values[i] = m[name]
	}
	shared, ok := readingNames.Load(strings.Join(names, "\x00"))
	if !ok {
		shared, _ = readingNames.LoadOrStore(strings.Join(names, "\x00"), &names)
	}
	r.names = shared.(*[]string)
	return r
}

// Map returns the numbers by name; nil when there are none.
func (r Readings) Map() map[string]float64 {
	if r.IsZero() {
		return nil
	}
	m := make(map[string]float64, len(r.values))
	for i, name := range *r.names {
		m[name] = r.values[i]
	}
	return m
}

// At returns the number of a name; 0 when there is none.
func (r Readings) At(name string) float64 {
	if r.IsZero() {
		return 0
	}
	if i := slices.Index(*r.names, name); i >= 0 { // a handful: quicker than a search
		return r.values[i]
	}
	return 0
}

// Names are sorted and not to be changed.
func (r Readings) Names() []string {
	if r.IsZero() {
		return nil
	}
	return *r.names
}

// Sum adds all numbers up.
func (r Readings) Sum() (sum float64) {
	for _, v := range r.values {
		sum += v
	}
	return sum
}

// IsZero reports that there are none.
func (r Readings) IsZero() bool { return len(r.values) == 0 }

// MarshalJSON writes an object.
func (r Readings) MarshalJSON() ([]byte, error) { return json.Marshal(r.Map()) }

// UnmarshalJSON reads an object.
func (r *Readings) UnmarshalJSON(text []byte) error {
	var m map[string]float64
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	*r = NewReadings(m)
	return nil
}
