package main

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"strings"
)

// trace is a recorded A/A run: the log rates of pairs of slices of two identical servers. The truth is no difference.
type trace struct {
	name    string
	seconds float64 // of a slice, counted or not
	slices  []slice // in the order of time
	pairs   []float64
}

type slice struct {
	server  int
	logRate float64
}

// traceFiles are the recorded traces and the length of their slices, in seconds. All are of two servers of one build with one data set, on two
// virtual CPUs: single clients that read (alone, and beside other work) and write, and PostgreSQL 17.0 with 32 clients that look up rows,
// with 8 that update random rows of 100,000, and with 4 that read 100 random rows of a million, each from the disk (debug_io_direct).
var traceFiles = []struct {
	name    string
	seconds float64
}{{"ro-alone", 0.5}, {"ro-contended", 0.5}, {"rw", 1}, {"many-clients", 0.25}, {"writes", 0.25}, {"io-bound", 1.42}}

func readTraces(dir fs.FS) ([]trace, error) {
	var out []trace
	for _, f := range traceFiles {
		r, err := dir.Open("traces/" + f.name + ".txt")
		if err != nil {
			return nil, fmt.Errorf("read traces: %w", err)
		}
		t, err := readTrace(r)
		r.Close()
		if err != nil {
			return nil, fmt.Errorf("read trace %s: %w", f.name, err)
		}
		t.name, t.seconds = f.name, f.seconds
		out = append(out, t)
	}
	return out, nil
}

// readTrace reads lines of: pair, server, start, operations, seconds, worst latency, CPU per operation.
func readTrace(r io.Reader) (trace, error) {
	var t trace
	var last struct {
		pair int
		slice
	}
	last.pair = -1
	for s := bufio.NewScanner(r); s.Scan(); {
		var pair, server int
		var start, ops, seconds float64
		if _, err := fmt.Sscan(s.Text(), &pair, &server, &start, &ops, &seconds); err != nil {
			return t, fmt.Errorf("line %q: %w", s.Text(), err)
		}
		now := slice{server, math.Log(math.Max(ops, 0.5) / seconds)}
		t.slices = append(t.slices, now)
		if pair == last.pair && server != last.server {
			t.pairs = append(t.pairs, (now.logRate-last.logRate)*float64(server-last.server))
		}
		last.pair, last.slice = pair, now
	}
	if len(t.pairs) < pairsPerBlock {
		return t, fmt.Errorf("%d pairs are too few", len(t.pairs))
	}
	return t, nil
}

// window is n slices from a random place, from the start of a pair.
func (t trace) window(rng *rand.Rand, n int) []float64 {
	at := rng.IntN((len(t.slices)-n)/2+1) * 2
	out := make([]float64, n)
	for i := range out {
		out[i] = t.slices[at+i].logRate
	}
	return out
}

// blocks cuts pairs from a random place into blocks, as many as there are up to most. A coin says which server of a pair is the
// candidate, as the random order of a run does: the two are alike, so any label may be put on either, and the truth is exactly 1.
func (t trace) blocks(rng *rand.Rand, most int) [][]float64 {
	most = min(most, len(t.pairs)*3/4/pairsPerBlock)
	at := rng.IntN(len(t.pairs) - most*pairsPerBlock + 1)
	var out [][]float64
	for b := range most {
		block := make([]float64, pairsPerBlock)
		for i := range block {
			block[i] = t.pairs[at+b*pairsPerBlock+i] * float64(2*rng.IntN(2)-1)
		}
		out = append(out, block)
	}
	return out
}

// nearAA counts the published pairs of adjacent minor releases that a gate on the bare ratio blocks: those with any step below
// the limit.
func nearAA(dir fs.FS, limit float64) (blocked, all int, err error) {
	f, err := dir.Open("near-aa.tsv")
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	worst := map[string]float64{}
	s := bufio.NewScanner(f)
	for s.Scan() {
		cols := strings.Split(s.Text(), "\t")
		var ratio float64
		if len(cols) != 5 || cols[0] == "set" {
			continue
		}
		if _, err := fmt.Sscan(cols[4], &ratio); err != nil {
			return 0, 0, fmt.Errorf("near-aa.tsv: line %q: %w", s.Text(), err)
		}
		key := cols[0] + cols[1] + cols[2]
		if w, ok := worst[key]; !ok || ratio < w {
			worst[key] = ratio
		}
	}
	for _, w := range worst {
		if w < limit {
			blocked++
		}
	}
	return blocked, len(worst), s.Err()
}
