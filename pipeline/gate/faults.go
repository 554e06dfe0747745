package gate

import (
	"fmt"
	"slices"
	"strings"

	"pgpipeline/pipeline/engine"
)

// fault is something that is no noise: a crash, an SQL error, a measurement that must not be used.
type fault struct {
	step, variant string // "" for the whole block
	outcome       string // Fail: the candidate's own; Invalid: the base's, or from outside
	text          string
	count         float64
}

// findFaults looks through all blocks of the current series, complete or not. What makes a measurement invalid counts only in
// the run at hand, so that running again can mend it; a candidate that crashed once has crashed.
func findFaults(f engine.Facet, rec *engine.Record, series string) []fault {
	base := scope{facet: f}.base()
	var out []fault
	for _, b := range rec.Blocks {
		if !belongs(f, b) || b.Series != series || interrupted(b) {
			continue
		}
		for _, ft := range blockFaults(b, base) {
			if ft.outcome == Fail || b.Run == rec.ID {
				out = merge(out, ft)
			}
		}
	}
	return out
}

// interrupted says that somebody stopped the run: what a block says then is nobody's fault.
func interrupted(b engine.BlockRecord) bool { return !b.Complete && b.ErrorSide == "" }

// concerns says whether a fault touches a check: the base's touch all, a candidate's only its own.
func (ft fault) concerns(c check) bool {
	if ft.variant != "" && ft.variant != c.scope.base() && ft.variant != c.candidate {
		return false
	}
	return ft.step == "" || slices.Contains(c.steps, ft.step)
}

func blockFaults(b engine.BlockRecord, base string) []fault {
	var out []fault
	for _, m := range b.Measurements {
		if m.Invalid != "" {
			out = append(out, fault{m.Step, m.Variant, guilt(m.Variant, base, m.Cause), fmt.Sprintf("%s on %s: %s", m.Step, m.Variant, m.Invalid), 1})
			continue
		}
		if n := errorCount(m); n > 0 {
			out = append(out, fault{m.Step, m.Variant, guilt(m.Variant, base, "server"),
				fmt.Sprintf("%s on %s: SQL errors %s", m.Step, m.Variant, errorStates(m)), n})
		}
	}
	side, name, _ := strings.Cut(b.ErrorSide, ":")
	if b.Error == "" || side == "" {
		return out
	}
	known := slices.ContainsFunc(out, func(ft fault) bool { return ft.variant == name || side == "base" && ft.variant == base })
	if known {
		return out
	}
	outcome := Invalid
	if side == "candidate" {
		outcome = Fail
	}
	if side == "base" {
		name = base
	}
	return append(out, fault{"", name, outcome, b.Error, 1})
}

// guilt says whose fault it is: the candidate's server alone can fail a candidate.
func guilt(variant, base, cause string) string {
	if variant != base && cause == "server" {
		return Fail
	}
	return Invalid
}

func errorStates(m engine.Measurement) string {
	states := map[string]int64{}
	for _, s := range m.Samples {
		for code, n := range s.Errors {
			states[code] += n
		}
	}
	var out []string
	for _, code := range sortedKeys(states) {
		out = append(out, fmt.Sprintf("%s (%d times)", code, states[code]))
	}
	return strings.Join(out, ", ")
}

func merge(list []fault, ft fault) []fault {
	for i := range list {
		if list[i].step == ft.step && list[i].variant == ft.variant && list[i].outcome == ft.outcome {
			list[i].count += ft.count
			return list
		}
	}
	return append(list, ft)
}

// implicit are the assertions that hold without being written: a candidate neither crashes nor fails statements, and what
// is measured is valid.
func (s sitting) implicit(f engine.Facet, faults []fault) []AssertionResult {
	var out []AssertionResult
	for _, ft := range faults {
		expr := fmt.Sprintf("errors(%q) == 0", ft.step)
		if ft.step == "" {
			expr = "the server runs"
		}
		r := AssertionResult{Expr: expr, File: s.rec.Experiment.Path, Severity: "fail", Facet: f.Name, Stage: f.Stage, Candidate: ft.variant,
			Base: scope{facet: f}.base(), Implicit: true, Outcome: ft.outcome, Reason: ft.text}
		r.Message = message(r)
		out = append(out, r)
	}
	return out
}

// warnings are what a reader should know of the evidence, besides the verdicts.
func warnings(e evidence) []string {
	var out []string
	for i := range e.blocks {
		if e.blocks[i].Serial {
			out = append(out, "the servers did not fit into memory together and ran one at a time: drift of the machine is not shared by a pair")
			break
		}
	}
	return out
}
