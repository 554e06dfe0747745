package gate

import (
	"fmt"
	"slices"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/lang"
	"pgpipeline/pipeline/stat"
)

// Judge turns a record into a verdict. The record's blocks are all that is known: those of earlier runs with the same evidence
// key are pooled, so that running again adds to the evidence and never replaces it.
func (g *Gate) Judge(rec *engine.Record) Verdict {
	now := g.options.Now
	if now.IsZero() {
		now = time.Now()
	}
	measured := rec.Ended
	if measured.IsZero() {
		measured = now
	}
	s := sitting{Gate: g, rec: rec, noise: g.noise(measured), levels: g.levels(), accepts: newAcceptance(g.options.Accept, now)}
	v := Verdict{Atoms: g.atoms, Noise: s.noise.info(measured)}
	for _, f := range g.facets {
		all := seriesOf(f, rec.Blocks)
		e := gather(f, rec.Blocks, all[len(all)-1])
		faults := findFaults(f, rec, all[len(all)-1])
		v.Assertions = append(v.Assertions, s.judge(f, e, faults)...)
		v.Assertions = append(v.Assertions, s.implicit(f, faults)...)
		v.Warnings = append(v.Warnings, warnings(e)...)
		s.estimate(&v, f, e)
		v.Earlier = append(v.Earlier, s.earlier(f, all)...)
	}
	s.order(v.Assertions)
	holm(v.Assertions)
	falseDiscovery(v.Steps, v.Groups)
	v.Accepted = s.accepts.results
	g.conclude(&v, rec)
	return v
}

// sitting is one judging of one record.
type sitting struct {
	*Gate
	rec    *engine.Record
	noise  noiseModel
	levels levels
	// accepts is the accept file; nil where it does not matter.
	accepts *acceptance
}

func (g *Gate) levels() levels {
	return levels{pass: passLevel, fail: planLevel / float64(max(1, g.atoms))}
}

// noise is what is assumed of a measurement of that time. A calibration that was too old by then is not used.
func (g *Gate) noise(measured time.Time) noiseModel {
	n := noiseModel{alpha: g.levels().fail}
	switch c := g.options.Noise; {
	case c == nil:
	case c.expired(measured):
		n.expired = c
	default:
		n.calibration = c
	}
	return n
}

// judge evaluates the checks of one facet.
func (s sitting) judge(f engine.Facet, e evidence, faults []fault) []AssertionResult {
	var out []AssertionResult
	alarm := s.sentinels(f, e)
	for _, c := range s.checks {
		if c.scope.facet.Name != f.Name || c.scope.facet.Stage != f.Stage {
			continue
		}
		r := s.evaluate(c, e)
		s.excuse(c, e, &r)
		if alarm != "" {
			r.override(Inconclusive, alarm)
		}
		for _, ft := range faults {
			if ft.outcome == Invalid && ft.concerns(c) {
				r.override(Invalid, ft.text)
			}
		}
		r.Message = message(r)
		out = append(out, r)
	}
	return out
}

// override replaces what the figures say by what is wrong with them: then nothing was excused either.
func (r *AssertionResult) override(outcome, reason string) {
	r.Outcome, r.Reason = outcome, reason
	r.Tags = slices.DeleteFunc(r.Tags, func(tag string) bool { return tag == acceptedTag })
}

// evaluate judges one check on the evidence.
func (s sitting) evaluate(c check, e evidence) AssertionResult {
	r := AssertionResult{Expr: c.assert.Expr, File: c.assert.File, Line: c.assert.Line, Column: c.assert.Column, Severity: c.assert.Severity,
		Published: c.assert.Published, Facet: c.scope.facet.Name, Stage: c.scope.facet.Stage, Candidate: c.candidate, Base: c.scope.base()}
	res := s.resolver(c, e)
	claim, atoms, err := c.program.Eval(res.answer)
	if err != nil {
		r.Outcome, r.Reason = Invalid, err.Error()
		return r
	}
	r.Outcome = map[lang.Truth]string{lang.True: Pass, lang.False: Fail, lang.Unknown: Inconclusive}[claim.Pos]
	for _, a := range atoms {
		r.add(s.atom(a))
	}
	if r.Outcome != Inconclusive {
		r.Reason, r.MinutesNeeded = "", 0
	}
	if program, naive := c.program, naiveAnswer(res); len(e.blocks) > 0 {
		if claim, _, err := program.Eval(naive); err == nil && claim.Pos != lang.Unknown {
			r.Naive = map[lang.Truth]string{lang.True: Pass, lang.False: Fail}[claim.Pos]
		}
	}
	if len(atoms) > 0 {
		r.NaiveValue = finite(atoms[0].Quantity.Detail.(*detail).naive)
	}
	return r
}

func (s sitting) resolver(c check, e evidence) *resolver {
	return &resolver{scope: c.scope, evidence: e, candidate: c.candidate, levels: s.levels, noise: s.noise.in(c.scope.facet.Name)}
}

func (r *AssertionResult) add(a Atom, tags []string) {
	r.Atoms = append(r.Atoms, a)
	for _, t := range tags {
		if !slices.Contains(r.Tags, t) {
			r.Tags = append(r.Tags, t)
		}
	}
	if a.State == lang.Unknown.String() && (r.Reason == "" || r.Reason == "futile") { // futile only if nothing else is open
		r.Reason = a.Reason
	}
	r.MinutesNeeded = max(r.MinutesNeeded, a.MinutesNeeded)
}

// naiveAnswer answers as a gate without statistics does: the bare ratio, compared as it stands.
func naiveAnswer(res *resolver) lang.Resolver {
	return func(c lang.Call) any {
		switch q := res.answer(c).(type) {
		case *lang.Quantity:
			return bareQuantity(q)
		case lang.Judged:
			bare := bareQuantity(q.Quantity)
			out := lang.Judged{Quantity: bare}
			if bare.Missing == "" {
				req := bare.Detail.(*detail).request
				out.Claim = compare(req, bare, req.asked())
			}
			return out
		default:
			return q
		}
	}
}

func bareQuantity(q *lang.Quantity) *lang.Quantity {
	d := q.Detail.(*detail)
	bare := &lang.Quantity{Point: d.naive, Detail: d}
	if d.naive == 0 || finite(d.naive) != d.naive {
		bare.Missing = "missing"
	}
	return bare
}

// order sorts the results as the file has the assertions, then by facet and candidate; what nobody wrote comes last.
func (s sitting) order(list []AssertionResult) {
	slices.SortStableFunc(list, func(a, b AssertionResult) int {
		switch {
		case a.Implicit != b.Implicit && b.Implicit:
			return -1
		case a.Implicit != b.Implicit:
			return 1
		case a.File == b.File && a.Line != b.Line:
			return a.Line - b.Line
		case a.File == b.File:
			return a.Column - b.Column
		}
		return 0
	})
}

// holm adjusts the p-values of the guarded assertions for there being several. They are shown, never judged: the looks have
// levels of their own.
func holm(list []AssertionResult) {
	var p []float64
	var at []int
	for i, r := range list {
		lowest, n := 1.0, 0
		for _, a := range r.Atoms {
			if a.Guarded && a.FailP > 0 {
				lowest, n = min(lowest, a.FailP), n+1
			}
		}
		if n > 0 {
			p, at = append(p, min(1, lowest*float64(n))), append(at, i)
		}
	}
	for k, v := range stat.Holm(p) {
		list[at[k]].HolmP = v
	}
}

// earlier judges the series that --fresh closed, for showing beside the current one.
func (s sitting) earlier(f engine.Facet, all []string) []SeriesVerdict {
	var out []SeriesVerdict
	s.accepts = nil // what the accept file did is told of the current series
	for _, name := range all[:len(all)-1] {
		e := gather(f, s.rec.Blocks, name)
		sv := SeriesVerdict{Series: name, Blocks: len(e.blocks), Outcome: Pass, Assertions: s.judge(f, e, nil)}
		for _, r := range sv.Assertions {
			if worse(r.Outcome, sv.Outcome) && r.Severity != "warn" {
				sv.Outcome = r.Outcome
			}
		}
		out = append(out, sv)
	}
	return out
}

// conclude sums up: the first of invalid, fail and inconclusive that applies to an assertion that counts.
func (g *Gate) conclude(v *Verdict, rec *engine.Record) {
	v.Outcome = Pass
	counts := map[string]int{}
	for _, r := range v.Assertions {
		if r.Severity == "warn" {
			continue
		}
		counts[r.Outcome]++
		if worse(r.Outcome, v.Outcome) {
			v.Outcome, v.Reason = r.Outcome, r.Message
		}
	}
	measured := slices.ContainsFunc(rec.Blocks, func(b engine.BlockRecord) bool { return b.Complete && len(b.Measurements) > 0 })
	switch {
	case len(g.facets) > 0 && !measured && v.Outcome == Pass:
		v.Outcome, v.Reason = Invalid, "nothing was measured"
	case len(g.asserts) == 0 && len(g.facets) > 0 && v.Outcome == Pass:
		v.Warnings = append(v.Warnings, "the experiment asserts nothing: this is a measurement, not a verdict")
	}
	if n := counts[v.Outcome]; n > 1 {
		v.Reason = fmt.Sprintf("%s (and %d more)", v.Reason, n-1)
	}
	v.ExitCode = map[string]int{Pass: 0, Fail: 1, Invalid: 4, Inconclusive: 5}[v.Outcome]
	if v.Outcome == Inconclusive {
		v.ExitCode = map[string]int{"fail": 1, "pass": 0}[rec.Experiment.OnInconclusive]
		if rec.Experiment.OnInconclusive != "fail" && rec.Experiment.OnInconclusive != "pass" {
			v.ExitCode = 5
		}
	}
}

func worse(a, b string) bool {
	rank := map[string]int{Pass: 0, Inconclusive: 1, Fail: 2, Invalid: 3}
	return rank[a] > rank[b]
}
