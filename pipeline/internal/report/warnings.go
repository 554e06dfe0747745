package report

import (
	"fmt"
	"slices"
	"strings"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
)

// warnings gathers what a run warned of: every text once, with the places where it came up.
type warnings struct {
	order  []string
	places map[string][]string
	times  map[string]int
}

// warningPlaces is how many places are named.
const warningPlaces = 4

// buildWarnings gathers the warnings of the whole run in the order in which they first came up.
func buildWarnings(rec *engine.Record, verdict gate.Verdict) []string {
	w := &warnings{places: map[string][]string{}, times: map[string]int{}}
	for _, text := range append(append([]string{}, verdict.Warnings...), rec.Warnings...) {
		w.add("", text)
	}
	for _, n := range rec.Nodes {
		for _, text := range n.Warnings {
			w.add(n.ID, text)
		}
	}
	for _, b := range rec.Blocks {
		w.block(b)
	}
	list := make([]string, len(w.order))
	for i, text := range w.order {
		list[i] = w.text(text)
	}
	return list
}

func (w *warnings) add(place, text string) {
	text = strings.TrimSpace(clean(text))
	if text == "" {
		return
	}
	if w.times[text]++; w.times[text] == 1 {
		w.order = append(w.order, text)
	}
	if place = clean(place); place != "" && !slices.Contains(w.places[text], place) {
		w.places[text] = append(w.places[text], place)
	}
}

func (w *warnings) block(b engine.BlockRecord) {
	if !b.Complete {
		text := "the block was interrupted and does not count"
		if b.Error != "" {
			text = "the block does not count: " + b.Error
		}
		w.add(strings.TrimSpace(fmt.Sprintf("block %d %s", b.Number, b.Facet)), text)
	}
	if b.Serial {
		w.add("", "the servers did not fit into memory together: they ran one at a time")
	}
	for _, text := range b.Warnings {
		w.add("", text)
	}
	for _, m := range b.Measurements {
		place := m.Step + " on " + m.Variant
		for _, text := range m.Warnings {
			w.add(place, text)
		}
		if m.Invalid != "" {
			w.add(place, "not used: "+m.Invalid)
		}
		if m.Unsteady {
			w.add(place, "not steady after the warm-up")
		}
	}
}

// text is "PLACE: TEXT", or "TEXT: PLACE, PLACE and 12 more".
func (w *warnings) text(text string) string {
	places := w.places[text]
	switch {
	case len(places) == 0 && w.times[text] > 1:
		return fmt.Sprintf("%s (%d times)", text, w.times[text])
	case len(places) == 0:
		return text
	case len(places) == 1:
		return places[0] + ": " + text
	}
	shown := strings.Join(places[:min(len(places), warningPlaces)], ", ")
	if rest := len(places) - warningPlaces; rest > 0 {
		shown += fmt.Sprintf(" and %d more", rest)
	}
	return text + ": " + shown
}
