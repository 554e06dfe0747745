package gate

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/stat"
)

const (
	hot   = "hot-points_range=100"
	point = "point-query_range=100"
)

// The semantics that must be exact (section (g) of the design): what every kind of trouble comes to.
func TestStates(t *testing.T) {
	crash := func(variant, cause string) func(*engine.BlockRecord) {
		return measurements(hot, variant, func(m *engine.Measurement) { m.Invalid, m.Cause = "server went away", cause })
	}
	sqlError := func(variant string) func(*engine.BlockRecord) {
		return samples(hot, variant, 1, func(s *engine.Sample) { s.Errors = map[string]int64{"XX000": 3} })
	}
	void := func(variant string, n int) func(*engine.BlockRecord) {
		return samples(hot, variant, n, func(s *engine.Sample) { s.Void = "clock step" })
	}
	drop := func(step string) func(*engine.BlockRecord) {
		return func(b *engine.BlockRecord) {
			b.Measurements = slices.DeleteFunc(b.Measurements, func(m engine.Measurement) bool { return m.Step == step })
		}
	}
	const ok = `relqps("hot-points") > 0.9`
	for _, c := range []struct {
		name   string
		blocks int
		spoil  func(*engine.BlockRecord) // the last block
		every  func(*engine.BlockRecord) // all blocks
		expr   string
		want   string
		reason string
		code   int
	}{
		{name: "all is well", blocks: 3, expr: ok, want: Pass},
		{name: "nothing of the step was measured", blocks: 3, every: drop(hot), expr: ok, want: Inconclusive, reason: "missing", code: 5},
		{name: "fewer pairs than the first look", blocks: 3, expr: `relqps("q1000") > 0.9`, want: Inconclusive, reason: "too-few", code: 5},
		{name: "never a false for want of data", blocks: 3, every: drop(hot), expr: `relqps("hot-points") < 0.9`, want: Inconclusive, reason: "missing", code: 5},
		{name: "SQL error of the candidate", blocks: 3, spoil: sqlError("a18"), expr: ok, want: Fail, code: 1},
		{name: "SQL error of the base", blocks: 3, spoil: sqlError("a16"), expr: ok, want: Invalid, reason: "XX000 (3 times)", code: 4},
		{name: "crash of the candidate", blocks: 3, spoil: crash("a18", "server"), expr: ok, want: Fail, code: 1},
		{name: "crash of the base", blocks: 3, spoil: crash("a16", "server"), expr: ok, want: Invalid, reason: "server went away", code: 4},
		{name: "killed from outside", blocks: 3, spoil: crash("a18", "outside"), expr: ok, want: Invalid, reason: "server went away", code: 4},
		{name: "the candidate does not start", blocks: 3, spoil: func(b *engine.BlockRecord) {
			b.Complete, b.Error, b.ErrorSide, b.Measurements = false, "start: FATAL", "candidate:a18", nil
		}, expr: ok, want: Fail, code: 1},
		{name: "the base does not start", blocks: 3, spoil: func(b *engine.BlockRecord) {
			b.Complete, b.Error, b.ErrorSide, b.Measurements = false, "start: FATAL", "base", nil
		}, expr: ok, want: Invalid, code: 4},
		{name: "an interrupted block does not count", blocks: 3, spoil: func(b *engine.BlockRecord) {
			b.Complete = false
			sqlNone := samples(hot, "a18", 20, func(s *engine.Sample) { s.Ops = 1 })
			sqlNone(b)
		}, expr: `boots("hot-points") == 2 && ` + ok, want: Pass},
		{name: "what an interrupted block says is nobody's fault", blocks: 3, spoil: func(b *engine.BlockRecord) {
			b.Complete, b.Error = false, "context canceled"
			measurements(hot, "a16", func(m *engine.Measurement) { m.Invalid, m.Cause = "context canceled", "outside" })(b)
		}, expr: ok, want: Pass},
		{name: "a timeout is kept as it stands", blocks: 3, spoil: samples(hot, "a18", 1, func(s *engine.Sample) { s.Timeout, s.Ops, s.Seconds = true, 10, 30 }),
			expr: `pairs("hot-points") == 60`, want: Pass},
		{name: "no operation at all is half of one", blocks: 3, spoil: samples(hot, "a18", 1, func(s *engine.Sample) { s.Ops = 0 }),
			expr: `pairs("hot-points") == 60 && ` + ok, want: Pass},
		{name: "voids do not count", blocks: 3, spoil: void("a18", 2), expr: `pairs("hot-points") == 58 && ` + ok, want: Pass},
		{name: "too many voids", blocks: 3, every: void("a18", 3), expr: ok, want: Inconclusive, reason: "biased-loss", code: 5},
		{name: "one-sided voids", blocks: 6, every: measurements(hot, "a18", func(m *engine.Measurement) { m.Samples[0].Void = "x"; m.Samples[1].Void = "x" }),
			expr: ok, want: Inconclusive, reason: "biased-loss", code: 5},
		{name: "a group without one of its members", blocks: 3, every: drop(point), expr: `geomean("reads") > 0.9`, want: Inconclusive, reason: "missing: " + point, code: 5},
		{name: "a group that may lack members", blocks: 3, every: drop(point), expr: `geomean("reads", {any: true}) > 0.9`, want: Pass},
		{name: "the least of a group without a member", blocks: 3, every: drop(point), expr: `min("reads") > 0.9`, want: Inconclusive, reason: "missing: " + point, code: 5},
		{name: "too few beyond the percentile", blocks: 8, every: measurements(hot, "a18", func(m *engine.Measurement) {
			m.Ops = map[string]engine.Operation{"": {Count: 5000, Service: histogramOf(5000)}}
		}), expr: `p99("hot-points") < ms(5)`, want: Inconclusive, reason: "few-tail", code: 5},
		{name: "enough beyond the percentile", blocks: 8, expr: `p99("hot-points") < ms(5)`, want: Pass},
		{name: "one unsteady warm-up is forgiven", blocks: 3, spoil: measurements(hot, "a18", func(m *engine.Measurement) { m.Unsteady = true }), expr: ok, want: Pass},
		{name: "unsteady throughout", blocks: 3, every: measurements(hot, "a18", func(m *engine.Measurement) { m.Unsteady = true }), expr: ok,
			want: Inconclusive, reason: "unsteady", code: 5},
		{name: "false and unknown is false", blocks: 3, expr: `relqps("q1000") > 0.9 && errors("hot-points") > 0`, want: Fail, code: 1},
		{name: "true and unknown is unknown", blocks: 3, expr: `relqps("q1000") > 0.9 && ` + ok, want: Inconclusive, reason: "too-few", code: 5},
		{name: "true or unknown is true", blocks: 3, expr: `relqps("q1000") > 0.9 || ` + ok, want: Pass},
		{name: "a cost that was not measured", blocks: 8, expr: `relreads("hot-points") < 1.1`, want: Inconclusive, reason: "missing", code: 5},
		{name: "a stall", blocks: 3, spoil: measurements(hot, "a18", func(m *engine.Measurement) {
			for i := 10; i < 13; i++ {
				m.Series[i].Ops = engine.NewReadings(map[string]float64{"": 100})
			}
		}), expr: `stall("hot-points") == seconds(3) && stalls("hot-points") == 1 && stall("hot-points", {below: 0.01}) == seconds(0)`, want: Pass},
		{name: "a stall of half a second", blocks: 3, spoil: measurements(hot, "a18", func(m *engine.Measurement) {
			list := make(engine.Tenths, 600)
			for i := range list {
				list[i] = 500
			}
			clear(list[300:305])
			m.Tenths = map[string]engine.Tenths{"": list}
		}), expr: `stall("hot-points") == seconds(0.5) && stalls("hot-points") == 1`, want: Pass},
		{name: "a longest response that nobody knows", blocks: 3, every: measurements(hot, "a18", func(m *engine.Measurement) {
			m.Ops[""] = engine.Operation{Count: 5000}
			for i := range m.Samples {
				m.Samples[i].MaxSeconds = 0
			}
		}), expr: `maxrt("hot-points") < seconds(1)`, want: Inconclusive, reason: "missing", code: 5},
		{name: "operations of their own", blocks: 3, expr: `max_response("q1000", "insert") < seconds(2) && qps("q1000", "query", "a16") > 1`, want: Pass},
	} {
		l := newLab()
		for i := range c.blocks {
			var change []func(*engine.BlockRecord)
			if c.every != nil {
				change = append(change, c.every)
			}
			if c.spoil != nil && i == c.blocks-1 {
				change = append(change, c.spoil)
			}
			l.block(change...)
		}
		v := l.judge(t, c.expr)
		if v.Outcome != c.want || v.ExitCode != c.code {
			t.Errorf("%s: %s (exit %d), want %s (%d); %s", c.name, v.Outcome, v.ExitCode, c.want, c.code, v.Reason)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("%s: the verdict is no JSON: %v", c.name, err)
		}
		if r := v.Assertions[0]; c.reason != "" && !strings.Contains(r.Reason, c.reason) {
			t.Errorf("%s: reason %q, want %q", c.name, r.Reason, c.reason)
		}
	}
}

// True effects come out as what they are, whichever way the assertion is put.
func TestEffects(t *testing.T) {
	for _, c := range []struct {
		ratio  float64
		blocks int
		expr   string
		want   string
	}{
		{0.88, 6, `relqps("hot-points") > 0.95`, Fail},
		{0.88, 6, `!(relqps("hot-points") < 0.95)`, Fail},
		{0.88, 6, `slower("hot-points")`, Pass},
		{0.88, 6, `same("hot-points", 0.05)`, Fail},
		{0.88, 6, `geomean("reads") > 0.95`, Fail},
		{0.88, 6, `min("reads") > 0.95`, Fail},
		{0.88, 12, `relqps("q1000") > 0.98`, Fail},
		{0.95, 2, `relqps("hot-points") > 0.95`, Inconclusive},
		{1, 3, `relqps("hot-points") > 0.95`, Pass},
		{1, 6, `same("hot-points", 0.05)`, Pass},
		{1, 8, `relqps("q1000") > 0.9`, Pass},
		{1.2, 3, `faster("hot-points") && relqps("hot-points") > 1.1`, Pass},
		{1.2, 3, `relcpu("hot-points") < 0.9`, Pass},
		{1.2, 3, `relqps("hot-points", "a18", "a16") > 1.1`, Pass},
	} {
		l := newLab()
		l.ratio = c.ratio
		for range c.blocks {
			l.block()
		}
		if v := l.judge(t, c.expr); v.Outcome != c.want {
			t.Errorf("ratio %g: %s, want %s: %s", c.ratio, v.Outcome, c.want, v.Assertions[0].Message)
		}
	}
}

// Interval and verdict agree, in whatever state an assertion is.
func TestIntervalsAgree(t *testing.T) {
	for _, ratio := range []float64{0.85, 0.93, 0.95, 0.97, 1} {
		l := newLab()
		l.ratio = ratio
		for blocks := 1; blocks <= 9; blocks++ {
			l.block()
			v := l.judge(t, `relqps("hot-points") > 0.95`, `relqps("q1000") < 0.95`)
			for _, r := range v.Assertions {
				a := r.Atoms[0]
				above := a.Lo != nil && *a.Lo >= a.Limit-1e-9
				below := a.Hi != nil && *a.Hi <= a.Limit+1e-9
				state := map[bool]string{true: "unknown", false: ""}[!above && !below]
				if above == (a.Op == ">") && (above || below) {
					state = "true"
				} else if above || below {
					state = "false"
				}
				if a.State != state {
					t.Errorf("%s after %d blocks: %s, but the interval says %q", r.Message, blocks, a.State, state)
				}
			}
		}
	}
}

// A failure stays one when more blocks are added, and a crash in an earlier run stays a crash; a measurement that was invalid
// in an earlier run is mended by a later one.
func TestRerun(t *testing.T) {
	l := newLab()
	l.ratio = 0.8
	for range 4 {
		l.block()
	}
	l.ratio = 1.3
	for range 8 {
		l.block()
	}
	if v := l.judge(t, `relqps("hot-points") > 0.95`); v.Outcome != Fail {
		t.Errorf("a lucky rerun turns a failure into %s", v.Outcome)
	}

	l = newLab()
	l.block(measurements(hot, "a16", func(m *engine.Measurement) { m.Invalid, m.Cause = "killed", "outside" }))
	l.blocks[0].Run = "r0"
	l.block()
	if v := l.judge(t, `relqps("hot-points") > 0.9`); v.Outcome != Pass {
		t.Errorf("what was invalid in an earlier run is still %s: %s", v.Outcome, v.Reason)
	}
	l.block(measurements(hot, "a18", func(m *engine.Measurement) { m.Invalid, m.Cause = "crashed", "server" }))
	l.blocks[2].Run = "r0"
	if v := l.judge(t, `relqps("hot-points") > 0.9`); v.Outcome != Fail {
		t.Errorf("a crash in an earlier run is forgotten: %s", v.Outcome)
	}
}

// --fresh opens a new series: the old one is shown and not counted.
func TestSeries(t *testing.T) {
	l := newLab()
	l.ratio = 0.7
	for range 3 {
		l.block()
	}
	l.ratio = 1
	for range 3 {
		l.block(func(b *engine.BlockRecord) { b.Series = "r1" })
	}
	v := l.judge(t, `relqps("hot-points") > 0.9`)
	if v.Outcome != Pass || len(v.Earlier) != 1 || v.Earlier[0].Outcome != Fail || v.Earlier[0].Blocks != 3 {
		t.Errorf("%s, earlier %+v", v.Outcome, v.Earlier)
	}
}

// Trouble of one candidate from outside is none of another's; of the base it is everybody's.
func TestInvalidOfOne(t *testing.T) {
	for variant, want := range map[string][]string{"a18": {Invalid, Pass}, "a20": {Pass, Invalid}, "a16": {Invalid, Invalid}} {
		l := newLab()
		l.facet.Variants = append(l.facet.Variants, engine.VariantInfo{Name: "a20"})
		for range 3 {
			l.block()
		}
		l.block(measurements(hot, variant, func(m *engine.Measurement) { m.Invalid, m.Cause = "killed", "outside" }))
		v := l.judge(t, `relqps("hot-points") > 0.8`)
		if got := []string{v.Assertions[0].Outcome, v.Assertions[1].Outcome}; !slices.Equal(got, want) || v.ExitCode != 4 {
			t.Errorf("%s killed: %v with exit %d, want %v", variant, got, v.ExitCode, want)
		}
	}
}

func TestSentinel(t *testing.T) {
	for factor, want := range map[float64]string{1: Pass, 0.8: Inconclusive} {
		l := newLab()
		l.facet.Variants = append(l.facet.Variants, engine.VariantInfo{Name: "a16'", Sentinel: true})
		for range 4 {
			l.block(measurements(hot, "a16'", func(m *engine.Measurement) {
				for i := range m.Samples {
					m.Samples[i].Ops *= factor
				}
			}))
		}
		v := l.judge(t, `relqps("hot-points") > 0.9`)
		if v.Outcome != want || len(v.Assertions) != 1 || want != Pass && !strings.Contains(v.Reason, "environment") {
			t.Errorf("second base at %g: %s, %d assertions, %s", factor, v.Outcome, len(v.Assertions), v.Reason)
		}
	}
}

// What is not asserted, not measured, or only warned about.
func TestConclusions(t *testing.T) {
	l := newLab()
	if v := l.judge(t); v.Outcome != Invalid || v.ExitCode != 4 {
		t.Errorf("nothing measured is %s", v.Outcome)
	}
	if v := l.judge(t, `relqps("hot-points") > 0.9`); v.Outcome != Inconclusive || v.ExitCode != 5 {
		t.Errorf("nothing measured, something asserted, is %s", v.Outcome)
	}
	l.ratio = 0.7
	for range 3 {
		l.block()
	}
	if v := l.judge(t); v.Outcome != Pass || v.ExitCode != 0 || !strings.Contains(strings.Join(v.Warnings, ""), "asserts nothing") {
		t.Errorf("nothing asserted is %s with %q", v.Outcome, v.Warnings)
	}
	rec := l.record(`relqps("hot-points") > 0.9`, `relqps("q1000") > 0.9`)
	for code, mode := range map[int]string{5: "report", 1: "fail", 0: "pass"} {
		rec.Experiment.Asserts[0].Severity, rec.Experiment.OnInconclusive = "warn", mode
		g, err := Compile(rec.Experiment.Asserts, rec.Facets, nil)
		if err != nil {
			t.Fatal(err)
		}
		if v := g.Judge(rec); v.ExitCode != code || v.Assertions[0].Outcome != Fail {
			t.Errorf("on_inconclusive %s: exit %d with %s; a warning fails: %s", mode, v.ExitCode, v.Outcome, v.Assertions[0].Outcome)
		}
	}
	none := engine.Record{}
	if g, _ := Compile(nil, nil, nil); g.Judge(&none).ExitCode != 0 {
		t.Error("an experiment that measures nothing and asserts nothing fails")
	}
}

// What the report shows beside a verdict.
func TestTables(t *testing.T) {
	l := newLab()
	l.ratio = 0.8
	for range 6 {
		l.block()
	}
	v := l.judge(t, `relqps("hot-points") > 0.9 && relqps("point-query") > 0.9`)
	r := v.Assertions[0]
	if r.Naive != Fail || math.Abs(r.NaiveValue-0.8) > 0.02 || r.HolmP <= 0 || r.HolmP > 0.01 {
		t.Errorf("naive %s %g, Holm %g", r.Naive, r.NaiveValue, r.HolmP)
	}
	for _, want := range []string{"FAIL", "a18 against a16", "limit 0.9", "pairs in", "boot", "min", "[x.yaml:30]", `relqps("point-query") > 0.9 is false`} {
		if !strings.Contains(r.Message, want) {
			t.Errorf("message %q lacks %q", r.Message, want)
		}
	}
	for _, s := range v.Steps {
		q, ok := s.Rel["relqps"]
		if s.Base == ok {
			t.Errorf("%s on %s: relqps present: %v", s.Step, s.Variant, ok)
		}
		if ok && s.Class == "steady" && (!q.Changed || q.Lo == nil || *q.Lo > 0.8 || *q.Hi < 0.8) {
			t.Errorf("%s: %+v", s.Step, q)
		}
	}
	if len(v.Groups) != 2 || v.Groups[1].Group != "reads" || len(v.Groups[1].Members) != 2 || math.Abs(v.Groups[1].Ratio.Point-0.8) > 0.02 {
		t.Errorf("groups: %+v", v.Groups)
	}
	same := newLab()
	for range 6 {
		same.block()
	}
	for _, s := range same.judge(t).Steps {
		if s.Rel["relqps"].Changed {
			t.Errorf("%s changed by %+v though nothing did", s.Step, s.Rel["relqps"])
		}
	}
}

// Comparisons of bare figures are possible and say so; so do response times of a closed loop.
func TestTags(t *testing.T) {
	l := newLab()
	for range 8 {
		l.block()
	}
	for expr, want := range map[string]string{
		`relqps("hot-points") > 0.9`:                                   "",
		`lo(relqps("hot-points")) > 0.9`:                               "unguarded",
		`qps("hot-points", "a18") / qps("hot-points", "a16") > 0.9`:    "unguarded",
		`max_response("hot-points") < seconds(2)`:                      "unguarded",
		`errors("hot-points") == 0 && boots("hot-points") == 8`:        "",
		`p99("hot-points") < ms(5)`:                                    "closed loop",
		`relp99("hot-points") < 1.5 && max_response("q1000") < ms(90)`: "closed loop unguarded",
		`cpu_per_op("hot-points") < ms(1) && !slower("hot-points")`:    "",
	} {
		r := l.judge(t, expr).Assertions[0]
		if got := strings.Join(r.Tags, " "); r.Outcome != Pass || got != want || r.Naive == "" && want != "" {
			t.Errorf("%s: %s with the tags %q, want %q; naive %q", expr, r.Outcome, got, want, r.Naive)
		}
	}
}

// An inconclusive verdict says what it would take; one that nothing would help does not promise anything.
func TestMinutesNeeded(t *testing.T) {
	l := newLab()
	l.ratio, l.spread = 0.915, 0.12
	for range 4 {
		l.block()
	}
	v := l.judge(t, `relqps("hot-points") > 0.95`, `relqps("q1000") > 0.7`)
	for i, least := range []float64{2, 4} { // more than half of what was measured; two more blocks of two minutes
		r := v.Assertions[i]
		if r.Outcome != Inconclusive || r.MinutesNeeded < least || r.MinutesNeeded > 2000 || !strings.Contains(r.Message, "more minutes of measuring would tell") {
			t.Errorf("%s: %g minutes", r.Message, r.MinutesNeeded)
		}
	}
}

// Steps drop out when they are decided, and those that nobody asserts are left to the engine.
func TestWanted(t *testing.T) {
	l := newLab()
	rec := l.record(`relqps("hot-points") > 0.9`, `relqps("q1000") > 0.5`, `p999("point-query") < ms(5)`)
	g, err := Compile(rec.Experiment.Asserts, rec.Facets, nil)
	if err != nil {
		t.Fatal(err)
	}
	wanted, state := g.Wanted(l.facet, nil)
	if !wanted[hot] || !wanted["q1000"] || !wanted[point] || state != "0 of 3 assertions decided" {
		t.Errorf("at the start: %v, %s", wanted, state)
	}
	if _, mentioned := wanted["point-query.pre_range=100"]; mentioned {
		t.Error("a step that nobody asserts is spoken of")
	}
	fewTail := measurements(point, "a18", func(m *engine.Measurement) {
		m.Ops = map[string]engine.Operation{"": {Service: histogramOf(1000)}}
	})
	for range 3 {
		l.block(fewTail)
	}
	wanted, state = g.Wanted(l.facet, l.blocks)
	if wanted[hot] || !wanted["q1000"] || wanted[point] || state != "1 of 3 assertions decided" {
		t.Errorf("after three blocks: %v, %s", wanted, state)
	}
	for range 3 {
		l.block(fewTail)
	}
	if wanted, _ = g.Wanted(l.facet, l.blocks); wanted["q1000"] {
		t.Errorf("after six blocks: %v", wanted)
	}
}

// A comparison that sits on its limit is given up when half of the budget is spent and far more would not decide it; one that the
// rest of the budget may decide is not, and nothing is given up before.
func TestFutility(t *testing.T) {
	for _, c := range []struct {
		blocks, budget int
		expr           string
		want           bool
	}{
		{6, 12, `relqps("hot-points") > 1`, false},
		{5, 12, `relqps("hot-points") > 1`, true},
		{6, 60, `relqps("hot-points") > 1`, true},
		{6, 12, `relqps("hot-points") > 1 and relqps("point-query") > 0.97`, true},
		{6, 12, `relqps("hot-points") > 0.96`, true},
	} {
		l := newLab()
		l.spread, l.boot, l.pairs, l.facet.MaxBlocks = 0.1, 0, 4, c.budget
		for range c.blocks {
			l.block(balanced(hot))
		}
		rec := l.record(c.expr)
		g, err := Compile(rec.Experiment.Asserts, rec.Facets, nil)
		if err != nil {
			t.Fatal(err)
		}
		if wanted, _ := g.Wanted(l.facet, l.blocks); wanted[hot] != c.want {
			t.Errorf("%s after %d of %d blocks: wanted %v", c.expr, c.blocks, c.budget, wanted[hot])
		}
		r := g.Judge(rec).Assertions[0]
		if futile := r.Reason == "futile"; r.Outcome != Inconclusive || futile == c.want {
			t.Errorf("%s after %d of %d blocks: %s", c.expr, c.blocks, c.budget, r.Message)
		}
	}
}

// balanced gives both variants of a step the same rates in turn, so that the estimate is 1 and the spread remains.
func balanced(step string) func(*engine.BlockRecord) {
	return func(b *engine.BlockRecord) {
		for i := range b.Measurements {
			m := &b.Measurements[i]
			if m.Step != step {
				continue
			}
			for k := range m.Samples {
				up := (k%2 == 0) == (m.Variant == "a18")
				m.Samples[k].Ops = 5000
				if up {
					m.Samples[k].Ops = 5500
				}
			}
		}
	}
}

// A member of a group with many more pairs than another counts with all of them: the first few alone would throw the rest away.
func TestGroupUsesAllPairs(t *testing.T) {
	few, many := stat.Pairs{}, stat.Pairs{}
	for i := range 10 {
		few.Add(1, 0.1)
		for k := range 15 { // the first in ten are far off
			d := 0.1
			if i == 0 {
				d = -1 - float64(k)
			}
			many.Add(1, d)
		}
	}
	members := []*sequential{{pairs: few, schedule: stat.Steady}, {pairs: many, schedule: stat.Steady}}
	got := geomean(members)
	if len(got.Diff) != 10 || math.Abs(stat.Median(got.Diff)-0.1) > 1e-9 {
		t.Errorf("%v", got.Diff)
	}
	for _, n := range []int{1, 7, 10} {
		if got := centreOfPart([]float64{3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, n-1, n); got != 3 {
			t.Errorf("last of %d parts: %v", n, got)
		}
	}
}
