// Command benchdriver compares the driver with sysbench and pgbench: queries per second and client CPU per query, measured in turn
// on one server, several rounds, medians. Read bench.go for the flow and tools.go for what is run.
//
// The client CPU of ours is that of the whole process, threads of the Go runtime included; that of the others is what the
// kernel charged to the finished process, less what a run of one event takes.
//
// On a machine that is busy with other things the figures say more about those; `taskset -c 0 chrt -r 1 benchdriver -placements same-core`
// keeps them out for as long as it runs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// config is the command line.
type config struct {
	server     string
	rows       int64
	rounds     int
	seconds    int
	clients    []int
	steps      []string
	tools      []string
	placements []string
	profile    string
	load       bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := parseFlags(os.Args[1:])
	if err == nil {
		err = compare(ctx, c, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchdriver:", err)
		os.Exit(1)
	}
}

func parseFlags(args []string) (config, error) {
	var c config
	f := flag.NewFlagSet("benchdriver", flag.ContinueOnError)
	f.StringVar(&c.server, "server", systemServer(), "installed PostgreSQL `tree`")
	f.Int64Var(&c.rows, "rows", 100_000, "rows of the table")
	f.IntVar(&c.rounds, "rounds", 5, "rounds; each runs every tool once, in an order that turns")
	f.IntVar(&c.seconds, "seconds", 2, "seconds of each measurement")
	clients := f.String("clients", "1,8", "client counts")
	steps := f.String("steps", "point-query,hot-points,update-nonindex,read-only", "steps")
	names := f.String("tools", "ours,sysbench,pgbench", "tools")
	placements := f.String("placements", "free,same-core", "free: anywhere; same-core: server and client on CPU 0")
	f.StringVar(&c.profile, "profile", "", "write a CPU profile of ours to `file`")
	f.BoolVar(&c.load, "load", false, "compare loading with sysbench prepare instead")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	c.steps, c.tools, c.placements = strings.Split(*steps, ","), strings.Split(*names, ","), strings.Split(*placements, ",")
	for _, n := range strings.Split(*clients, ",") {
		var count int
		if _, err := fmt.Sscan(n, &count); err != nil {
			return c, fmt.Errorf("clients %q: %w", n, err)
		}
		c.clients = append(c.clients, count)
	}
	if c.server == "" {
		return c, fmt.Errorf("no server found: apt-get install postgresql, or say -server TREE")
	}
	return c, nil
}

// systemServer is the newest server of the distribution.
func systemServer() string {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*")
	if len(dirs) == 0 {
		return ""
	}
	return dirs[len(dirs)-1]
}

func (c config) duration() time.Duration { return time.Duration(c.seconds) * time.Second }
