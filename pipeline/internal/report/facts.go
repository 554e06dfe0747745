package report

import (
	"sort"

	"pgpipeline/pipeline/internal/redact"
)

// FactRow is one fact of the variants: a setting, a flag, a version.
type FactRow struct {
	Kind, Name string
	Values     []FactValue // per variant
}

// FactValue is a variant's value; Differs from the base's.
type FactValue struct {
	Text    string
	Differs bool
}

// diffFacts compares what the stages reported about the variants: what differs, and what all have in common.
func diffFacts(f Facet) (differ, common []FactRow) {
	names := map[[2]string]bool{}
	for _, v := range f.Variants {
		for kind, facts := range v.Info.Facts {
			for name := range facts {
				names[[2]string{kind, name}] = true
			}
		}
	}
	keys := make([][2]string, 0, len(names))
	for k := range names {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		a, b := keys[i], keys[j]
		if ra, rb := kindRank(a[0]), kindRank(b[0]); ra != rb {
			return ra < rb
		}
		if a[0] != b[0] {
			return a[0] < b[0]
		}
		return a[1] < b[1]
	})
	for _, k := range keys {
		row, same := factRow(f, k[0], k[1])
		if same {
			common = append(common, row)
		} else {
			differ = append(differ, row)
		}
	}
	return differ, common
}

// kindRank orders the stages as they run; unknown ones come last, by name.
func kindRank(kind string) int {
	for i, k := range []string{"fetch", "build", "config", "load", "run"} {
		if k == kind {
			return i
		}
	}
	return 9
}

func factRow(f Facet, kind, name string) (row FactRow, same bool) {
	row, same = FactRow{Kind: kind, Name: name}, true
	base := ""
	for _, v := range f.Variants {
		if v.Base {
			base = v.Info.Facts[kind][name]
		}
	}
	for _, v := range f.Variants {
		value, known := v.Info.Facts[kind][name]
		differs := value != base
		same = same && !differs
		text := clean(redact.Value(name, value))
		if !known {
			text = "–"
		}
		row.Values = append(row.Values, FactValue{Text: text, Differs: differs})
	}
	return row, same
}
