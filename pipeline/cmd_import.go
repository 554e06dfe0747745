package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/imports"
	"pgpipeline/stages/workload"
)

func importCommand(a *app) *cobra.Command {
	opt := imports.Options{Groups: publishedGroups}
	var tables string
	c := &cobra.Command{
		Use: "import FOLDER...|FILE...", Short: "Keep results of other programs as a run", Args: cobra.MinimumNArgs(1),
		Long: `Reads results of sysbench, pgbench, CSV files or the Go benchmark format and keeps them as a run for report, compare and check.
It prints the run's id.

  sysbench  result folders with files sb.o.*, sb.vm.*, sb.io.*, one folder per variant; or plain outputs
  pgbench   outputs: a folder of them (one per step) or a file per variant
  csv       long form with a heading: step, rate (or qps, or ops and seconds), variant, unit, clients, base
  bench     the Go benchmark format, such as report --format bench writes

The first variant is the base. NAME=PATH names the variant; a variant that is given twice was measured twice.
What is imported was not measured in pairs: one result per variant never passes an assertion with a limit.`,
		RunE: func(c *cobra.Command, args []string) error { return a.importResults(args, opt, tables) },
	}
	c.Flags().StringVar(&opt.Format, "format", "", strings.Join(imports.Formats(), ", "))
	c.Flags().StringVar(&opt.Name, "name", "", "name of the experiment in reports; default: the folder that holds the first argument")
	c.Flags().BoolVar(&opt.Legacy, "legacy", false, "average vmstat as the published tables do, headings counted as samples")
	c.Flags().StringVar(&opt.Device, "device", "", "block device whose iostat lines count, such as md2")
	c.Flags().StringVar(&tables, "tables", "", "also write qps.abs.tsv, qps.rel.tsv and cost.tsv into this folder")
	_ = c.MarkFlagRequired("format")
	return c
}

func (a *app) importResults(args []string, opt imports.Options, tables string) error {
	set, err := imports.Read(args, opt)
	if err != nil {
		return &codeError{code: exitUsage, err: err}
	}
	if opt.Name == "" {
		opt.Name = importName(args[0])
	}
	run, err := openRuns().Create()
	if err != nil {
		return err
	}
	defer run.Close()
	rec := set.Record(run.ID, opt)
	rec.Tool = toolVersion()
	if err := engine.KeepRecord(run, rec); err != nil {
		return err
	}
	for _, w := range rec.Warnings {
		fmt.Fprintln(a.stderr, "warning: "+w)
	}
	if tables != "" {
		if err := writeTables(set, tables); err != nil {
			return err
		}
	}
	fmt.Fprintln(a.stdout, rec.ID)
	return nil
}

// importName is the folder that the first argument lies in, or itself.
func importName(arg string) string {
	if _, path, ok := strings.Cut(arg, "="); ok && !exists(arg) {
		arg = path
	}
	abs, err := filepath.Abs(arg)
	if err != nil {
		return "imported"
	}
	return filepath.Base(filepath.Dir(abs))
}

func writeTables(set *imports.Set, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer) error{
		"qps.abs.tsv": set.WriteAbsolute, "qps.rel.tsv": set.WriteRelative, "cost.tsv": set.WriteCosts,
	} {
		if err := writeFile(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	return nil
}

// publishedGroups finds the groups of a step by its kind: any range of it belongs where the published ranges do.
func publishedGroups(step string) []string {
	kind, _, _ := strings.Cut(step, "_range=")
	var out []string
	for _, name := range sortedNames(workload.Groups()) {
		for _, member := range workload.Groups()[name] {
			if of, _, _ := strings.Cut(member, "_range="); of == kind {
				out = append(out, name)
				break
			}
		}
	}
	return out
}
