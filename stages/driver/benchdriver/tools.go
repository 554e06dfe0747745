package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pgpipeline/pipeline/proc"
	"pgpipeline/stages/driver"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/workload"
)

// tools runs the three clients against one server.
type tools struct {
	config
	server  *postgres.Server
	scratch string          // for scripts
	startup map[string]used // CPU of a run of one event, by tool
}

func newTools(c config, server *postgres.Server) *tools {
	return &tools{config: c, server: server, startup: map[string]used{}}
}

func (t *tools) close() { os.RemoveAll(t.scratch) }

//go:embed hot_points.lua
var hotPointsLua string

// calibrate writes the scripts and measures what the other tools cost before they send their first query.
func (t *tools) calibrate(ctx context.Context, cpus []int) (err error) {
	if t.scratch, err = os.MkdirTemp("", "benchdriver"); err != nil {
		return err
	}
	for name, text := range t.scripts() {
		if err := os.WriteFile(filepath.Join(t.scratch, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	s := setting{step: "point-query", clients: 1, cpus: cpus}
	for _, name := range t.tools {
		var args []string
		switch name {
		case "sysbench":
			args = append(t.sysbenchArgs(s), "--events=1", "run")
		case "pgbench":
			args = append(t.pgbenchArgs(s), "-t", "1")
		default:
			continue
		}
		_, cpu, err := t.child(ctx, name, args, cpus)
		if err != nil {
			return err
		}
		t.startup[name] = cpu
	}
	return nil
}

func (t *tools) measure(ctx context.Context, tool string, s setting) (measurement, error) {
	switch tool {
	case "ours":
		return t.ours(ctx, s)
	case "sysbench":
		args := append(t.sysbenchArgs(s), "--time="+strconv.Itoa(t.seconds), "run")
		return t.external(ctx, tool, args, s)
	case "pgbench":
		args := append(t.pgbenchArgs(s), "-T", strconv.Itoa(t.seconds))
		return t.external(ctx, tool, args, s)
	}
	return measurement{}, fmt.Errorf("unknown tool; there are ours, sysbench, pgbench")
}

// ours measures a slice of the driver. Connecting is outside of it, as it is outside of what the others count.
func (t *tools) ours(ctx context.Context, s setting) (m measurement, err error) {
	ref := workload.StepRef{Step: s.step}
	if s.step == "read-only" {
		ref.Range = 100
	}
	steps, err := workload.Resolve([]workload.StepRef{ref}, workload.Params{Tables: 1, Rows: t.rows, Clients: s.clients})
	if err != nil {
		return m, err
	}
	session, err := driver.Open(ctx, driver.Options{
		Target:  driver.Target{ConnString: t.server.ConnString(workload.Database), ServerPID: t.server.PID()},
		Clients: s.clients, CPUs: s.cpus, Seed: 1,
		Program: func(client int) driver.Program { return steps[0].Program(client, 1) },
	})
	if err != nil {
		return m, err
	}
	defer session.Close()
	before := usage(unix.RUSAGE_SELF)
	r, err := session.Slice(ctx, t.duration(), 0)
	if err != nil {
		return m, err
	}
	return usage(unix.RUSAGE_SELF).minus(before).of(float64(r.Ops), float64(r.Ops)/r.Seconds), nil
}

// external runs a tool and reads its summary.
func (t *tools) external(ctx context.Context, tool string, args []string, s setting) (measurement, error) {
	out, cpu, err := t.child(ctx, tool, args, s.cpus)
	if err != nil {
		return measurement{}, err
	}
	queries, qps, err := summary(tool, out, s.step)
	if err != nil {
		return measurement{}, err
	}
	return cpu.minus(t.startup[tool]).of(queries, qps), nil
}

// child runs a program and returns its output and the CPU that it took.
func (t *tools) child(ctx context.Context, tool string, args []string, cpus []int) (string, used, error) {
	var out bytes.Buffer
	stderr := proc.NewTail(10, io.Discard)
	before := usage(unix.RUSAGE_CHILDREN)
	err := proc.Run(ctx, proc.Cmd{Path: tool, Args: args, Stdout: &out, Stderr: stderr, CPUs: cpus, Env: proc.Environ(),
		Timeout: t.duration() + 10*time.Minute})
	if err != nil {
		return "", used{}, fmt.Errorf("%s %s: %w\n%s", tool, strings.Join(args, " "), err, out.String())
	}
	return out.String(), usage(unix.RUSAGE_CHILDREN).minus(before), nil
}

// used is CPU time in seconds.
type used struct{ user, system float64 }

func usage(who int) used {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		return used{}
	}
	return used{float64(u.Utime.Nano()) / 1e9, float64(u.Stime.Nano()) / 1e9}
}

func (u used) minus(v used) used { return used{u.user - v.user, u.system - v.system} }

// of is what a number of queries took.
func (u used) of(queries, qps float64) measurement {
	return measurement{qps: qps, cpu: (u.user + u.system) / queries * 1e6, user: u.user / queries * 1e6}
}

func (t *tools) sysbenchArgs(s setting) []string {
	script := map[string]string{"point-query": "oltp_point_select", "update-nonindex": "oltp_update_non_index", "read-only": "oltp_read_only",
		"hot-points": filepath.Join(t.scratch, "hot_points.lua")}[s.step]
	return []string{script, "--db-driver=pgsql", "--pgsql-host=" + t.server.SocketDir(), "--pgsql-user=" + postgres.User,
		"--pgsql-db=" + workload.Database, "--tables=1", fmt.Sprintf("--table-size=%d", t.rows), "--range-size=100",
		"--rand-type=uniform", fmt.Sprintf("--threads=%d", s.clients)}
}

func (t *tools) pgbenchArgs(s setting) []string {
	args := []string{"-h", t.server.SocketDir(), "-U", postgres.User, "-n", "-M", "prepared", "-f", filepath.Join(t.scratch, s.step+".sql"),
		"-c", strconv.Itoa(s.clients), "-j", strconv.Itoa(min(s.clients, runtime.NumCPU())), "-D", "rows=" + strconv.FormatInt(t.rows, 10),
		"-D", "c=" + strings.Repeat("01234567890-", 10)[:119]}
	if s.step == "hot-points" {
		for i := range int64(hotPoints) {
			args = append(args, "-D", fmt.Sprintf("i%d=%d", i+1, t.rows/2+i+1))
		}
	}
	return append(args, workload.Database)
}

const hotPoints = 100

// scripts of the tools that have no built-in one, by file name.
func (t *tools) scripts() map[string]string {
	var ids []string
	for i := range hotPoints {
		ids = append(ids, fmt.Sprintf(":i%d", i+1))
	}
	id := "\\set id random(1, :rows)\n"
	readOnly := "BEGIN;\n" + strings.Repeat(id+"SELECT c FROM sbtest1 WHERE id=:id;\n", 10)
	for _, q := range []string{"c %s", "SUM(k) %s", "c %s ORDER BY c", "DISTINCT c %s ORDER BY c"} {
		readOnly += id + "\\set last :id + 99\nSELECT " + fmt.Sprintf(q, "FROM sbtest1 WHERE id BETWEEN :id AND :last") + ";\n"
	}
	return map[string]string{
		"hot_points.lua":      hotPointsLua,
		"point-query.sql":     id + "SELECT c FROM sbtest1 WHERE id=:id;\n",
		"hot-points.sql":      "SELECT c FROM sbtest1 WHERE id IN (" + strings.Join(ids, ",") + ");\n",
		"update-nonindex.sql": id + "UPDATE sbtest1 SET c=:c WHERE id=:id;\n",
		"read-only.sql":       readOnly + "COMMIT;\n",
	}
}

var (
	sysbenchQueries  = regexp.MustCompile(`(?m)^\s*queries:\s+(\d+)\s+\(([\d.]+) per sec`)
	pgbenchCount     = regexp.MustCompile(`(?m)^number of transactions actually processed: (\d+)`)
	pgbenchPerSecond = regexp.MustCompile(`(?m)^tps = ([\d.]+) \((?:without|excluding)`)
)

// summary reads the number of queries and their rate. pgbench counts transactions: its rate is multiplied by their statements.
func summary(tool, out, step string) (queries, qps float64, err error) {
	scale := 1.0
	var count, rate string
	if tool == "sysbench" {
		if m := sysbenchQueries.FindStringSubmatch(out); m != nil {
			count, rate = m[1], m[2]
		}
	} else {
		if step == "read-only" {
			scale = 16
		}
		if m := pgbenchCount.FindStringSubmatch(out); m != nil {
			count = m[1]
		}
		if m := pgbenchPerSecond.FindStringSubmatch(out); m != nil {
			rate = m[1]
		}
	}
	if _, err := fmt.Sscan(count+" "+rate, &queries, &qps); err != nil {
		return 0, 0, fmt.Errorf("no figures in the output of %s:\n%s", tool, out)
	}
	return queries * scale, qps * scale, nil
}
