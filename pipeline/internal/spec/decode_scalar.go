package spec

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"pgpipeline/pipeline/internal/lang"
)

// text fills a type that reads itself.
func (d *decoder) text(v *Value, into reflect.Value, s slot) {
	if v.Kind != Scalar {
		d.mistyped(v, s, traitsOf(into.Type()).want, emptyHint(v))
		return
	}
	if err := into.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(v.Text)); err != nil {
		hint := ""
		if h, ok := err.(interface{ Hint() string }); ok {
			hint = h.Hint()
		}
		if s.name == "" {
			d.fail(v, hint, "%v", err)
		} else {
			d.fail(v, hint, "%q: %v", s.name, err)
		}
	}
}

// emptyHint tells how to give an empty value, or none.
func emptyHint(v *Value) string {
	switch {
	case v.Kind != Null:
		return ""
	case v.Text != "":
		return fmt.Sprintf("write %q, in quotes, for the word itself", v.Text)
	}
	return `give a value, or remove the key; "" is the empty text`
}

func (d *decoder) scalar(v *Value, into reflect.Value, s slot) {
	t := into.Type()
	want := traitsOf(t).want
	if want == "" {
		d.fail(v, "", "%q: values of Go type %v cannot be read", s.name, t)
		return
	}
	if v.Kind != Scalar {
		d.mistyped(v, s, want, emptyHint(v))
		return
	}
	switch into.Kind() {
	case reflect.String:
		d.string(v, into, s)
	case reflect.Bool:
		if v.Text != "true" && v.Text != "false" {
			d.mistyped(v, s, want, boolHint(v.Text))
			return
		}
		into.SetBool(v.Text == "true")
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(v.Text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || strings.ContainsAny(v.Text, "xX_pP") {
			d.mistyped(v, s, want, "")
			return
		}
		into.SetFloat(f)
	default:
		d.whole(v, into, s)
	}
}

func (d *decoder) whole(v *Value, into reflect.Value, s slot) {
	want := traitsOf(into.Type()).want
	var err error
	if into.CanInt() {
		var n int64
		if n, err = strconv.ParseInt(v.Text, 10, into.Type().Bits()); err == nil {
			into.SetInt(n)
			return
		}
	} else {
		var n uint64
		if n, err = strconv.ParseUint(v.Text, 10, into.Type().Bits()); err == nil {
			into.SetUint(n)
			return
		}
	}
	hint := ""
	if digits := strings.ReplaceAll(v.Text, "_", ""); digits != v.Text && strings.Trim(digits, "0123456789") == "" {
		hint = "write " + digits
	} else if number, ok := err.(*strconv.NumError); ok && number.Err == strconv.ErrRange {
		hint = "it is out of range"
	}
	d.mistyped(v, s, want, hint)
}

// string fills a text field, of one of the allowed values if it has such.
func (d *decoder) string(v *Value, into reflect.Value, s slot) {
	if enum := traitsOf(into.Type()).enum; enum != nil && !contains(enum, v.Text) {
		d.mistyped(v, s, "one of "+strings.Join(enum, ", "), lang.DidYouMean(cut(v.Text), enum))
		return
	}
	into.SetString(v.Text)
}

// cut limits a text that is only compared with known names.
func cut(text string) string { return text[:min(len(text), 64)] }

func boolHint(text string) string {
	switch strings.ToLower(text) {
	case "yes", "on", "y", "1", "true":
		return "write true"
	case "no", "off", "n", "0", "false":
		return "write false"
	}
	return ""
}
