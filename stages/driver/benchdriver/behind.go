package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pgpipeline/stages/perf"
)

// row is one line of the table.
type row struct {
	setting
	results [][]measurement // by tool, then by round
}

// behind is a tool against which ours missed its goal in a row: as many queries per second as any other has, and no more CPU for each than
// sysbench takes, which like ours has a thread for each client. pgbench has one for several: fewer switches, but its clients wait for
// each other.
type behind struct {
	row
	tool int
}

// lost lists where the goal is missed, by the medians.
func (b bench) lost(rows []row) []behind {
	ours := slices.Index(b.tools, "ours")
	var out []behind
	for _, r := range rows {
		for i := range b.tools {
			if i == ours || ours < 0 {
				continue
			}
			slower := median(r.results[i], qps) > median(r.results[ours], qps)
			dearer := b.tools[i] == "sysbench" && median(r.results[i], cpu) < median(r.results[ours], cpu)
			if slower || dearer {
				out = append(out, behind{r, i})
			}
		}
	}
	return out
}

func qps(m measurement) float64  { return m.qps }
func cpu(m measurement) float64  { return m.cpu }
func user(m measurement) float64 { return m.user }

// explain prints how far ours is behind in each row, and what its client did there: the time that is the kernel's is that of sending,
// receiving and waiting, which every client has.
func (b bench) explain(ctx context.Context, t *tools, rows []row) error {
	lost := b.lost(rows)
	if len(lost) == 0 {
		_, err := fmt.Fprintf(b.out, "in all %d rows ours has as many queries per second as the others, and takes no more CPU for each than sysbench\n", len(rows))
		return err
	}
	ours := slices.Index(b.tools, "ours")
	fmt.Fprintf(b.out, "not in all of %d rows has ours as many queries per second as the others, and no more CPU for each than sysbench:\n", len(rows))
	profiled := map[string]bool{}
	for _, l := range lost {
		mine, theirs := l.results[ours], l.results[l.tool]
		low, high := ratios(mine, theirs)
		fmt.Fprintf(b.out, "\n%s, %d clients: %.3f of the queries per second of %s (rounds: %.3f to %.3f); CPU us/q ours %s, %s %s\n", l.step, l.clients,
			median(mine, qps)/median(theirs, qps), b.tools[l.tool], low, high, split(mine), b.tools[l.tool], split(theirs))
		if key := l.step + strconv.Itoa(l.clients); !profiled[key] {
			profiled[key] = true
			if err := b.profileOurs(ctx, t, l.setting); err != nil {
				return err
			}
		}
	}
	return nil
}

// ratios are the smallest and the largest of the rounds, whose tools ran one after another.
func ratios(mine, theirs []measurement) (low, high float64) {
	var list []float64
	for i := range mine {
		list = append(list, mine[i].qps/theirs[i].qps)
	}
	return slices.Min(list), slices.Max(list)
}

func split(list []measurement) string {
	whole, own := median(list, cpu), median(list, user)
	return fmt.Sprintf("%.2f (%.2f user, %.2f system)", whole, own, whole-own)
}

// topFunctions is how many lines a profile has, profileSeconds how long it is taken for: perf looks 199 times a second.
const (
	topFunctions   = 12
	profileSeconds = 5
)

// profileOurs runs ours once more under perf and prints where its time goes.
func (b bench) profileOurs(ctx context.Context, t *tools, s setting) error {
	recording, err := perf.Start(ctx, filepath.Join(t.scratch, "perf.data"), []int{os.Getpid()})
	if err != nil {
		_, err = fmt.Fprintf(b.out, "no profile: %v\n", err)
		return err
	}
	var folded bytes.Buffer
	longer := *t
	longer.seconds = max(t.seconds, profileSeconds)
	_, runErr := longer.ours(ctx, s)
	if err := recording.Stop(context.WithoutCancel(ctx), &folded); err != nil {
		fmt.Fprintf(b.out, "no profile: %v\n", err)
		return runErr
	}
	printTop(b.out, folded.String())
	return runErr
}

// printTop prints the functions in which the client was, by the samples of folded stacks: its own below its event, and the kernel's below
// its system calls.
func printTop(out io.Writer, folded string) {
	self, total := map[string]int{}, 0
	for line := range strings.Lines(folded) {
		stack, count, ok := cutLast(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(count)
		if !ok || err != nil || !strings.Contains(stack, "driver.(*Client)") {
			continue // what else the process does
		}
		_, leaf, _ := cutLast(stack, ";")
		self[leaf] += n
		total += n
	}
	names := make([]string, 0, len(self))
	for name := range self {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if self[a] != self[b] {
			return self[b] - self[a]
		}
		return strings.Compare(a, b)
	})
	for _, name := range names[:min(topFunctions, len(names))] {
		fmt.Fprintf(out, "%6.1f %%  %s\n", 100*float64(self[name])/float64(total), name)
	}
	if total == 0 {
		fmt.Fprintln(out, "no profile: perf saw nothing of the clients")
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, s, false
	}
	return s[:i], s[i+len(sep):], true
}
