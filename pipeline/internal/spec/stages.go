package spec

import (
	"strings"

	"pgpipeline/pipeline/internal/lang"
)

// siblings are the keys that may stand beside a stage's kind.
var siblings = []string{"id", "needs", "pin"}

// Limits of the lists.
const (
	maxStages  = 1000
	maxAsserts = 1000
)

// stages takes the list of stages.
func (l *loader) stages(v *Value) {
	if v == nil {
		return // its absence is reported already
	}
	if v.Kind != List || len(v.Items) == 0 {
		l.fail(v, "such as `- fetch: {source: ...}`", "\"stages\" must be a list of stages, not %s", emptyOr(v))
		return
	}
	if len(v.Items) > maxStages {
		l.fail(v, "", "more than %d stages", maxStages)
		return
	}
	for _, item := range v.Items {
		if decl, ok := l.stage(item); ok {
			l.exp.Stages = append(l.exp.Stages, decl)
		}
	}
}

// stage reads one item: a mapping with one key that names the kind, and siblings.
func (l *loader) stage(v *Value) (StageDecl, bool) {
	var decl StageDecl
	if v.Kind != Map {
		hint := "such as `build: {use: def}`"
		if v.Kind == Scalar && l.isKind(v.Text) {
			hint = "write `" + v.Text + ": {}`"
		}
		l.fail(v, hint, "a stage is a mapping with its kind as the key, not %s", v.describe())
		return decl, false
	}
	kind, ok := l.kindKey(v)
	if !ok {
		return decl, false
	}
	decl = StageDecl{Kind: kind.Name, ID: kind.Name, Pos: kind.Pos, Params: kind.Value}
	switch kind.Value.Kind {
	case Null: // `compare:` is `compare: {}`
		decl.Params = &Value{Pos: kind.Pos, Kind: Map, src: v.src}
	case Map:
	default:
		l.fail(kind.Value, "", "the parameters of stage %q must be a mapping, not %s", kind.Name, kind.Value.describe())
		return decl, false
	}
	l.stageID(v, &decl)
	l.stageNeeds(v.Get("needs"), &decl)
	if pin := v.Get("pin"); pin != nil && pin.Kind != Null {
		decl.Pin, _ = l.cell(pin, true)
	}
	return decl, true
}

// kindKey finds the key that names the kind.
func (l *loader) kindKey(v *Value) (*Key, bool) {
	var kind *Key
	ok := true
	for i, k := range v.Keys {
		switch {
		case contains(siblings, k.Name):
		case !l.isKind(k.Name):
			l.unknownKind(v, k, kind != nil || len(v.Keys) > i+1 && l.isKind(v.Keys[i+1].Name))
			ok = false
		case kind != nil:
			l.failAt(v, k.Pos, "begin a new item with - for it", "one item has two stages, %q and %q", kind.Name, k.Name)
			ok = false
		default:
			kind = &v.Keys[i]
		}
	}
	if kind == nil && ok {
		l.fail(v, "known are "+strings.Join(l.kinds(), ", "), "the stage has no kind")
	}
	return kind, ok && kind != nil
}

// unknownKind reports a key that is no kind; beside a known kind it was more likely meant as a sibling or a parameter.
func (l *loader) unknownKind(v *Value, k Key, besideKind bool) {
	if besideKind {
		hint := lang.DidYouMean(cut(k.Name), siblings)
		if hint == "" {
			hint = "beside the kind stand only id, needs and pin; parameters are indented below it"
		}
		l.failAt(v, k.Pos, hint, "unknown key %s beside a stage", quote(k.Name))
		return
	}
	hint := lang.DidYouMean(cut(k.Name), l.kinds())
	if hint == "" {
		hint = "known are " + strings.Join(l.kinds(), ", ")
	}
	l.failAt(v, k.Pos, hint, "unknown stage %s", quote(k.Name))
}

func (l *loader) isKind(name string) bool { return contains(l.kinds(), name) }

func (l *loader) kinds() []string {
	names := make([]string, len(l.opt.Kinds))
	for i, k := range l.opt.Kinds {
		names[i] = k.Name
	}
	return names
}

// stageID takes the id, or the kind's name, and sees that no earlier stage has it.
func (l *loader) stageID(v *Value, decl *StageDecl) {
	id := v.Get("id")
	if id != nil {
		if id.Kind != Scalar || !experimentName.MatchString(id.Text) {
			l.fail(id, "use a-z, 0-9, - _ .", "%s cannot be the id of a stage", id.describe())
			return
		}
		decl.ID = id.Text
	}
	for _, earlier := range l.exp.Stages {
		switch {
		case earlier.ID != decl.ID:
		case id == nil:
			l.failAt(v, decl.Pos, "give it an `id` beside the kind", "a second stage %q needs an id; the first is on line %d", decl.Kind,
				earlier.Pos.Line)
			return
		default:
			l.fail(id, "", "id %q is taken by the stage on line %d", decl.ID, earlier.Pos.Line)
			return
		}
	}
}

func (l *loader) stageNeeds(v *Value, decl *StageDecl) {
	if v == nil || v.Kind == Null {
		return
	}
	list, err := v.names("needs")
	l.errs.add(err)
	for _, n := range list {
		var known []string
		for _, earlier := range l.exp.Stages {
			known = append(known, earlier.ID)
		}
		if !contains(known, n.Text) {
			hint := lang.Suggest(n.Text, known)
			if hint == "" {
				hint = "no stage comes before this one"
			}
			l.fail(n, hint, "needs: no earlier stage has the id %s", quote(n.Text))
			continue
		}
		decl.Needs = append(decl.Needs, n.Text)
	}
}

// assertion is one item of `assert`.
type assertion struct {
	Expr      *Value   `yaml:"expr,scalar,required" doc:"the expression"`
	Severity  Severity `yaml:"severity" doc:"fail (the default), or warn: never changes the exit code"`
	Where     *Value   `yaml:"where" doc:"axis values that narrow it to some cells"`
	Published string   `yaml:"published" doc:"a published figure to print beside the verdict"`
}

func (l *loader) asserts(v *Value) {
	if v == nil || v.Kind == Null {
		return
	}
	items := []*Value{v}
	if v.Kind == List {
		items = v.Items
	}
	if len(items) > maxAsserts {
		l.fail(v, "", "more than %d assertions", maxAsserts)
		return
	}
	for _, item := range items {
		l.assert(item)
	}
}

func (l *loader) assert(v *Value) {
	var a assertion
	if v.Kind == List || v.Kind == Null {
		l.fail(v, `such as relqps("hot-points") > 0.95`, "an assertion is an expression, not %s", v.describe())
		return
	}
	if err := Decode(v, &a); err != nil {
		l.errs.add(err)
		return
	}
	if a.Expr == nil || a.Expr.Kind != Scalar || strings.TrimSpace(a.Expr.Text) == "" {
		at := v
		if a.Expr != nil {
			at = a.Expr
		}
		hint := `such as relqps("hot-points") > 0.95`
		if at.Kind == Map || at.Kind == List {
			hint = "put an expression with { or [ in quotes"
		}
		l.fail(at, hint, "an assertion is an expression, not %s", at.describe())
		return
	}
	lead := len(a.Expr.Text) - len(strings.TrimLeft(a.Expr.Text, " \n\t"))
	decl := AssertDecl{Expr: strings.TrimSpace(a.Expr.Text), Severity: string(a.Severity), Published: a.Published,
		Pos: a.Expr.At(lead), Value: a.Expr}
	if decl.Severity == "" {
		decl.Severity = "fail"
	}
	if a.Where != nil && a.Where.Kind != Null {
		decl.Where, _ = l.cell(a.Where, true)
	}
	l.exp.Asserts = append(l.exp.Asserts, decl)
}
