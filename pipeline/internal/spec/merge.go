package spec

// Merge lays one value over another: maps key by key, all else as a whole. An explicit `null` in the overlay removes the key
// from the base; an empty value changes nothing. Neither argument is changed; either may be nil.
func Merge(base, over *Value) *Value {
	var m merger
	return m.merge(base, over)
}

// merger counts the keys that merging makes, so that fragments cannot add up to gigabytes.
type merger struct{ keys int }

func (m *merger) merge(base, over *Value) *Value {
	switch {
	case base == nil || base.Kind == Null:
		return over
	case over == nil || over.Kind == Null && over.Text == "":
		return base
	case base.Kind != Map || over.Kind != Map:
		return over
	}
	out := *over
	out.Keys = make([]Key, 0, len(base.Keys)+len(over.Keys))
	m.keys += len(base.Keys) + len(over.Keys)
	inBase, inOver := lookup(base), lookup(over)
	for _, k := range base.Keys {
		if o := inOver(k.Name); o != nil {
			if o.Value.removes() {
				continue
			}
			k = Key{Name: k.Name, Pos: o.Pos, Value: m.merge(k.Value, o.Value)}
		}
		out.Keys = append(out.Keys, k)
	}
	for _, k := range over.Keys {
		if !k.Value.removes() && inBase(k.Name) == nil {
			out.Keys = append(out.Keys, k)
		}
	}
	out.template = base.template || over.template
	return &out
}

// removes reports whether a value is an explicit null.
func (v *Value) removes() bool { return v.Kind == Null && v.Text != "" }

// lookup returns a function that finds keys by name, with an index when there are many.
func lookup(v *Value) func(name string) *Key {
	const few = 16
	if len(v.Keys) <= few {
		return v.key
	}
	index := make(map[string]*Key, len(v.Keys))
	for i := range v.Keys {
		index[v.Keys[i].Name] = &v.Keys[i]
	}
	return func(name string) *Key { return index[name] }
}
