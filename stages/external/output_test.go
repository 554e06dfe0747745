package external

import (
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgpipeline/pipeline/engine"
)

var update = flag.Bool("update", false, "write the golden files")

// The outputs under testdata are those of pgbench 15.18 and sysbench 1.0.20, run against a small server.
func TestOutputs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.out")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d outputs, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tool, _, _ := strings.Cut(filepath.Base(file), "-")
			got, err := Parse(tool, string(text))
			if strings.Contains(file, "-bad") {
				if !errors.Is(err, ErrNoResult) {
					t.Fatalf("an output without result gives %+v, %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(file, ".out")+".json", got)
		})
	}
}

func golden(t *testing.T, path string, v any) {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != string(want) {
		t.Errorf("%s differs; got:\n%s", path, text)
	}
}

// Forms that other versions print.
func TestOtherVersions(t *testing.T) {
	old := `transaction type: <builtin: select only>
number of clients: 4
number of transactions actually processed: 1000
tps = 100.0 (including connections establishing)
tps = 125.0 (excluding connections establishing)
`
	o, err := Parse("", old)
	if err != nil {
		t.Fatal(err)
	}
	if o.Tool != "pgbench" || o.TPS != 125 || o.Seconds != 8 || o.Clients != 4 {
		t.Errorf("pgbench 13: %+v", o)
	}
	future := "pgbench (18.1)\nnumber of transactions actually processed: 10 (1 of them new)\ntps = 5.0 (without initial connection time)\n"
	if o, err = Parse("", future); err != nil || o.Transactions != 10 || o.Version != "18.1" {
		t.Errorf("unknown words: %+v, %v", o, err)
	}
	newer := `/opt/sb/bin/sysbench --threads=40 /opt/sb/share/sysbench/oltp_scan.lua run --pgsql-host=127.0.0.1
sysbench 1.1.0-9072687 (using bundled LuaJIT 2.1.0-beta3)
Number of threads: 40
SQL statistics:
    transactions:                        3732   (11.20 per sec.)
    queries:                             3732   (11.20 per sec.)
Throughput:
    events/s (eps):                      11.1981
    time elapsed:                        333.2703s
Latency (ms):
         avg:                                 3561.77
         99th percentile:                     4000.00
Threads fairness:
    events (avg/stddev):           93.3000/0.46
`
	if o, err = Parse("", newer); err != nil {
		t.Fatal(err)
	}
	if o.Script != "oltp_scan.lua" || o.Seconds != 333.2703 || o.QPS != 11.2 || o.Latency["p99"] != 4 || o.Latency["avg"] != 3.56177 {
		t.Errorf("sysbench 1.1: %+v", o)
	}
}

func TestAfter(t *testing.T) {
	o := &Output{Progress: []Interval{{End: 1, TPS: 10, QPS: 20}, {End: 2, TPS: 100, QPS: 200}, {End: 4, TPS: 40, QPS: 80, Failed: 3}}}
	part, seconds, ok := o.After(1)
	if !ok || seconds != 3 || part.TPS != 60 || part.QPS != 120 || part.Failed != 2 || part.End != 4 {
		t.Errorf("after 1 s: %+v over %v s, %v", part, seconds, ok)
	}
	if _, seconds, _ := o.After(0.5); seconds != 3 {
		t.Errorf("after half a second: %v s are left, want 3: the first report is partly lost", seconds)
	}
	if _, _, ok := o.After(4); ok {
		t.Error("nothing is left after 4 s, and something was found")
	}
}

// A checkpoint makes sysbench count anew: what stands behind it is about the rest of the run.
func TestSysbenchHistogram(t *testing.T) {
	text, err := os.ReadFile("testdata/sysbench-histogram.out")
	if err != nil {
		t.Fatal(err)
	}
	o, err := Parse("sysbench", string(text))
	if err != nil {
		t.Fatal(err)
	}
	h := ofBuckets(o.Histogram)
	if o.Lost != 1 || math.Abs(float64(h.TotalCount())-o.Transactions) > float64(o.Clients) || len(o.Retries) != 0 {
		t.Errorf("%v s lost, %d in the histogram of %v transactions, retries %v", o.Lost, h.TotalCount(), o.Transactions, o.Retries)
	}
	if s := o.Transactions / o.TPS; o.Seconds != s || s < 1.9 || s > 2.1 {
		t.Errorf("%v s were counted, want those after the checkpoint, %v", o.Seconds, s)
	}
	if p95 := float64(h.ValueAtPercentile(95)) / 1e9; p95 < o.Latency["p95"]*0.95 || p95 > o.Latency["p95"]*1.05 {
		t.Errorf("95 %% below %v s by the histogram, %v s by the tool", p95, o.Latency["p95"])
	}
}

func TestTransactionLog(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "transactions")
	for name, text := range map[string]string{
		prefix + ".77":   "0 1 900 0 1000 999999\n0 2 1500 0 1001 0 500\n0 3 failed 0 1001 50000\n0 4 2000 0 1001 150000 0\n",
		prefix + ".77.1": "1 1 3000 0 1002 950000 100\n1 2 4000 0 1003 40000 100\nhalf a li",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := newTransactionLog(time.Unix(1001, 0), 2, true)
	if err := l.readAll(prefix); err != nil {
		t.Fatal(err)
	}
	if l.service.TotalCount() != 4 || !l.service.ValuesAreEquivalent(l.service.Min(), 1_000_000) || !l.response.ValuesAreEquivalent(l.response.Min(), 1_500_000) || l.worst != 4_000_000 {
		t.Errorf("%d transactions, service from %d, response from %d to %d", l.service.TotalCount(), l.service.Min(), l.response.Min(), l.worst)
	}
	want := make(engine.Tenths, 20)
	want[0], want[1], want[19] = 1, 1, 1
	if !slices.Equal(l.tenths, want) {
		t.Errorf("tenths %v", l.tenths)
	}
	if left, _ := filepath.Glob(prefix + "*"); len(left) > 0 {
		t.Errorf("logs are left: %v", left)
	}
}

// A busy tool logs a part of its transactions, a slow one all.
func TestShareOfLoggedTransactions(t *testing.T) {
	for _, c := range []struct {
		rate, tps float64
		want      string
	}{
		{tps: 50_000, want: "--sampling-rate=0.040000"}, {tps: 1500}, {rate: 1000, tps: 50_000}, {rate: 8000, want: "--sampling-rate=0.250000"},
	} {
		s := &Session{Options: Options{Tool: &Tool{Name: "pgbench"}, Rate: c.rate}, tps: c.tps, dir: "d"}
		args := strings.Join(s.logArgs(), " ")
		if !strings.HasPrefix(args, "-l --log-prefix=d/transactions") || !strings.HasSuffix(args, c.want) || strings.Contains(args, "sampling") != (c.want != "") {
			t.Errorf("%+v: %s", c, args)
		}
	}
}
