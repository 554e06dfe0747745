package report

import (
	"slices"
	"strings"

	"pgpipeline/pipeline/internal/redact"
)

// htmlNote is a line of what the stage noted about a step: the case that was measured, rows changed, stalls. Alike says that all
// variants have the same text, which is then said once.
type htmlNote struct {
	Name  string
	Alike bool
	Texts []string // per variant, in their order
}

// htmlExcerpt is a note of several lines.
type htmlExcerpt struct{ Variant, Name, Text string }

// stepNotes are the notes of a step by name.
func stepNotes(f Facet, r Row, merged map[mergeKey]*Merged) (notes []htmlNote, excerpts []htmlExcerpt) {
	texts := map[string][]string{}
	for i, v := range f.Variants {
		m := merged[mergeKey{r.Name, v.Name}]
		if m == nil {
			continue
		}
		for name, text := range m.notes() {
			text = cleanLines(redact.Value(name, text))
			if strings.Contains(text, "\n") {
				excerpts = append(excerpts, htmlExcerpt{clean(v.Name), clean(name), text})
				continue
			}
			if texts[name] == nil {
				texts[name] = make([]string, len(f.Variants))
			}
			texts[name][i] = text
		}
	}
	for _, name := range sortedKeys(texts) {
		list := texts[name]
		alike := !slices.ContainsFunc(list, func(t string) bool { return t != list[0] })
		notes = append(notes, htmlNote{Name: clean(name), Alike: alike, Texts: list})
	}
	slices.SortStableFunc(excerpts, func(a, b htmlExcerpt) int { return strings.Compare(a.Name, b.Name) })
	return notes, excerpts
}

// notes are those of the stage, and whether the warm-up settled.
func (g *Merged) notes() map[string]string {
	if g.Unsteady == 0 {
		return g.Notes
	}
	all := map[string]string{"warm-up": "not steady in " + count(g.Unsteady, "block")}
	for k, v := range g.Notes {
		all[k] = v
	}
	return all
}
