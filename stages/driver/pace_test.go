package driver_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"pgpipeline/stages/driver"
)

// A server that stands still for a while must show in an open loop as the waiting of every event that was due meanwhile.
func TestOpenLoopHasNoCoordinatedOmission(t *testing.T) {
	s := start(t, "")
	const rate, clients, pause = 500, 2, 2 * time.Second
	session := open(t, s, clients, statement("SELECT 1"), func(o *driver.Options) { o.Rate = rate })
	row := sql(t, s, "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
	var backends [clients]int
	if _, err := fmt.Sscan(string(row[0]), &backends[0], &backends[1]); err != nil {
		t.Fatal(err)
	}
	stopped := time.AfterFunc(time.Second, func() {
		for _, pid := range backends {
			signal(t, pid, syscall.SIGSTOP)
		}
	})
	defer stopped.Stop()
	resumed := time.AfterFunc(time.Second+pause, func() {
		for _, pid := range backends {
			signal(t, pid, syscall.SIGCONT)
		}
	})
	defer resumed.Stop()
	r, err := session.Slice(t.Context(), 5*time.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	op := r.Operations[""]
	late := int64(0) // events that waited at least half a second longer than the service of any but the stopped ones
	for _, bar := range op.Response.Distribution() {
		if bar.From >= int64(500*time.Millisecond) {
			late += bar.Count
		}
	}
	// Of the 1000 events that were due in the two seconds, those of the first 1.5 s waited for more than 0.5 s.
	if late < 600 {
		t.Errorf("%d events have a response time above 0.5 s, 750 were due in the first 1.5 s of the pause", late)
	}
	slow := int64(0)
	for _, bar := range op.Service.Distribution() {
		if bar.From >= int64(500*time.Millisecond) {
			slow += bar.Count
		}
	}
	if slow > clients {
		t.Errorf("%d service times above 0.5 s: only one event of each client met the pause", slow)
	}
	if r.MaxSeconds < 1.5 || op.MaxSeconds != r.MaxSeconds {
		t.Errorf("worst response time %v s, %v s", r.MaxSeconds, op.MaxSeconds)
	}
}

// What is due and not done when the time is over counts as waiting too.
func TestBacklogIsCounted(t *testing.T) {
	session := open(t, start(t, ""), 1, statement("SELECT pg_sleep(0.05)"), func(o *driver.Options) { o.Rate = 1000 })
	r, err := session.Slice(t.Context(), time.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	op := r.Operations[""]
	if due := op.Count + op.Backlog; due < 990 || due > 1001 || op.Backlog < 900 || op.Response.TotalCount() != due || op.Service.TotalCount() != op.Count {
		t.Errorf("%d done, %d left, of 1000; %d response times, %d service times", op.Count, op.Backlog, op.Response.TotalCount(), op.Service.TotalCount())
	}
}

func TestScheduleAndThinkTimeArePaces(t *testing.T) {
	s := start(t, "")
	paced := open(t, s, 4, statement("SELECT 1"), func(o *driver.Options) { o.Rate = 200 })
	r, err := paced.Slice(t.Context(), time.Second, 0)
	if err != nil || r.Events+r.Operations[""].Backlog != 200 {
		t.Errorf("%d events and %d left of 200, %v", r.Events, r.Operations[""].Backlog, err)
	}
	thinking := open(t, s, 4, statement("SELECT 1"), func(o *driver.Options) { o.Think = 100 * time.Millisecond })
	r, err = thinking.Slice(t.Context(), 500*time.Millisecond, 0)
	if err != nil || r.Events < 4 || r.Events > 4*5 {
		t.Errorf("%d events of at most 20, %v", r.Events, err)
	}
}
