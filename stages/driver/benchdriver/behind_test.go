package main

import (
	"context"
	"strings"
	"testing"
)

func TestBehind(t *testing.T) {
	list := func(qps, cpu float64) []measurement {
		return []measurement{{qps: qps * 0.9, cpu: cpu, user: cpu / 4}, {qps: qps, cpu: cpu, user: cpu / 4}, {qps: qps * 1.2, cpu: cpu, user: cpu / 4}}
	}
	var out strings.Builder
	b := bench{config: config{tools: []string{"sysbench", "ours", "pgbench"}}, out: &out}
	rows := []row{
		{setting{step: "faster", clients: 1}, [][]measurement{list(100, 5), list(110, 4), list(105, 3)}},
		{setting{step: "slower", clients: 8}, [][]measurement{list(100, 5), list(95, 4), list(94, 4)}},
		{setting{step: "dearer", clients: 1}, [][]measurement{list(100, 5), list(101, 6), list(90, 9)}},
	}
	lost := b.lost(rows)
	if len(lost) != 2 || lost[0].step != "slower" || lost[1].step != "dearer" {
		t.Fatalf("behind in %+v", lost)
	}
	if low, high := ratios(rows[1].results[1], rows[1].results[0]); low < 0.9499 || high > 0.9501 {
		t.Errorf("ratios of the rounds from %v to %v", low, high)
	}
	if err := b.explain(context.Background(), nil, rows[:1]); err != nil || !strings.HasPrefix(out.String(), "in all 1 rows") {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestPrintTop(t *testing.T) {
	var out strings.Builder
	printTop(&out, `benchdriver;main;runtime.gcBgMarkWorker 50
benchdriver;goexit;driver.(*Client).work;driver.(*Client).run;driver.send;__sys_sendto;unix_stream_sendmsg 30
benchdriver;goexit;driver.(*Client).work;driver.(*Client).run;driver.recv;__sys_recvfrom 60
benchdriver;goexit;driver.(*Client).work;driver.(*Client).run 10
`)
	if want := "  60.0 %  __sys_recvfrom\n  30.0 %  unix_stream_sendmsg\n  10.0 %  driver.(*Client).run\n"; out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
	out.Reset()
	if printTop(&out, ""); !strings.Contains(out.String(), "saw nothing") {
		t.Errorf("got %q", out.String())
	}
}
