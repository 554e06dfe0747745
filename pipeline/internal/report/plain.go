package report

import (
	"fmt"
	"strings"

	"pgpipeline/pipeline/gate"
)

// Plain says an assertion's result for who does not know the language of assertions: "update-one is 28 % slower on 17.0 than on 15.8
// (0.723 [0.719, 0.727], limit > 0.95)". What is no comparison of one rate stays as it is written.
func (a Assertion) Plain() string {
	place := strings.TrimSpace(clean(a.Where))
	if len(a.Atoms) != 1 || !strings.HasPrefix(a.Atoms[0].Call, "relqps(") || a.Atoms[0].Value == nil || a.Candidate == "" {
		return strings.TrimPrefix(place+": ", ": ") + clean(a.Expr) + " is " + a.Values()
	}
	atom := a.Atoms[0]
	if a.Outcome == gate.Inconclusive {
		return a.undecided(atom)
	}
	value := *atom.Value
	compare := "as fast"
	switch {
	case value < 0.9995:
		compare = percentText(1-value) + " slower"
	case value > 1.0005:
		compare = percentText(value-1) + " faster"
	}
	than := "than"
	if compare == "as fast" {
		than = "as"
	}
	figures := trimZeros(fmt.Sprintf("%.3f", value), 2)
	if iv := intervalText(atom.Lo, atom.Hi, ""); iv != "" {
		figures += " " + iv
	}
	text := fmt.Sprintf("%s is %s on %s %s on %s (%s, limit %s %s)", clean(atom.Step), compare, place, than, clean(a.Base), figures, atom.Op, unitText(atom.Limit, ""))
	return text
}

// undecided says where a rate may be: a bare estimate would read as a finding.
func (a Assertion) undecided(atom gate.Atom) string {
	text := fmt.Sprintf("%s on %s is at about %s of its rate on %s", clean(atom.Step), clean(a.Where), trimZeros(fmt.Sprintf("%.3f", *atom.Value), 2), clean(a.Base))
	if iv := intervalText(atom.Lo, atom.Hi, ""); iv != "" {
		text += ", and may be anywhere in " + iv
	}
	return fmt.Sprintf("%s; the limit is %s %s: %s", text, atom.Op, unitText(atom.Limit, ""), a.Why())
}
