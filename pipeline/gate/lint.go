package gate

import (
	"fmt"
	"math"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/lang"
	"pgpipeline/pipeline/stat"
)

// Finding is something that can be said of an assertion before anything runs.
type Finding struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Expr   string `json:"expr"`
	Msg    string `json:"msg"`
	Hint   string `json:"hint,omitempty"`
}

// assumedSpread is the standard deviation of one pair's log ratio, by class, on a machine that was not calibrated: what a shared
// virtual machine shows with slices of a second, and whole steps of a minute.
var assumedSpread = map[string]float64{"steady": 0.08, "whole": 0.03}

// Lint says which verdicts are out of reach of the budget, and which limits the noise will hardly let one tell from no change.
// Each assertion is spoken of once, for the first facet where there is something to say.
func (g *Gate) Lint() []Finding {
	var out []Finding
	said := map[int]bool{}
	for _, c := range g.checks {
		if said[c.place] {
			continue
		}
		if f := g.lintCheck(c); f != nil {
			said[c.place] = true
			out = append(out, *f)
		}
	}
	return out
}

func (g *Gate) lintCheck(c check) *Finding {
	for _, a := range g.comparisons(c) {
		msg, hint := g.lintAtom(c, a)
		if msg != "" {
			return &Finding{File: c.assert.File, Line: c.assert.Line, Column: c.assert.Column, Expr: c.assert.Expr, Msg: msg, Hint: hint}
		}
	}
	return nil
}

// comparisons evaluates a check on nothing, which shows what it compares with what.
func (g *Gate) comparisons(c check) []lang.Atom {
	nothing := func(call lang.Call) any {
		r, _ := c.scope.parse(functionNamed(call.Name), call)
		q := &lang.Quantity{Missing: "missing", Detail: &detail{request: r}}
		if r.fn.kind == lang.ClaimKind {
			return lang.Judged{Quantity: q, Reason: "missing"}
		}
		return q
	}
	_, atoms, err := c.program.Eval(nothing)
	if err != nil {
		return nil
	}
	return atoms
}

func (g *Gate) lintAtom(c check, a lang.Atom) (msg, hint string) {
	r := a.Quantity.Detail.(*detail).request
	if k := r.fn.kind; k == lang.NumberKind || k == lang.TimeNumberKind {
		return "", ""
	}
	blocks := c.scope.facet.MaxBlocks
	p := g.power(c.scope.facet, r)
	first := func(level float64) int {
		p.Alpha = level
		return p.FirstReachable()
	}
	passes, fails := first(passLevel), first(g.levels().fail)
	switch {
	case passes == 0 || passes > blocks:
		return fmt.Sprintf("%s cannot be decided with %s: a pass takes at least %d, a failure %d", a.Text(), plural(blocks, "block"), passes, fails),
			fmt.Sprintf("raise `budget: {blocks: %d}`", max(passes, fails))
	case fails == 0 || fails > blocks:
		return fmt.Sprintf("%s can pass but not fail with %s: a failure takes at least %d", a.Text(), plural(blocks, "block"), fails),
			fmt.Sprintf("raise `budget: {blocks: %d}`", fails)
	}
	return g.lintLimit(c, a, r, p)
}

// lintLimit compares the distance of a limit from "nothing changed" with what the budget resolves.
func (g *Gate) lintLimit(c check, a lang.Atom, r request, p stat.Power) (msg, hint string) {
	bound := a.Op == ">" || a.Op == ">="
	if !r.fn.ratio || a.Op == "" || a.Limit <= 0 || bound != (a.Limit <= 1) {
		return "", ""
	}
	p.Alpha = passLevel
	blocks := c.scope.facet.MaxBlocks
	floor, distance := p.Floor(blocks), math.Abs(math.Log(a.Limit))
	if distance >= floor {
		return "", ""
	}
	safe := math.Exp(-floor)
	if !bound {
		safe = math.Exp(floor)
	}
	hint = fmt.Sprintf("a limit of %.3g would do", safe)
	if need := p.BlocksNeeded(distance, 0.95); need > 0 && distance > 0 {
		hint += fmt.Sprintf(", or %d blocks", need)
	}
	return fmt.Sprintf("%s will often be inconclusive when nothing changed: %s resolve %.2g %%, with %s", a.Text(), plural(blocks, "block"), 100*-math.Expm1(-floor),
		g.source(c.scope.facet, r)), hint + "; or faster(), slower()"
}

// power is what is known of a comparison beforehand: the noisiest step that it needs counts.
func (g *Gate) power(f engine.Facet, r request) stat.Power {
	out := stat.Power{Schedule: stat.Steady}
	for i, step := range r.steps {
		p := g.stepPower(f, step)
		_, slices := perSlice[r.metric]
		if !slices || r.operation != "" || r.fn.kind != lang.ClaimKind && !r.fn.ratio {
			p.Schedule, p.PairsPerBlock = stat.Whole, 1
		}
		if i == 0 || p.Schedule > out.Schedule || p.Spread > out.Spread {
			out = p
		}
	}
	return out
}

func (g *Gate) stepPower(f engine.Facet, step engine.StepInfo) stat.Power {
	n := g.noise(time.Now()).in(f.Name)
	p := stat.Power{Spread: assumedSpread[step.Class], Boot: n.boot(step), PairsPerBlock: math.Max(1, step.Seconds), Schedule: stat.Steady}
	if step.Class == "whole" {
		p.Schedule, p.PairsPerBlock = stat.Whole, 1
	}
	if s, ok := n.step(step.Name); ok {
		p.Spread, p.PairsPerBlock = s.Spread, s.perBlock()
	}
	return p
}

// source says where the noise that a finding speaks of comes from.
func (g *Gate) source(f engine.Facet, r request) string {
	p := g.power(f, r)
	what := "assumed"
	if p.Boot.Calibrated {
		what = "calibrated"
	}
	return fmt.Sprintf("%s noise of %.2g %% between pairs and %.2g %% between boots", what, 100*p.Spread, 100*p.Boot.Sigma)
}
