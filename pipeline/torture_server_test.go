package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/proc"
	"pgpipeline/stages/postgres"
)

// serverFault is something that happens to one server while it is measured.
type serverFault struct {
	name    string
	variant string
	do      func(*testing.T, victim)
	code    int
	line    string // in the first line that the user sees
	log     string // in what is shown below it
	step    string // as progress names it; "" is update-index
	doing   string // what the backend's title says; "" is UPDATE
}

// victim is the server that a fault is for.
type victim struct{ postmaster, backend int }

func kill(pid func(victim) int, sig syscall.Signal) func(*testing.T, victim) {
	return func(t *testing.T, v victim) {
		if err := syscall.Kill(pid(v), sig); err != nil {
			t.Error(err)
		}
	}
}

func postmaster(v victim) int { return v.postmaster }
func backend(v victim) int    { return v.backend }

var serverFaults = []serverFault{
	{name: "backend SIGKILL", variant: "b", do: kill(backend, syscall.SIGKILL), code: exitInvalid, line: "update-index", log: "signal 9"},
	{name: "backend SIGSEGV, candidate", variant: "b", do: kill(backend, syscall.SIGSEGV), code: exitFailed, line: "update-index", log: "signal 11"},
	{name: "postmaster SIGKILL", variant: "b", do: kill(postmaster, syscall.SIGKILL), code: exitInvalid, line: "update-index", log: "died"},
	{name: "backend SIGSEGV, base", variant: "a", do: kill(backend, syscall.SIGSEGV), code: exitInvalid, line: "update-index", log: "signal 11"},
	{name: "pg_terminate_backend", variant: "b", do: terminate, code: exitInvalid, line: "update-index", log: "administrator command"},
}

// terminate ends the client's backend as an administrator would.
func terminate(t *testing.T, v victim) {
	dir, err := socketOf(v.postmaster)
	if err != nil {
		t.Error(err)
		return
	}
	conn, err := pgx.Connect(context.Background(), "host="+dir+" user="+postgres.User+" dbname=postgres sslmode=disable")
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), "SELECT pg_terminate_backend($1)", v.backend); err != nil {
		t.Error(err)
	}
}

func socketOf(postmaster int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", postmaster))
	_, rest, ok := strings.Cut(string(text), "unix_socket_directories=")
	if err != nil || !ok {
		return "", fmt.Errorf("socket of %d: %q, %v", postmaster, text, err)
	}
	dir, _, _ := strings.Cut(rest, "\x00")
	return dir, nil
}

const faultFile = `version: 1
name: faults
matrix:
  conf: [a, b]
baseline: {conf: a}
configs:
  a: {settings: {shared_buffers: 16MB, fsync: "off", work_mem: 5MB}}
  b: {extends: a, settings: {work_mem: 8MB}}
stages:
  - fetch: {source: "system::"}
  - build: {use: prebuilt}
  - config: {use: "${conf}"}
  - load: {workload: sysbench, tables: 1, rows: 1k}
  - run:
      steps: [update-index]
      duration: 6s
      settle: 0s
      budget: {blocks: 1, min_blocks: 1}
  - compare: {}
assert: ['relqps("update-index") > 0.01']
`

// unasserted takes the assertions, which come last, away: one block decides none.
func unasserted(text string) string {
	text, _, _ = strings.Cut(text, "assert:")
	return text
}

func tortureServers(t *testing.T, count *tally) {
	r := newRig(t, count, faultFile)
	for _, f := range some(serverFaults, 2) {
		t.Run(f.name, func(t *testing.T) {
			r.t = t
			r.inject("server: "+f.name, func() { r.serverFault(f) })
		})
	}
	t.Run("out of memory", func(t *testing.T) {
		r.t = t
		r.write(unasserted(strings.Replace(faultFile, "update-index", "{name: memory, script: memory.sql}", 1)))
		r.writeFile("memory.sql", "SELECT length(repeat(repeat('x', 1000), 100000 + id::int)) FROM sbtest1 WHERE id = 1;\n")
		f := serverFault{name: "out of memory", variant: "b", do: exhaust, code: exitInvalid, line: "memory on b", log: "out of memory",
			step: "memory", doing: " SELECT"}
		r.inject("server: "+f.name, func() { r.serverFault(f) })
	})
	t.Run("retries", func(t *testing.T) {
		r.t = t
		retries(r)
	})
	t.Run("crash at start", func(t *testing.T) {
		r.t = t
		r.write(strings.Replace(faultFile, "work_mem: 8MB", "shared_preload_libraries: no_such_library", 1))
		r.inject("server: crash at start", func() {
			p := r.run(exitStage) // found when the setting is checked, before data is loaded
			r.says(p, "no_such_library")
			r.nothingLeft("crash at start")
		})
	})
}

// serverFault runs until the step writes on the chosen variant, injects the fault and looks at what the user sees.
func (r *rig) serverFault(f serverFault) {
	t := r.t
	t.Helper()
	p := r.start("run", "t.yaml", "--progress", "json")
	step, doing := cmp.Or(f.step, "update-index_range=100"), cmp.Or(f.doing, " UPDATE")
	_, _, ok := p.await(0, func(e engine.Event) bool { return e.Progress != nil && e.Progress.What == step+" on "+f.variant })
	if !ok {
		t.Fatalf("the step never began:\n%s", p.errors())
	}
	f.do(t, r.busy(p, doing))
	code := p.code()
	rec := r.record()
	last := rec.Blocks[len(rec.Blocks)-1]
	if code != f.code || last.Complete || !strings.Contains(last.Error, f.log) {
		t.Errorf("exit code %d, want %d; block complete %v, error on side %q, want %q in it:\n%s\n%s", code, f.code, last.Complete,
			last.ErrorSide, f.log, last.Error, p.errors())
	}
	if line, _, _ := strings.Cut(last.Error, "\n"); !strings.Contains(line, f.line) {
		t.Errorf("first line %q", line)
	}
	for _, m := range last.Measurements {
		if m.Variant == f.variant && m.Invalid == "" {
			t.Errorf("the measurement is not marked: %+v", m)
		}
	}
	t.Logf("%s, %d: %s", last.ErrorSide, code, last.Error)
	r.nothingLeft(f.name)
}

// busy waits for a server one of whose backends is doing something, and returns it.
func (r *rig) busy(p *tool, doing string) victim {
	r.t.Helper()
	for { // the server says in its title what it does; nothing tells when that changes
		select {
		case <-p.ended:
			r.t.Fatal("the tool ended")
		default:
		}
		for _, pid := range proc.Descendants(p.cmd.Process.Pid) {
			title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if bytes.Contains(title, []byte(doing)) && !bytes.Contains(title, []byte("waiting")) {
				return victim{postmaster: parent(pid), backend: pid}
			}
		}
	}
}

// exhaust limits the address space of a backend to a little more than its postmaster has, from which it was forked, so that
// its next large allocation fails as on a machine that has no more.
func exhaust(t *testing.T, v victim) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", v.postmaster))
	if err != nil {
		t.Error(err)
		return
	}
	var pages int
	fmt.Sscan(string(text), &pages)
	limit := pages*os.Getpagesize() + 32<<20
	who, err := proc.Unprivileged() // its owner may limit a process; root in a container may not
	if err == nil {
		err = proc.Run(t.Context(), proc.Cmd{Path: "prlimit", Args: []string{"--pid", fmt.Sprint(v.backend), fmt.Sprint("--as=", limit)},
			Env: proc.Environ(), As: who})
	}
	if err != nil {
		t.Error(err)
	}
}

// retries runs transactions that get in each other's way: they are retried and counted, and the run goes well.
func retries(r *rig) {
	crossing := "\\set first random(0, 1)\nBEGIN;\nUPDATE sbtest1 SET k = k + 1 WHERE id = 1 + :first;\n" +
		"UPDATE sbtest1 SET k = k + 1 WHERE id = 2 - :first;\nCOMMIT;\n"
	for _, c := range some([]struct{ name, settings, code string }{
		{"deadlock", `deadlock_timeout: 10ms`, "40P01"},
		{"serialization failure", `default_transaction_isolation: "repeatable read"`, "40001"},
	}, 1) {
		text := strings.Replace(faultFile, "work_mem: 5MB", c.settings, 1)
		text = strings.Replace(text, "update-index", "{name: crossing, script: crossing.sql, clients: 8}", 1)
		r.write(unasserted(strings.Replace(text, "duration: 6s", "duration: 2s", 1)))
		r.writeFile("crossing.sql", crossing)
		r.inject("server: "+c.name, func() {
			r.run(exitOK)
			counted := int64(0)
			rec := r.record()
			last := rec.Blocks[len(rec.Blocks)-1]
			for _, m := range last.Measurements {
				for _, s := range m.Samples {
					counted += s.Retries[c.code]
				}
			}
			if counted == 0 || !last.Complete {
				r.t.Errorf("%s: %d were counted; block complete: %v, %s", c.name, counted, last.Complete, last.Error)
			}
			r.t.Logf("%d retries after %s", counted, c.code)
			r.nothingLeft(c.name)
		})
	}
}

func parent(pid int) (ppid int) {
	text, _ := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	_, rest, _ := strings.Cut(string(text), ") ")
	var state string
	fmt.Sscan(rest, &state, &ppid)
	return ppid
}
