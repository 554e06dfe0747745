package spec

import (
	"fmt"
	"strings"

	"pgpipeline/pipeline/internal/lang"
)

// Pos is a place in a file. Lines and columns count from 1, columns in characters. Line 0 means the file as a whole.
type Pos struct {
	File string
	Line int
	Col  int
}

func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Kind says what a Value is.
type Kind int

const (
	Null Kind = iota // nothing: an empty value, `null` or `~`
	Scalar
	Map
	List
)

// Value is one value of a YAML file. Scalars are text as written: types come from the field that takes them. Values are never
// changed once made; they are shared between fragments, cells and goroutines.
type Value struct {
	Pos
	Kind   Kind
	Text   string // of a Scalar; of an explicit Null "null" or "~"
	Quoted bool   // in quotes, or a block scalar
	Items  []*Value
	Keys   []Key // in the order of the file

	src      *source
	style    style
	template bool // it or something below it has `${`
}

// Key is one entry of a Map.
type Key struct {
	Name  string
	Pos   Pos
	Value *Value
}

// style is how a scalar was written; it is needed to find a character of its text in the file.
type style int

const (
	plain style = iota
	singleQuoted
	doubleQuoted
	literal
	folded
)

// Get returns the value of a key, or nil when v is no map or has no such key.
func (v *Value) Get(name string) *Value {
	if k := v.key(name); k != nil {
		return k.Value
	}
	return nil
}

func (v *Value) key(name string) *Key {
	if v == nil || v.Kind != Map {
		return nil
	}
	for i := range v.Keys {
		if v.Keys[i].Name == name {
			return &v.Keys[i]
		}
	}
	return nil
}

// Without returns v less some keys.
func (v *Value) Without(names ...string) *Value {
	if v == nil || v.Kind != Map {
		return v
	}
	out := *v
	out.Keys = nil
	for _, k := range v.Keys {
		if !contains(names, k.Name) {
			out.Keys = append(out.Keys, k)
		}
	}
	return &out
}

// Find returns the value at a path such as "settings.shared_buffers" or "steps.2.clients"; where the path leads further than
// the file, the deepest value on it that exists. It is nil only when v is nil.
func (v *Value) Find(path string) *Value {
	at := v
	for at != nil && path != "" {
		next, rest := at.step(path)
		if next == nil {
			break
		}
		at, path = next, rest
	}
	return at
}

// step follows the first element of a path. The longest key that fits wins, because keys may contain dots.
func (v *Value) step(path string) (*Value, string) {
	if v.Kind == List {
		first, rest, _ := strings.Cut(path, ".")
		for i := range v.Items {
			if fmt.Sprint(i) == first {
				return v.Items[i], rest
			}
		}
		return nil, ""
	}
	var best *Key
	for i, k := range v.Keys {
		if (path == k.Name || strings.HasPrefix(path, k.Name+".")) && (best == nil || len(k.Name) > len(best.Name)) {
			best = &v.Keys[i]
		}
	}
	if best == nil {
		return nil, ""
	}
	return best.Value, strings.TrimPrefix(path[len(best.Name):], ".")
}

// Errorf is an error about this value. hint is a next step, or "".
func (v *Value) Errorf(hint, format string, args ...any) *Error {
	return v.src.errorAt(v.Pos, hint, fmt.Sprintf(format, args...))
}

// exprError places an error of the expression language that occurred at an offset in v's text.
func (v *Value) exprError(err error) *Error {
	e, ok := err.(*lang.Error)
	if !ok {
		return v.Errorf("", "%v", err)
	}
	return v.src.errorAt(v.At(e.Offset), e.Hint, e.Msg)
}

// describe says what a value is, for messages.
func (v *Value) describe() string {
	switch v.Kind {
	case Map:
		return "a mapping"
	case List:
		return "a list"
	case Null:
		return "nothing"
	}
	return quote(v.Text)
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
