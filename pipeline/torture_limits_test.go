package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/store"
)

func tortureLimits(t *testing.T, count *tally) {
	if os.Getenv("TORTURE") != "" { // a minute of CPU time
		t.Run("week", func(t *testing.T) { weekOfSamples(t, count) })
	}
	t.Run("secrets", func(t *testing.T) { secrets(t, count) })
}

// What the tool may take for the samples of a week: judging and printing need all of them, and while something is measured the
// garbage collector rests.
const judgingLimit, measuringLimit = 512 << 20, 2 << 30

// weekOfSamples puts a week of one-second samples beside a real run, which then judges, prints and measures on.
func weekOfSamples(t *testing.T, count *tally) {
	r := newRig(t, count, tortureFile)
	r.run(0)
	rec := r.record()
	if t.Failed() {
		t.FailNow()
	}
	small := peak(r.do(0, "check", "latest"))
	const blocks, samples = 240, 630 // per block and measurement; 4 measurements a block: 604,800 in all
	run, err := store.OpenRuns(filepath.Join(r.dir, ".pipeline"), store.Options{}).Resume(rec.ID)
	if err != nil {
		t.Fatal(err)
	}
	for i := range blocks {
		if err := run.AppendBlock(rec.Blocks[0].EvidenceKey, weekBlock(t, rec.Blocks[0], i, samples)); err != nil {
			t.Fatal(err)
		}
	}
	run.Close()
	count.injected["a week of samples"]++
	judged, printed := r.do(0, "check", "latest"), r.do(0, "report", "latest", "--format", "json")
	measured := r.run(0, "--add-blocks", "1")
	for verb, p := range map[string]*tool{"check": judged, "report": printed, "run": measured} {
		took := p.cmd.ProcessState.UserTime().Round(time.Millisecond)
		t.Logf("%s over %d samples: at most %d MiB resident (a short run: %d MiB), %v of CPU", verb, blocks*samples*4, peak(p)>>20, small>>20, took)
		limit := int64(judgingLimit)
		if verb == "run" {
			limit = measuringLimit
		}
		if peak(p) > limit {
			t.Errorf("%s takes %d MiB", verb, peak(p)>>20)
		}
	}
	if !t.Failed() {
		count.recovered++
	}
}

// peak is the largest resident size of a tool in bytes.
func peak(p *tool) int64 { return p.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10 }

// weekBlock is a copy of a real block with more samples, and as many seconds in its series, as a long one has them.
func weekBlock(t *testing.T, b engine.BlockRecord, i, samples int) []byte {
	t.Helper()
	length := 45 * time.Minute
	b.Number, b.Seed = b.Number+10+i, b.Seed+uint64(i)+1
	b.Started = b.Started.Add(-time.Duration(i+1) * length)
	b.Ended = b.Started.Add(length)
	many := make([]engine.Measurement, len(b.Measurements))
	for k, m := range b.Measurements {
		one, second := m.Samples[0], m.Series[0]
		m.Samples, m.Series = nil, nil
		for s := range samples {
			second.T = float64(s)
			m.Series = append(m.Series, second)
			one.Pair, one.Seconds, one.Start = s, 1, b.Started.Add(time.Duration(s)*time.Second)
			one.Ops *= 1 + float64(s%7-3)/1000
			m.Samples = append(m.Samples, one)
		}
		many[k] = m
	}
	b.Measurements = many
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// canary is what must not turn up anywhere.
const canary = "c4n4ry-51a7e"

// secrets writes an address with a password and one with a token, a variable named like a secret, and a secret of the
// environment into an experiment, and searches everything that the tool leaves or prints.
func secrets(t *testing.T, count *tally) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	closed.Close()
	text := strings.Replace(tortureFile, `source: "system::"`, fmt.Sprintf(
		`source: ["https://joe:%[1]s@%[2]s/pg.tar.gz", "https://%[2]s/pg.tar.gz?token=%[1]s", "system::"]`, canary, address), 1)
	text = strings.Replace(text, "{use: prebuilt}", "{use: prebuilt, env: {API: {secret: CANARY}}}", 1)
	text = strings.Replace(text, "name: torture\n", "name: torture\nvars: {api_token: none}\n", 1)
	r := newRig(t, count, text)
	r.env = []string{"CANARY=" + canary}
	count.injected["secret in the experiment"]++
	tools := []*tool{
		r.run(0, "--set", "api_token="+canary),
		r.do(0, "plan", "t.yaml"), r.do(0, "explain", "t.yaml", "fetch"), r.do(0, "show", "latest"), r.do(0, "show", "latest", "--json"),
		r.do(0, "logs", "latest", "fetch"), r.do(0, "lint", "t.yaml"), r.do(0, "cache", "ls"), r.do(0, "runs"),
	}
	for _, format := range []string{"text", "markdown", "html", "json", "csv", "junit", "bench"} {
		tools = append(tools, r.do(0, "report", "latest", "--format", format))
	}
	for _, p := range tools {
		events, _ := json.Marshal(p.events)
		for where, out := range map[string]string{"stdout": p.stdout.String(), "stderr": p.errors(), "events": string(events)} {
			if at := strings.Index(out, canary); at >= 0 {
				t.Errorf("%v: %s shows the secret: %q", p.cmd.Args[1:], where, out[max(0, at-80):at+len(canary)])
			}
		}
	}
	r.noCanary()
	if !t.Failed() {
		count.recovered++
	}
}

// noCanary searches all files but the experiment itself.
func (r *rig) noCanary() {
	r.t.Helper()
	files := 0
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "t.yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if at := bytes.Index(data, []byte(canary)); at >= 0 {
			r.t.Errorf("%s holds the secret: %q", path, data[max(0, at-80):at+len(canary)])
		}
		return nil
	})
	if err != nil || files < 100 {
		r.t.Errorf("%d files were searched: %v", files, err)
	}
}
