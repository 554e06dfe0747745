package main

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"pgpipeline/pipeline/gate"
	"pgpipeline/pipeline/stat"
)

const data = "../../stat/testdata"

// The short form prints every figure, and the same again when it is run again.
func TestShortForm(t *testing.T) {
	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		if ok, err := run(data, true, w); err != nil || !ok {
			t.Fatalf("ok = %v, err = %v", ok, err)
		}
	}
	if first.String() != second.String() {
		t.Errorf("two runs differ:\n%s\n%s", &first, &second)
	}
	if n := strings.Count(first.String(), "    target  "); n != 12 {
		t.Errorf("%d figures, want 12", n)
	}
	if !strings.Contains(first.String(), "blocks: 11 of 20") {
		t.Error("the published near-A/A pairs are not 11 of 20")
	}
}

// What no luck of a few trials can hide: on recorded traces nothing that did not change fails, and what is far below the gate
// never passes.
func TestReplay(t *testing.T) {
	traces, err := readTraces(os.DirFS(data))
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range traces {
		if got := replayed(tr, 1, 0.85, 200); got.fail > 0 {
			t.Errorf("%s: %d of 200 A/A replays fail", tr.name, got.fail)
		}
		if got := replayed(tr, 0.7, 0.95, 200); got.pass > 0 {
			t.Errorf("%s: %d of 200 replays of 0.70 pass a gate of 0.95", tr.name, got.pass)
		}
	}
	if got := replayed(traces[0], 1, 0.9, 200); got.passed() < 0.9 {
		t.Errorf("%s: only %.0f %% of A/A replays pass a gate of 0.90", traces[0].name, 100*got.passed())
	}
}

// The simulated machines have the spread that they are said to have.
func TestMachines(t *testing.T) {
	for _, n := range machines {
		m := newMachine(n, seeded("spread", 1))
		var p stat.Pairs
		for b := range 200 {
			for _, d := range m.block(0) {
				p.Add(b, d)
			}
		}
		_, boot := p.Components()
		if math.Abs(boot-n.boot) > 0.4*n.boot+0.002 {
			t.Errorf("%s: boots differ by %g, want %g", n.name, boot, n.boot)
		}
		if s := p.Spread(); s < n.white || s > 5*n.white {
			t.Errorf("%s: pairs spread by %g", n.name, s)
		}
	}
}

func TestUpperBound(t *testing.T) {
	for hits, want := range map[int]float64{0: 0.00299, 5: 0.01046} { // 1 - 0.05^(1/1000); published exact bound for 5 of 1000
		if got := upperBound(hits, 1000); math.Abs(got-want) > 2e-4 {
			t.Errorf("%d of 1000: %g, want %g", hits, got, want)
		}
	}
}

func TestRivals(t *testing.T) {
	flat := make([]float64, 240)
	if r := naive(flat); r.point != 0 {
		t.Errorf("naive of nothing: %+v", r)
	}
	for i := range flat {
		flat[i] = 0.001 * float64(i*i%7)
		if place := i / 12 % 4; place == 1 || place == 2 {
			flat[i] += math.Log(0.5)
		}
	}
	if r := benchstatInterleaved(flat); math.Abs(r.point-math.Log(0.5)) > 0.01 || r.hi != r.point {
		t.Errorf("benchstat of one half: %+v", r)
	}
	if got := adaptive(func() []float64 { return nil }, 1, 1, stat.AssumedBoot); got.verdict != gate.Inconclusive {
		t.Errorf("nothing measured is %s", got.verdict)
	}
}
