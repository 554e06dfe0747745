package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"pgpipeline/pipeline/internal/lang"
)

// Limits of a file. A real experiment stays far below them.
const (
	maxBytes = 1 << 20
	maxDepth = 64
	maxNodes = 100_000
	// maxAliased is how many values aliases may add; ten lines of YAML can otherwise mean billions.
	maxAliased = 10_000
	// maxTemplates is how many texts may have ${ } in them.
	maxTemplates = 10_000
)

// Parse reads one YAML document. name is used for positions. Errors are Errors.
func Parse(name string, text []byte) (*Value, error) {
	root, _, err := parse(name, text)
	return root, err
}

func parse(name string, text []byte) (*Value, *source, error) {
	if len(text) > maxBytes {
		return nil, nil, Errors{{Pos: Pos{File: name}, Msg: fmt.Sprintf("the file has %d bytes, more than the %d that are allowed", len(text), maxBytes),
			Hint: "split it with include, or generate less"}}
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if err := checkCharacters(name, text); err != nil {
		return nil, nil, Errors{err}
	}
	src := newSource(name, string(text))
	node, err := readDocument(src, text)
	if err != nil {
		return nil, src, Errors{err}
	}
	r := &reader{src: src, done: map[*yaml.Node]*built{}}
	root := r.value(node, 1)
	if err := r.errs.Tidy(); err != nil {
		return nil, src, err
	}
	return root.Value, src, nil
}

// readDocument runs the YAML parser, which can panic on inputs that nobody writes by hand.
func readDocument(src *source, text []byte) (node *yaml.Node, err *Error) {
	defer func() {
		if p := recover(); p != nil {
			node, err = nil, &Error{Pos: Pos{File: src.name}, Msg: fmt.Sprintf("not valid YAML: %v", p)}
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	switch failed := decoder.Decode(&first); {
	case errors.Is(failed, io.EOF) || failed == nil && len(first.Content) == 0:
		return nil, &Error{Pos: Pos{File: src.name}, Msg: "the file is empty", Hint: "`pipeline init` writes a starter experiment"}
	case failed != nil:
		return nil, syntaxError(src, failed)
	}
	switch failed := decoder.Decode(&second); {
	case failed == nil:
		return nil, src.errorAt(Pos{src.name, max(second.Line, 1), max(second.Column, 1)}, "keep one document per file, and use include",
			"a second document begins here")
	case !errors.Is(failed, io.EOF):
		return nil, syntaxError(src, failed)
	}
	return first.Content[0], nil
}

// checkCharacters refuses bytes that are not UTF-8, and characters that make a file look other than it is.
func checkCharacters(name string, text []byte) *Error {
	line, col := 1, 1
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		if problem := badCharacter(r, size); problem != "" {
			at := Pos{name, line, col}
			return newSource(name, strings.ToValidUTF8(string(text), "\uFFFD")).errorAt(at, "", problem)
		}
		if r == '\n' {
			line, col = line+1, 0
		}
		i += size
		col++
	}
	return nil
}

func badCharacter(r rune, size int) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return "not UTF-8"
	case r < ' ' && r != '\t' && r != '\n' && r != '\r', r >= 0x7f && r < 0xa0, r == '\u2028', r == '\u2029', r == '\ufeff':
		return fmt.Sprintf("control character %U", r)
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return fmt.Sprintf("character %U, which makes text read in another order than it has", r)
	}
	return ""
}

// reader makes Values of YAML nodes.
type reader struct {
	src     *source
	done    map[*yaml.Node]*built
	nodes   int // made so far
	aliased int // added by aliases so far

	templates int // texts with ${ } so far
	errs      Errors
}

// built is a finished value with its size and height, aliases counted at full size.
type built struct {
	*Value
	size, height int
}

func (r *reader) fail(n *yaml.Node, hint, format string, args ...any) {
	if !r.errs.full() {
		r.errs = append(r.errs, r.src.errorAt(r.pos(n), hint, fmt.Sprintf(format, args...)))
	}
}

// pos is where a node begins. The parser places an empty value at the end of the file one line too far.
func (r *reader) pos(n *yaml.Node) Pos {
	if last := len(r.src.lines); n.Line > last {
		return Pos{r.src.name, last, utf8.RuneCountInString(r.src.lines[last-1]) + 1}
	}
	return Pos{r.src.name, n.Line, n.Column}
}

// value makes the value of a node at a depth. It always returns one, so that reading goes on after an error.
func (r *reader) value(n *yaml.Node, depth int) *built {
	out := &built{Value: &Value{Pos: r.pos(n), src: r.src}, size: 1, height: 1}
	if r.nodes++; r.nodes > maxNodes {
		if r.nodes == maxNodes+1 {
			r.fail(n, "", "the file has more than %d values", maxNodes)
		}
		return out
	}
	if depth > maxDepth {
		r.fail(n, "", "nested deeper than %d levels", maxDepth)
		return out
	}
	if n.Style&yaml.TaggedStyle != 0 {
		r.fail(n, "the type comes from the field that takes the value", "tag %q is not allowed", n.Tag)
		return out
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.alias(n, depth, out)
	case yaml.ScalarNode:
		r.scalar(n, out.Value)
	case yaml.SequenceNode:
		r.list(n, depth, out)
	case yaml.MappingNode:
		r.mapping(n, depth, out)
	}
	r.done[n] = out
	return out
}

func (r *reader) alias(n *yaml.Node, depth int, nothing *built) *built {
	target, ok := r.done[n.Alias]
	switch {
	case !ok:
		r.fail(n, "", "alias %q refers to itself", "*"+n.Value)
		return nothing
	case depth+target.height > maxDepth:
		r.fail(n, "", "nested deeper than %d levels through alias %q", maxDepth, "*"+n.Value)
		return nothing
	}
	if r.aliased += target.size; r.aliased > maxAliased {
		if r.aliased-target.size <= maxAliased {
			r.fail(n, "name a shared fragment once and use it with extends", "aliases add more than %d values", maxAliased)
		}
		return nothing
	}
	return target
}

func (r *reader) scalar(n *yaml.Node, v *Value) {
	v.Kind, v.Text = Scalar, n.Value
	switch {
	case n.Style&yaml.SingleQuotedStyle != 0:
		v.style = singleQuoted
	case n.Style&yaml.DoubleQuotedStyle != 0:
		v.style = doubleQuoted
	case n.Style&yaml.LiteralStyle != 0:
		v.style = literal
	case n.Style&yaml.FoldedStyle != 0:
		v.style = folded
	case n.Tag == "!!null":
		v.Kind = Null
	}
	v.Quoted = v.style != plain
	if v.template = v.Kind == Scalar && lang.HasTemplate(v.Text); v.template {
		if r.templates++; r.templates == maxTemplates+1 {
			r.fail(n, "", "more than %d texts with ${ }", maxTemplates)
		}
	}
}

func (r *reader) list(n *yaml.Node, depth int, out *built) {
	out.Kind = List
	for _, c := range n.Content {
		item := r.value(c, depth+1)
		out.Items = append(out.Items, item.Value)
		out.grow(item)
	}
}

func (b *built) grow(part *built) {
	b.size += part.size
	b.height = max(b.height, part.height+1)
	b.template = b.template || part.template
}

func (r *reader) mapping(n *yaml.Node, depth int, out *built) {
	out.Kind = Map
	seen := make(map[string]Pos, len(n.Content)/2)
	var merges []*built
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || k.Style&yaml.TaggedStyle != 0 && k.Tag != "!!merge" {
			r.fail(k, "", "a key must be a plain text")
			continue
		}
		if first, twice := seen[k.Value]; twice {
			r.fail(k, fmt.Sprintf("the first one is on line %d", first.Line), "duplicate key %q", k.Value)
			continue
		}
		seen[k.Value] = r.pos(k)
		value := r.value(n.Content[i+1], depth+1)
		out.grow(value)
		out.template = out.template || lang.HasTemplate(k.Value)
		if k.Tag == "!!merge" {
			merges = append(merges, value)
			continue
		}
		out.Keys = append(out.Keys, Key{Name: k.Value, Pos: r.pos(k), Value: value.Value})
	}
	for _, m := range merges {
		r.merge(m.Value, out, seen)
	}
}

// merge adds the keys of a `<<` value that the mapping does not have itself. In a list of them the first wins.
func (r *reader) merge(from *Value, out *built, seen map[string]Pos) {
	switch from.Kind {
	case Map:
		for _, k := range from.Keys {
			if _, ok := seen[k.Name]; !ok {
				seen[k.Name] = k.Pos
				out.Keys = append(out.Keys, k)
			}
		}
	case List:
		for _, item := range from.Items {
			if item.Kind != Map {
				r.errs.add(item.Errorf("", "<< takes mappings, not %s", item.describe()))
				continue
			}
			r.merge(item, out, seen)
		}
	default:
		r.errs = append(r.errs, from.Errorf("", "<< takes a mapping or a list of them, not %s", from.describe()))
	}
}
