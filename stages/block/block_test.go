package block_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/proc"
	"pgpipeline/stages/block"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
	"pgpipeline/stages/workload"
)

const rows = 4000 // more pages than the buffers of the smallest server here

// rig is two variants of one tiny load, and what a block says about them.
type rig struct {
	t       *testing.T
	options block.Options
	mu      sync.Mutex
	made    []engine.Measurement
	log     logBuffer
	onBusy  func(what string) // called with each progress text
}

// logBuffer takes the lines of the block and of its servers, as the log file of a node does.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// loaded makes a data directory with one small table and returns it, cleanly stopped.
func loaded(t *testing.T, install postgres.Install) string {
	t.Helper()
	server := pgtest.Server(t, install, "fsync = off\nshared_buffers = 32MB\n")
	_, err := workload.Load(context.Background(), workload.LoadOptions{ConnString: server.ConnString, Workload: "sysbench",
		Params: workload.Params{Tables: 1, Rows: rows}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	return server.DataDir()
}

func newRig(t *testing.T, version string, steps ...string) *rig {
	t.Helper()
	install := pgtest.Install(t, version)
	data := loaded(t, install)
	refs := make([]workload.StepRef, len(steps))
	for i, s := range steps {
		refs[i] = workload.StepRef{Step: s}
	}
	resolved, err := workload.Resolve(refs, workload.Params{Tables: 1, Rows: rows, Clients: 1, Duration: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	scratch, err := os.MkdirTemp("/tmp", "pipeline-block-")
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(scratch, 0o755)
	t.Cleanup(func() { os.RemoveAll(scratch) })
	r := &rig{t: t}
	conf := "fsync = off\nshared_buffers = 32MB\n"
	r.options = block.Options{Steps: resolved, Seed: 7, Scratch: scratch, Log: &r.log,
		Variants: []block.Variant{{Name: "a", Base: true, Install: install, Conf: conf, Data: data}, {Name: "b", Install: install, Conf: conf, Data: data}},
		Timing:   block.Timing{Slice: 200 * time.Millisecond, Discard: 20 * time.Millisecond, Warmup: 100 * time.Millisecond, WarmupCap: 200 * time.Millisecond},
		Warn:     func(format string, args ...any) { fmt.Fprintf(&r.log, format+"\n", args...) },
		Progress: func(p engine.Progress) {
			if r.onBusy != nil {
				r.onBusy(p.What)
			}
		},
		Record: func(m engine.Measurement) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.made = append(r.made, m)
		}}
	return r
}

func (r *rig) run() error {
	r.t.Helper()
	return block.Run(context.Background(), r.options)
}

func (r *rig) of(step, variant string) engine.Measurement {
	r.t.Helper()
	for _, m := range r.made {
		if strings.HasPrefix(m.Step, step) && m.Variant == variant {
			return m
		}
	}
	r.t.Fatalf("nothing was recorded of %s on %s\n%s", step, variant, r.log.String())
	return engine.Measurement{}
}

func TestBlockOnThreeVersions(t *testing.T) {
	for _, version := range []string{"11.21", "15.8", "17.0"} {
		t.Run(version, func(t *testing.T) {
			r := newRig(t, version, "point-query", "update-index", "scan")
			if err := r.run(); err != nil {
				t.Fatalf("%v\n%s", err, r.log.String())
			}
			for _, step := range []string{"point-query", "scan"} {
				a, b := r.of(step, "a"), r.of(step, "b")
				if len(a.Samples) < 3 || len(a.Samples) != len(b.Samples) {
					t.Errorf("%s: %d and %d samples; every pair has both", step, len(a.Samples), len(b.Samples))
				}
				for i := range a.Samples {
					if a.Samples[i].Pair != i || b.Samples[i].Pair != i || a.Samples[i].Order == b.Samples[i].Order {
						t.Errorf("%s: pair %d: %+v and %+v", step, i, a.Samples[i], b.Samples[i])
					}
				}
			}
			if n := len(r.of("update-index", "b").Samples); n != 1 {
				t.Errorf("update-index has %d samples; a step that writes is one stretch", n)
			}
			scan := r.of("scan", "a")
			if scan.Unit != "rows" || scan.Samples[0].Ops != rows {
				t.Errorf("a pass counted %v %s, the table has %d rows", scan.Samples[0].Ops, scan.Unit, rows)
			}
			costs(t, r.of("point-query", "a"), engine.CostServerCPU, engine.CostClientCPU, engine.CostSwitches, engine.CostOperations, engine.CostBuffersHit)
			costs(t, r.of("update-index", "a"), engine.CostWALBytes)
			if h := r.of("point-query", "a").Ops[""]; h.Count == 0 || h.Service == "" || h.MaxSeconds <= 0 {
				t.Errorf("latencies %+v", h)
			}
			leftovers(t, r.options.Scratch)
		})
	}
}

func costs(t *testing.T, m engine.Measurement, names ...string) {
	t.Helper()
	for _, n := range names {
		if m.Cost[n] <= 0 {
			t.Errorf("%s on %s: %s is %v", m.Step, m.Variant, n, m.Cost[n])
		}
	}
}

// leftovers finds servers that still run on the block's copies.
func leftovers(t *testing.T, scratch string) {
	t.Helper()
	for _, pid := range serversIn(scratch) {
		t.Errorf("process %d still runs on %s", pid, scratch)
	}
}

// serversIn are the postmasters whose data directory is below dir.
func serversIn(dir string) []int {
	var pids []int
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte("-D\x00"+dir)) {
			var pid int
			fmt.Sscanf(path, "/proc/%d/", &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestSameSeedSameOrder(t *testing.T) {
	orders := func() string {
		r := newRig(t, "17.0", "point-query")
		if err := r.run(); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, s := range r.of("point-query", "a").Samples[:3] {
			out = append(out, fmt.Sprint(s.Order))
		}
		return strings.Join(out, "")
	}
	if first, second := orders(), orders(); first != second {
		t.Errorf("orders %s and %s with one seed", first, second)
	}
}

func TestSerialBlock(t *testing.T) {
	r := newRig(t, "17.0", "point-query", "update-index")
	r.options.Serial = true
	most := 0
	r.onBusy = func(string) { most = max(most, len(serversIn(r.options.Scratch))) }
	if err := r.run(); err != nil {
		t.Fatal(err)
	}
	if most != 1 {
		t.Errorf("%d servers ran at the same time, want 1", most)
	}
	if a, b := r.of("update-index", "a"), r.of("update-index", "b"); len(a.Samples) != 1 || len(b.Samples) != 1 {
		t.Errorf("samples %d and %d", len(a.Samples), len(b.Samples))
	}
}

func TestServersThatDie(t *testing.T) {
	tests := []struct {
		name   string
		victim string // data directories are numbered in the order of the boots: the variant is found by its name in the log
		signal syscall.Signal
		side   string
	}{
		{"a killed candidate is nobody's fault here", "b", syscall.SIGKILL, "outside"},
		{"a candidate that crashes", "b", syscall.SIGABRT, "candidate:b"},
		{"a base that crashes", "a", syscall.SIGABRT, "base"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, "17.0", "update-index")
			for i := range r.options.Variants { // a fork of the server with a name that tells which variant it is
				r.options.Variants[i].Conf += "cluster_name = '" + r.options.Variants[i].Name + "'\n"
			}
			r.options.Steps[0].Duration = time.Minute
			var once sync.Once
			r.onBusy = func(what string) {
				if !strings.Contains(what, "update-index on "+tt.victim) && !strings.Contains(what, "update-index_range=100 on "+tt.victim) {
					return
				}
				once.Do(func() { go killWhenBusy(r.options.Scratch, tt.victim, tt.signal) })
			}
			if tt.victim == "a" { // whichever comes first: the other one must end on its own
				r.options.Variants = r.options.Variants[:1]
			} else {
				r.options.Variants = r.options.Variants[1:]
			}
			began := time.Now()
			err := r.run()
			var side *engine.SideError
			if !errors.As(err, &side) || side.Side != tt.side {
				t.Fatalf("error %v, want the side %s\n%s", err, tt.side, r.log.String())
			}
			if time.Since(began) > 50*time.Second {
				t.Error("the step went on although its server was gone")
			}
			m := r.of("update-index", tt.victim)
			if m.Invalid == "" {
				t.Errorf("the measurement is not marked: %+v", m)
			}
			leftovers(t, r.options.Scratch)
		})
	}
}

// killWhenBusy sends a signal to a backend, which takes the whole server down, or to the postmaster for SIGKILL.
func killWhenBusy(dir, variant string, signal syscall.Signal) {
	for range 400 {
		for _, pid := range serversIn(dir) {
			for _, child := range proc.Descendants(pid) {
				title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
				if bytes.Contains(title, []byte("UPDATE")) {
					syscall.Kill(child, signal)
					return
				}
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestCachedIsBroughtAbout measures the same reads with the data in each of the places that an experiment can ask for.
func TestCachedIsBroughtAbout(t *testing.T) {
	for _, cached := range []string{"postgres", "os", "none"} {
		t.Run(cached, func(t *testing.T) {
			r := newRig(t, "17.0", "scan")
			r.options.Cached = cached
			conf := map[string]string{"os": "shared_buffers = 256kB\n", "none": "shared_buffers = 256kB\ndebug_io_direct = data\n"}[cached]
			for i := range r.options.Variants {
				r.options.Variants[i].Conf += conf // fewer buffers than the table has pages
			}
			scratch, err := os.MkdirTemp("/var/tmp", "pipeline-block-") // on a disk, where /tmp may be memory
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(scratch)
			os.Chmod(scratch, 0o755)
			r.options.Scratch = scratch
			if err := r.run(); err != nil {
				t.Fatalf("%v\n%s", err, r.log.String())
			}
			want := map[string]string{"postgres": "pages read into shared_buffers", "os": "MB read into the page cache", "none": ""}[cached]
			if log := r.log.String(); !strings.Contains(log, want) {
				t.Errorf("the log does not say %q:\n%s", want, log)
			}
			m := r.of("scan", "b")
			if len(m.Warnings) > 0 || !strings.HasPrefix(m.Notes["cached"], cached+" was meant") {
				t.Errorf("note %q, warnings %q", m.Notes["cached"], m.Warnings)
			}
		})
	}
}
