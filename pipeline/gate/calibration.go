package gate

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/stat"
)

// CalibrationVersion is the version of the calibration file; it changes when a field changes its meaning.
const CalibrationVersion = 1

const (
	// CalibrationDays is how long a calibration holds.
	CalibrationDays = 30
	// CalibrationBlocks is how many blocks one should have; fewer than a quarter are refused.
	CalibrationBlocks = 24
)

// Calibration is what an A/A run taught about a machine: the base against a second copy of itself through the entire path. It
// is kept as JSON.
type Calibration struct {
	Version    int         `json:"version"`
	Machine    string      `json:"machine"`    // engine.HostFacts.MachineID
	Experiment string      `json:"experiment"` // its name: other steps, clients and data have noise of their own
	Measured   time.Time   `json:"measured"`
	Steps      []StepNoise `json:"steps"`
}

// StepNoise is the noise of one step in one facet. Spreads are standard deviations of log rates: 0.01 is 1 %.
type StepNoise struct {
	Facet         string  `json:"facet"`
	Step          string  `json:"step"`
	Class         string  `json:"class"`
	Blocks        int     `json:"blocks"`
	Pairs         int     `json:"pairs"`
	Spread        float64 `json:"spread"`          // of one pair within its block, robust
	SigmaBoot     float64 `json:"sigma_boot"`      // of one server from boot to boot
	Order         float64 `json:"order"`           // log ratio of the second slice of a pair over the first
	OrderP        float64 `json:"order_p"`         // two-sided probability of that, were there no effect of order
	Uniformity    float64 `json:"uniformity"`      // Kolmogorov-Smirnov probability of the blocks' p-values; 1 for whole steps
	Lag1          float64 `json:"lag1"`            // correlation of neighbouring pairs
	FalseClaims   int     `json:"false_claims"`    // blocks whose own pairs claim a change at 5 %
	Floor         float64 `json:"floor"`           // smallest change that the calibrated number of blocks finds, as a fraction; 0: none
	MinutesABlock float64 `json:"minutes_a_block"` // measured, both variants together
}

func (s StepNoise) perBlock() float64 {
	return math.Max(1, float64(s.Pairs)/float64(max(1, s.Blocks)))
}

// Calibrate learns from the record of an A/A run: facets of a base and a sentinel. Steps with too few blocks are an error.
func Calibrate(rec *engine.Record) (*Calibration, error) {
	c := &Calibration{Version: CalibrationVersion, Machine: rec.Host.MachineID, Experiment: rec.Experiment.Name, Measured: rec.Ended}
	for _, f := range rec.Facets {
		sc := scope{facet: f}
		twins := sc.candidates()
		if len(twins) != 1 {
			return nil, fmt.Errorf("calibrate: facet %q has %d variants beside the base; an A/A run has one, a second copy of the base", f.Name, len(twins))
		}
		series := seriesOf(f, rec.Blocks)
		e := gather(f, rec.Blocks, series[len(series)-1])
		for _, step := range f.Steps {
			s, err := e.stepNoise(step, twins[0], sc.base())
			if err != nil {
				return nil, err
			}
			c.Steps = append(c.Steps, s)
		}
	}
	if len(c.Steps) == 0 {
		return nil, fmt.Errorf("calibrate: the run measured nothing")
	}
	return c, nil
}

func (e evidence) stepNoise(step engine.StepInfo, twin, base string) (StepNoise, error) {
	p, _ := e.pairs(step.Name, twin, base, perSlice["qps"])
	s := StepNoise{Facet: e.facet.Name, Step: step.Name, Class: step.Class, Blocks: p.Boots(), Pairs: len(p.Diff), Lag1: stat.Lag1(p.Diff), Uniformity: 1}
	if s.Blocks < CalibrationBlocks/4 {
		return s, fmt.Errorf("calibrate %s: %d blocks are too few, at least %d are needed and %d recommended", step.Name, s.Blocks, CalibrationBlocks/4, CalibrationBlocks)
	}
	s.Spread, s.SigmaBoot = p.Components()
	s.MinutesABlock = e.minutes(step.Name, twin, base) / float64(s.Blocks)
	order := stat.NewTest(e.orders(step.Name, twin, base), stat.Boot{Calibrated: true})
	s.Order, s.OrderP = order.Centre(), math.Min(1, 2*math.Min(order.Above(0), order.Below(0)))
	schedule := scheduleOf(step, p)
	if schedule == stat.Steady {
		s.Uniformity, s.FalseClaims = blockClaims(p)
	}
	floor := stat.Power{Spread: s.Spread, Boot: stat.LearntBoot(s.SigmaBoot, s.Blocks), PairsPerBlock: s.perBlock(), Alpha: planLevel, Schedule: schedule}.Floor(s.Blocks)
	s.Floor = finite(-math.Expm1(-floor))
	return s, nil
}

// orders are the log ratios of the later over the earlier slice of each pair.
func (e evidence) orders(step, twin, base string) stat.Pairs {
	var out stat.Pairs
	for i := range e.blocks {
		a, b := e.measurement(i, step, twin), e.measurement(i, step, base)
		if a == nil || b == nil {
			continue
		}
		first := byPair(b)
		for n, x := range byPair(a) {
			y := first[n]
			if !counts(x) || !counts(y) {
				continue
			}
			d := math.Log(perSlice["qps"](*x)) - math.Log(perSlice["qps"](*y))
			if x.Order < y.Order {
				d = -d
			}
			out.Add(i, d)
		}
	}
	return out
}

// blockClaims tests each block by its own pairs, as if it were all there is: in an A/A run the p-values are uniform and one in
// twenty claims a change, unless boots differ.
func blockClaims(p stat.Pairs) (uniformity float64, claims int) {
	var all []float64
	for _, d := range p.ByBlock() {
		var one stat.Pairs
		for i, v := range d {
			one.Add(i, v)
		}
		t := stat.NewTest(one, stat.Boot{Calibrated: true})
		v := math.Min(1, 2*math.Min(t.Above(0), t.Below(0)))
		all = append(all, v)
		if v < 0.05 {
			claims++
		}
	}
	return stat.UniformP(all), claims
}

func (c *Calibration) step(facet, name string) (StepNoise, bool) {
	for _, s := range c.Steps {
		if s.Facet == facet && s.Step == name {
			return s, true
		}
	}
	return StepNoise{}, false
}

// Fits says why a calibration must not be used for a run; "" when it may.
func (c *Calibration) Fits(host engine.HostFacts, experiment string, now time.Time) string {
	switch {
	case c.Machine != host.MachineID:
		return "the calibration is of another machine"
	case c.Experiment != experiment:
		return fmt.Sprintf("the calibration is of the experiment %q", c.Experiment)
	case c.expired(now):
		return fmt.Sprintf("the calibration of %s is older than %d days", c.Measured.Format(time.DateOnly), CalibrationDays)
	}
	return ""
}

func (c *Calibration) expired(now time.Time) bool {
	return now.Sub(c.Measured) > CalibrationDays*24*time.Hour
}

// Write writes the calibration as JSON.
func (c *Calibration) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(c)
}

// ReadCalibration reads what Write wrote.
func ReadCalibration(r io.Reader) (*Calibration, error) {
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	c := &Calibration{}
	if err := dec.Decode(c); err != nil {
		return nil, fmt.Errorf("read calibration: %w", err)
	}
	if c.Version != CalibrationVersion {
		return nil, fmt.Errorf("read calibration: version %d, want %d; run `pipeline noise` again", c.Version, CalibrationVersion)
	}
	return c, nil
}

// Text is the calibration as a table for people.
func (c *Calibration) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-34s %6s %6s %8s %8s %8s %8s %7s\n", "step", "blocks", "pairs", "pair sd", "boot sd", "order", "KS p", "floor")
	for _, s := range c.Steps {
		name := s.Step
		if s.Facet != "" {
			name += " (" + s.Facet + ")"
		}
		fmt.Fprintf(&b, "%-34s %6d %6d %7.2f%% %7.2f%% %7.2f%% %8.2g %6.1f%%\n", name, s.Blocks, s.Pairs, 100*s.Spread, 100*s.SigmaBoot, 100*s.Order, s.Uniformity, 100*s.Floor)
	}
	return b.String()
}
