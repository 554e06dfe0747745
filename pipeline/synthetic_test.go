package main

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/store"
)

// recorded FILE RATIO keeps a run of the experiment as if it had been measured: step hot-points on a base and a candidate, the
// candidate RATIO times as fast, in 12 quiet blocks. Judging and reporting need nothing more, and no server.
func recorded(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: recorded FILE RATIO")
	}
	ratio, err := strconv.ParseFloat(args[1], 64)
	ts.Check(err)
	run, err := store.OpenRuns(ts.MkAbs(".pipeline"), store.Options{}).Create()
	ts.Check(err)
	defer run.Close()
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(engine.KeepRecord(run, syntheticRecord(run.ID, args[0], string(text), ratio)))
}

func syntheticRecord(id, path, text string, ratio float64) *engine.Record {
	now := time.Now().Add(-time.Hour)
	key := fmt.Sprintf("%x", sha256.Sum256([]byte(id)))
	facet := engine.Facet{Stage: "run", EvidenceKey: key, MinBlocks: 3, MaxBlocks: 12,
		Variants: []engine.VariantInfo{{Name: "base", Base: true}, {Name: "head"}},
		Steps:    []engine.StepInfo{{Name: "hot-points_range=100", Class: "steady", Unit: "queries", Clients: 1, Seconds: 20}}}
	rec := &engine.Record{Version: engine.RecordVersion, ID: id, Tool: "test", Status: "done", Started: now, Ended: now.Add(30 * time.Minute), Facets: []engine.Facet{facet},
		Experiment: engine.ExperimentInfo{Name: "gate", Path: path, Text: text}, Host: engine.HostFacts{CPUs: 8, MachineID: "m1"}}
	rng := rand.New(rand.NewPCG(1, 2))
	for number := range facet.MaxBlocks {
		at := now.Add(time.Duration(number) * time.Minute)
		b := engine.BlockRecord{Run: id, Stage: "run", EvidenceKey: key, Number: number + 1, Complete: true, Started: at, Ended: at.Add(time.Minute)}
		for i, v := range facet.Variants {
			m := engine.Measurement{Step: facet.Steps[0].Name, Variant: v.Name, Class: "steady", Unit: "queries", Clients: 1}
			for pair := range 20 {
				rate := 5000 * math.Pow(ratio, float64(i)) * math.Exp(0.02*rng.NormFloat64())
				m.Samples = append(m.Samples, engine.Sample{Pair: pair, Order: i, Start: at, Seconds: 1, Ops: math.Round(rate), Events: math.Round(rate), ServerCPU: 0.8, MaxSeconds: 0.01})
			}
			b.Measurements = append(b.Measurements, m)
		}
		rec.Blocks = append(rec.Blocks, b)
	}
	return rec
}
