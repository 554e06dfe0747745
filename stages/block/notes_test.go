package block

import (
	"strings"
	"testing"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/workload"
)

func TestStallsAreDescribed(t *testing.T) {
	for want, rates := range map[string][]float64{
		"none":                                   {100, 90, 110, 11},
		"1, the longest of 2 s from second 2 on": {100, 90, 0, 9, 110, 100, 95},
		"2, the longest of 3 s from second 5 on": {100, 0, 100, 100, 100, 1, 2, 3, 100, 100},
	} {
		c := &collector{}
		for i, r := range rates {
			c.m.Series = append(c.m.Series, engine.Second{T: float64(i), Ops: map[string]float64{"insert": r}})
		}
		if got := c.stalls("insert"); got != want {
			t.Errorf("%v: %s, want %s", rates, got, want)
		}
	}
}

// The rule of 95 percent.
func TestMissedTargetIsMarked(t *testing.T) {
	steps, err := workload.Resolve([]workload.StepRef{{Step: "q100"}}, workload.Params{Clients: 2})
	if err != nil {
		t.Fatal(err)
	}
	for rows, missed := range map[int64]bool{2000: false, 1900: false, 1899: true, 0: true} {
		c := &collector{step: steps[0], counted: 10, notes: map[string]string{}, hist: map[string]*latency{"insert": {ops: rows}}}
		if rows == 1900 { // a last query that outlasts the schedule by a second
			c.counted, c.step.Duration = 11, 10*time.Second
		}
		c.noteTarget()
		if got := len(c.m.Warnings) == 1 && strings.Contains(c.m.Warnings[0], "of 200 rows/s"); got != missed || c.notes["insert rate"] == "" {
			t.Errorf("%d rows in 10 s: %q, %v", rows, c.m.Warnings, c.notes)
		}
	}
}

func TestCachedIsCheckedAgainstReads(t *testing.T) {
	const page = pageBytes
	for _, c := range []struct {
		cached     string
		hit, read  float64
		fetched    float64 // bytes from the disk
		want       string  // part of the warning; "": fits
		knowsNoIO  bool
		deviceRead float64
	}{
		{cached: "", hit: 1, read: 1},
		{cached: "postgres", hit: 10000, read: 100},
		{cached: "postgres", hit: 10000, read: 1000, want: "too many pages were not in shared_buffers"},
		{cached: "os", hit: 500, read: 500},
		{cached: "os", hit: 500, read: 500, fetched: 100 * page, want: "had to read from the disk"},
		{cached: "os", hit: 1000, read: 100, want: "nearly all pages were in shared_buffers"},
		{cached: "none", hit: 500, read: 500, fetched: 100 * page},
		{cached: "none", hit: 500, read: 500, fetched: 10 * page, want: "the operating system had nearly all pages"},
		{cached: "none", hit: 500, read: 500, knowsNoIO: true, deviceRead: 100 * page},
		{cached: "postgres", want: "cannot be checked"},
	} {
		b := &block{Options: Options{Cached: c.cached}}
		k := &collector{block: b, notes: map[string]string{}, fromDisk: c.fetched, knowsIO: !c.knowsNoIO}
		k.m.Cost = map[string]float64{engine.CostBuffersHit: c.hit, engine.CostBuffersRead: c.read, engine.CostReadBytes: c.deviceRead}
		k.checkCached()
		got := strings.Join(k.m.Warnings, "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
