package main

import (
	"bytes"
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
	{"backend SIGKILL", "b", kill(backend, syscall.SIGKILL), exitInvalid, "update-index", "signal 9"},
	{"backend SIGSEGV, candidate", "b", kill(backend, syscall.SIGSEGV), exitFailed, "update-index", "signal 11"},
	{"postmaster SIGKILL", "b", kill(postmaster, syscall.SIGKILL), exitInvalid, "update-index", "died"},
	{"backend SIGSEGV, base", "a", kill(backend, syscall.SIGSEGV), exitInvalid, "update-index", "signal 11"},
	{"pg_terminate_backend", "b", terminate, exitInvalid, "update-index", "administrator command"},
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
      duration: 20s
      settle: 0s
      budget: {blocks: 1, min_blocks: 1}
  - compare: {}
assert: ['relqps("update-index") > 0.01']
`

func tortureServers(t *testing.T, count *tally) {
	r := newRig(t, count, faultFile)
	for _, f := range some(serverFaults, 2) {
		t.Run(f.name, func(t *testing.T) {
			r.t = t
			r.inject("server: "+f.name, func() { r.serverFault(f) })
		})
	}
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
	_, _, ok := p.await(0, func(e engine.Event) bool {
		return e.Progress != nil && e.Progress.What == "update-index_range=100 on "+f.variant
	})
	if !ok {
		t.Fatalf("the step never began:\n%s", p.errors())
	}
	f.do(t, r.busy(p))
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

// busy waits for the server whose client writes, and returns it.
func (r *rig) busy(p *tool) victim {
	r.t.Helper()
	for { // the server says in its title what it does; nothing tells when that changes
		select {
		case <-p.ended:
			r.t.Fatal("the tool ended")
		default:
		}
		for _, pid := range proc.Descendants(p.cmd.Process.Pid) {
			title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if bytes.Contains(title, []byte(" UPDATE")) && !bytes.Contains(title, []byte("waiting")) {
				return victim{postmaster: parent(pid), backend: pid}
			}
		}
	}
}

func parent(pid int) (ppid int) {
	text, _ := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	_, rest, _ := strings.Cut(string(text), ") ")
	var state string
	fmt.Sscan(rest, &state, &ppid)
	return ppid
}
