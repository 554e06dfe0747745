package block

import (
	"strings"
	"testing"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/external"
	"pgpipeline/stages/workload"
)

func TestStallsAreDescribed(t *testing.T) {
	for want, tenths := range map[string][]int{
		"none": {},
		"1, the longest of 0.2 s from second 2.0 on": {20, 21},
		"2, the longest of 0.4 s from second 2.5 on": {3, 25, 26, 27, 28},
	} {
		c := &collector{notes: map[string]string{}, hist: map[string]*latency{"insert": {}}, step: workload.Step{StepInfo: engine.StepInfo{Class: workload.Whole}}}
		list := make(engine.Tenths, 50)
		for i := range list {
			list[i] = 100
		}
		for _, i := range tenths {
			list[i] = 9
		}
		c.m.Tenths = map[string]engine.Tenths{"insert": list}
		c.m.Series = []engine.Second{{T: 0, MaxSeconds: engine.NewReadings(map[string]float64{"insert": 0.1})}, {T: 1, MaxSeconds: engine.NewReadings(map[string]float64{"insert": 0.4})}}
		notes := c.measurement().Notes
		if notes["stalls of insert"] != want || notes["longest response of insert"] != "0.400 s, in second 1" {
			t.Errorf("%v: %v, want %s", tenths, notes, want)
		}
	}
}

func TestRowsChanged(t *testing.T) {
	for _, c := range []struct {
		writes, tool     bool
		updated, changed float64
		events           float64
		rows             float64
		marked           bool
	}{
		{updated: 100, events: 1000, rows: 100},
		{updated: 900, events: 100_000, rows: 900},
		{updated: 1001, events: 100_000, rows: 1001, marked: true},
		{changed: 5000, events: 5000, rows: 5000, marked: true}, // the counters have not arrived
		{writes: true, updated: 5010, changed: 5000, events: 5000, rows: 5000},
		{writes: true, tool: true, updated: 5010, events: 5000, rows: 5010},
	} {
		kind := &workload.Kind{}
		if c.tool {
			kind.Tool = &external.Tool{Name: "pgbench"}
		}
		k := &collector{step: workload.Step{StepInfo: engine.StepInfo{Name: "mix", Writes: c.writes}, Kind: kind}, changed: int64(c.changed)}
		k.m.Samples = []engine.Sample{{Events: c.events / 2}, {Events: c.events / 2}}
		rows := k.rowsChanged(map[string]float64{"rows_updated": 50, "rows_inserted": 7}, map[string]float64{"rows_updated": 50 + c.updated, "rows_inserted": 7})
		if !c.writes {
			k.checkReadsOnly(rows)
		}
		if marked := len(k.m.Warnings) == 1 && strings.Contains(k.m.Warnings[0], "mix writes"); rows != c.rows || marked != c.marked {
			t.Errorf("%+v: %v rows, %q", c, rows, k.m.Warnings)
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

func TestDilution(t *testing.T) {
	for _, c := range []struct {
		whole, empty float64
		want         string
	}{
		{100e-6, 50e-6, "100.0 us, 50.0 us for an empty statement: 50 % is the server's work on the statement, and a server that takes 10 % longer for it shows as 0.952"},
		{100e-6, 100e-6, "cannot be told"},
		{100e-6, 120e-6, "cannot be told"},
	} {
		if got := dilution(c.whole, c.empty); !strings.Contains(got, c.want) {
			t.Errorf("%v, %v: %q", c.whole, c.empty, got)
		}
	}
}
