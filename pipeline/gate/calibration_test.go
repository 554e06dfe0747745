package gate

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"pgpipeline/pipeline/engine"
)

// An A/A run gives back the noise that was planted in it, survives its file, and narrows the floor.
func TestCalibrate(t *testing.T) {
	l := newLab()
	l.spread, l.boot = 0.03, 0.01
	l.facet.Variants = []engine.VariantInfo{{Name: "a16", Base: true}, {Name: "a18", Sentinel: true}}
	for range 24 {
		l.block(func(b *engine.BlockRecord) {
			for i := range b.Measurements {
				for k := range b.Measurements[i].Samples {
					s := &b.Measurements[i].Samples[k]
					if s.Order = (k + i) % 2; s.Order == 1 {
						s.Ops *= 0.99 // whoever comes second is slower
					}
				}
			}
		})
	}
	rec := l.record()
	rec.Host.MachineID, rec.Experiment.Name = "m1", "x"
	c, err := Calibrate(rec)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := c.Write(&file); err != nil {
		t.Fatal(err)
	}
	back, err := ReadCalibration(&file)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := back.step("", hot)
	if !ok || s.Blocks != 24 || s.Pairs != 480 {
		t.Fatalf("%+v", s)
	}
	for name, v := range map[string][3]float64{
		"spread": {s.Spread, 0.03 * math.Sqrt2, 0.006}, "boot": {s.SigmaBoot, 0.01, 0.004}, "order": {s.Order, math.Log(0.99), 0.006}, "minutes": {s.MinutesABlock, 40.0 / 60, 0.001},
	} {
		if math.Abs(v[0]-v[1]) > v[2] {
			t.Errorf("%s = %g, planted %g", name, v[0], v[1])
		}
	}
	if s.OrderP > 1e-3 || s.Floor <= 0 || s.Floor > 0.05 {
		t.Errorf("order p %g, floor %g", s.OrderP, s.Floor)
	}
	if w, _ := back.step("", "q1000"); w.SigmaBoot != 0 || w.Pairs != 24 || w.Uniformity != 1 {
		t.Errorf("whole step: %+v", w)
	}
	if !strings.Contains(back.Text(), hot) {
		t.Errorf("no line about %s in:\n%s", hot, back.Text())
	}
	now := rec.Ended.Add(time.Hour)
	host := engine.HostFacts{MachineID: "m1"}
	for want, got := range map[string]string{
		"": back.Fits(host, "x", now), "another machine": back.Fits(engine.HostFacts{MachineID: "m2"}, "x", now),
		"experiment": back.Fits(host, "y", now), "older than": back.Fits(host, "x", now.AddDate(0, 0, 31)),
	} {
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("fits: %q, want %q", got, want)
		}
	}
	g, err := Compile(nil, rec.Facets, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := g.Use(Options{Noise: back}).Judge(rec)
	if !v.Noise.Calibrated || !strings.Contains(v.Noise.Text, "Calibrated today") {
		t.Errorf("%+v", v.Noise)
	}
}

// A calibration that was too old when the record was measured is not used, and that is said.
func TestExpiredCalibration(t *testing.T) {
	l := newLab()
	for range 3 {
		l.block()
	}
	rec := l.record(`relqps("hot-points") > 0.9`)
	for age, used := range map[int]bool{10: true, 40: false} {
		g, err := Compile(rec.Experiment.Asserts, rec.Facets, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &Calibration{Version: 1, Measured: rec.Ended.AddDate(0, 0, -age), Steps: []StepNoise{{Step: hot, Blocks: 24, Pairs: 480, Spread: 0.05, SigmaBoot: 0.002}}}
		v := g.Use(Options{Noise: c}).Judge(rec)
		if v.Noise.Calibrated != used || !used && !strings.Contains(v.Noise.Text, "older than 30 days") {
			t.Errorf("%d days old: %+v", age, v.Noise)
		}
	}
}

func TestCalibrateRefuses(t *testing.T) {
	l := newLab()
	for range 5 {
		l.block()
	}
	if _, err := Calibrate(l.record()); err == nil || !strings.Contains(err.Error(), "5 blocks are too few, at least 6") {
		t.Errorf("five blocks: %v", err)
	}
	if _, err := Calibrate(&engine.Record{}); err == nil {
		t.Error("an empty record calibrates")
	}
	for _, text := range []string{"{}", `{"version":1,"stepz":[]}`, "x"} {
		if _, err := ReadCalibration(strings.NewReader(text)); err == nil {
			t.Errorf("%s is a calibration", text)
		}
	}
}

// What lint says of assertions before anything runs.
func TestLint(t *testing.T) {
	l := newLab()
	for i := range l.facet.Steps {
		l.facet.Steps[i].Seconds = 20
	}
	quiet := &Calibration{Measured: time.Now()}
	for _, s := range l.facet.Steps {
		quiet.Steps = append(quiet.Steps, StepNoise{Step: s.Name, Spread: 0.005, SigmaBoot: 0.001, Blocks: 24, Pairs: 480})
	}
	for _, c := range []struct {
		expr   string
		blocks int
		noise  *Calibration
		msg    string
		hint   string
	}{
		{`relqps("hot-points") > 0.9`, 12, nil, "", ""},
		{`relqps("hot-points") > 1.7`, 12, nil, "", ""},
		{`relqps("hot-points") > 0.99`, 12, nil, "12 blocks resolve", "a limit of 0.9"},
		{`relqps("hot-points") > 0.99`, 12, quiet, "", ""},
		{`relqps("hot-points") > 1`, 12, nil, "12 blocks resolve", "faster(), slower()"},
		{`relcpu("hot-points") < 1.01`, 12, nil, "12 blocks resolve", "a limit of 1.0"},
		{`relqps("q1000") > 0.9`, 12, nil, "", ""},
		{`relqps("q1000") > 0.9`, 7, nil, "can pass but not fail with 7 blocks: a failure takes at least 8", "blocks: 8"},
		{`relqps("q1000") > 0.9`, 5, nil, "cannot be decided with 5 blocks: a pass takes at least 6, a failure 8", "blocks: 8"},
		{`p99("hot-points") < ms(5)`, 3, nil, "cannot be decided with 3 blocks", "blocks: 8"},
		{`!slower("q1000")`, 3, nil, "cannot be decided with 3 blocks", "blocks: 8"},
		{`max_response("q1000", "insert") < seconds(2)`, 1, nil, "", ""},
		{`geomean("reads") > 0.95 && min("reads") > 0.9`, 12, nil, "", ""},
	} {
		l.facet.MaxBlocks = c.blocks
		rec := l.record(c.expr)
		g, err := Compile(rec.Experiment.Asserts, rec.Facets, nil)
		if err != nil {
			t.Fatal(err)
		}
		found := g.Use(Options{Noise: c.noise}).Lint()
		switch {
		case c.msg == "" && len(found) > 0:
			t.Errorf("%s with %d blocks: %+v", c.expr, c.blocks, found)
		case c.msg != "" && (len(found) != 1 || !strings.Contains(found[0].Msg, c.msg) || !strings.Contains(found[0].Hint, c.hint) || found[0].Line != 30):
			t.Errorf("%s with %d blocks: %+v, want %q with %q", c.expr, c.blocks, found, c.msg, c.hint)
		}
	}
}
