package spec

import (
	"pgpipeline/pipeline/internal/lang"
)

// Interpolate returns a copy of v in which every `${ }` is replaced by what f makes of its expression; at is the place of the
// expression. `$${` becomes a literal `${`. Positions stay those of the file. A value without any is returned as it is. An
// error of f that is a *lang.Error counts its offset from the start of the expression. Errors are Errors.
func (v *Value) Interpolate(f func(expr string, at Pos) (string, error)) (*Value, error) {
	if v == nil || !v.template {
		return v, nil
	}
	i := interpolation{f: f}
	out := i.value(v)
	return out, i.errs.Tidy()
}

type interpolation struct {
	f    func(expr string, at Pos) (string, error)
	errs Errors
}

func (i *interpolation) value(v *Value) *Value {
	if !v.template || i.errs.full() {
		return v
	}
	out := *v
	out.template = false
	switch v.Kind {
	case Scalar:
		out.Text = i.text(v)
	case List:
		out.Items = make([]*Value, len(v.Items))
		for n, item := range v.Items {
			out.Items[n] = i.value(item)
		}
	case Map:
		out.Keys = make([]Key, len(v.Keys))
		for n, k := range v.Keys {
			if lang.HasTemplate(k.Name) {
				i.errs = append(i.errs, v.src.errorAt(k.Pos, "use it in the value", "${ } is not evaluated in a key"))
			}
			k.Value = i.value(k.Value)
			out.Keys[n] = k
		}
	}
	return &out
}

func (i *interpolation) text(v *Value) string {
	parts, err := lang.Split(v.Text)
	if err == nil {
		var text string
		text, err = lang.Join(parts, func(p lang.Part) (string, error) {
			value, err := i.f(p.Text, v.At(p.Offset))
			return value, lang.Shift(err, p.Offset)
		})
		if err == nil {
			return text
		}
	}
	i.errs.add(v.placed(err))
	return v.Text
}

// placed turns an error about v's text into one with a place; an error that has one keeps it.
func (v *Value) placed(err error) error {
	switch err.(type) {
	case *Error, Errors:
		return err
	}
	return v.exprError(err)
}
