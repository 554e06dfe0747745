package gate

import (
	"testing"
	"time"

	"pgpipeline/pipeline/engine"
)

// An accepted regression is excused until its day, as long as it is no larger, however the assertion is put.
func TestAccept(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 1, d, 0, 0, 0, 0, time.UTC) }
	entry := Accept{Step: "hot-points", Metric: "relqps", Size: 0.15, Reason: "costs of a fix", Until: day(10), By: "dba"}
	with := func(change func(*Accept)) Accept {
		a := entry
		change(&a)
		return a
	}
	for _, c := range []struct {
		name, expr string
		ratio      float64
		entry      Accept
		outcome    string
		state      string
	}{
		{"within", `relqps("hot-points") > 0.95`, 0.9, entry, Pass, "applied"},
		{"under a negation", `!(relqps("hot-points") < 0.95)`, 0.9, entry, Pass, "applied"},
		{"as a claim", `!slower("hot-points", 0.05)`, 0.9, entry, Pass, "applied"},
		{"with others", `relqps("hot-points") > 0.95 && errors("hot-points") == 0`, 0.9, entry, Pass, "applied"},
		{"by a glob", `relqps("hot-points") > 0.95`, 0.9, with(func(a *Accept) { a.Step = "hot-*" }), Pass, "applied"},
		{"by the whole name", `relqps("hot-points") > 0.95`, 0.9, with(func(a *Accept) { a.Step = "hot-points_range=100" }), Pass, "applied"},
		{"of a group", `geomean("mine") > 0.95`, 0.9, with(func(a *Accept) { a.Step = "mine" }), Pass, "applied"},
		{"larger", `relqps("hot-points") > 0.95`, 0.75, entry, Fail, "exceeded"},
		{"expired", `relqps("hot-points") > 0.95`, 0.9, with(func(a *Accept) { a.Until = day(2) }), Fail, "expired"},
		{"from its end on", `relqps("hot-points") > 0.95`, 0.9, with(func(a *Accept) { a.Until = day(3) }), Fail, "expired"},
		{"of another step", `relqps("hot-points") > 0.95`, 0.9, with(func(a *Accept) { a.Step = "point-query" }), Fail, "unused"},
		{"of another metric", `relqps("hot-points") > 0.95`, 0.9, with(func(a *Accept) { a.Metric = "relcpu" }), Fail, "unused"},
		{"another fails too", `relqps("hot-points") > 0.95 && relqps("point-query") > 0.95`, 0.9, entry, Fail, "exceeded"},
		{"nothing fails", `relqps("hot-points") > 0.95`, 1, entry, Pass, "unused"},
		{"without a reason", `relqps("hot-points") > 0.95`, 0.9, with(func(a *Accept) { a.Reason = "" }), Fail, "invalid"},
		{"growing costs", `relcpu("hot-points") < 1.05`, 0.9, with(func(a *Accept) { a.Metric = "relcpu" }), Pass, "applied"},
		{"costs grown larger", `relcpu("hot-points") < 1.05`, 0.7, with(func(a *Accept) { a.Metric = "relcpu" }), Fail, "exceeded"},
	} {
		l := newLab()
		l.ratio = c.ratio
		for range 6 {
			l.block()
		}
		rec := l.record(c.expr)
		g, err := Compile(rec.Experiment.Asserts, rec.Facets, map[string][]string{"mine": {"*point*_range=100"}})
		if err != nil {
			t.Fatal(err)
		}
		v := g.Use(Options{Accept: []Accept{c.entry}, Now: day(3)}).Judge(rec)
		if v.Outcome != c.outcome || v.Accepted[0].State != c.state {
			t.Errorf("%s: %s with the entry %s, want %s with %s: %s", c.name, v.Outcome, v.Accepted[0].State, c.outcome, c.state, v.Assertions[0].Message)
		}
		if told := len(v.Assertions[0].Accepted) == 1; told != (c.state != "unused") {
			t.Errorf("%s: an entry that is %s, and the assertion says %q", c.name, c.state, v.Assertions[0].Accepted)
		}
	}
}

// A closed series is judged too; what the accept file did is told of the current one alone.
func TestAcceptOfEarlierSeries(t *testing.T) {
	l := newLab()
	l.ratio = 0.9
	for range 6 {
		l.block()
	}
	l.ratio, l.facet.Series = 1, "r2"
	for range 6 {
		l.block(func(b *engine.BlockRecord) { b.Series = "r2" })
	}
	rec := l.record(`relqps("hot-points") > 0.95`)
	g, err := Compile(rec.Experiment.Asserts, rec.Facets, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)
	accept := Accept{Step: "hot-points", Metric: "relqps", Size: 0.15, Reason: "costs of a fix", Until: now.AddDate(0, 0, 7), By: "dba"}
	v := g.Use(Options{Accept: []Accept{accept}, Now: now}).Judge(rec)
	if len(v.Earlier) != 1 || v.Earlier[0].Outcome != Fail || v.Outcome != Pass || v.Accepted[0].State != "unused" {
		t.Errorf("earlier series %+v, now %s with the entry %s", v.Earlier, v.Outcome, v.Accepted[0].State)
	}
}

func TestAcceptCheck(t *testing.T) {
	good := Accept{Step: "a", Metric: "relp99", Size: 0.1, Reason: "r", Until: time.Unix(1, 0), By: "b"}
	if s := good.Check(); s != "" {
		t.Error(s)
	}
	for _, spoil := range []func(*Accept){func(a *Accept) { a.Step = "" }, func(a *Accept) { a.Size = 0 }, func(a *Accept) { a.Size = 80 },
		func(a *Accept) { a.Until = time.Time{} }, func(a *Accept) { a.Metric = "qps()" }, func(a *Accept) { a.By = "" }} {
		a := good
		spoil(&a)
		if a.Check() == "" {
			t.Errorf("%+v is accepted", a)
		}
	}
}
