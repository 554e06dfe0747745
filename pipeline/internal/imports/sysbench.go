package imports

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/external"
)

// Files of a result folder are named sb.WHAT.STEP.rangeR.pkP.dopN; the last part is absent where one number holds for all.
var (
	sysbenchFile  = regexp.MustCompile(`^sb\.o\.(.+)\.range(\d+)\.pk([01])(?:\.dop(\d+))?$`)
	sysbenchCPUs  = regexp.MustCompile(`(?m)^(\d+) CPUs$`)
	sysbenchTable = regexp.MustCompile(`--table-size=(\d+)`)
)

// readSysbench reads a result folder, or a file or folder of plain outputs.
func readSysbench(s *Set, src source, opt Options) error {
	files, err := src.files()
	if err != nil {
		return err
	}
	s.variant(src.name())
	found := false
	for _, path := range files {
		if m := sysbenchFile.FindStringSubmatch(filepath.Base(path)); m != nil {
			found = true
			if err := s.sysbenchStep(src, path, m, opt); err != nil {
				return err
			}
		}
	}
	if found {
		return nil
	}
	return s.outputs("sysbench", src, files)
}

// sysbenchStep reads one step of a result folder with everything that was sampled beside it.
func (s *Set) sysbenchStep(src source, path string, name []string, opt Options) error {
	v := s.variant(src.name())
	text, err := v.read(path)
	if err != nil {
		return err
	}
	out, err := external.Parse("sysbench", text)
	if errors.Is(err, external.ErrNoResult) {
		s.warn("%s: %s: the run did not finish; the step is left out", v.Name, filepath.Base(path))
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	r := resultOf(out, v.Name, name[1]+"_range="+name[2])
	p := &Published{Rate: out.QPS}
	if isScan(name[1]) {
		if err := r.scan(out, text, p); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
	}
	r.Published = p
	cpus := 0
	if m := sysbenchCPUs.FindStringSubmatch(text); m != nil {
		cpus, _ = strconv.Atoi(m[1])
		s.CPUs = cpus
	}
	if err := s.samples(v, path, &r, opt, cpus); err != nil {
		return err
	}
	s.Results = append(s.Results, r)
	return nil
}

// resultOf is an output in the record's words. Seconds are such that the rate is the printed one, which leaves out a warm-up.
func resultOf(out *external.Output, variant, step string) Result {
	r := Result{Variant: variant, Step: step, Unit: "transactions", Clients: out.Clients, Ops: out.Transactions, Events: out.Transactions,
		Seconds: out.Transactions / out.TPS, MaxSeconds: out.Latency["max"], Retries: maps.Clone(out.Retries), Cost: map[string]float64{},
		Notes: map[string]string{}}
	if out.QPS > 0 {
		r.Unit, r.Ops, r.Seconds = "queries", out.Queries, out.Queries/out.QPS
	}
	for name, v := range out.Latency {
		r.Notes[fmt.Sprintf("latency %s (of %s)", name, out.Tool)] = fmt.Sprintf("%.3g ms", v*1e3)
	}
	return r
}

func isScan(step string) bool { return step == "scan" || strings.HasPrefix(step, "scan.") }

// scan counts rows: one statement reads a whole table. Published in thousands per second, from the statements per second as
// printed, with two decimals.
func (r *Result) scan(out *external.Output, text string, p *Published) error {
	m := sysbenchTable.FindStringSubmatch(text)
	if m == nil {
		return errors.New("a scan counts rows, and no --table-size says how many one scan has")
	}
	rows, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return err
	}
	r.Unit, r.Ops = "rows", out.Queries*rows
	p.Rate = rows * out.QPS / 1000
	return nil
}

// samples adds the costs from vmstat and iostat, where they lie beside the output.
func (s *Set) samples(v *Variant, path string, r *Result, opt Options, cpus int) error {
	beside := func(what string) string {
		return filepath.Join(filepath.Dir(path), strings.Replace(filepath.Base(path), "sb.o.", "sb."+what+".", 1))
	}
	text, err := v.read(beside("vm"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		r.machine(vmstatMean(text, opt.Legacy), cpus)
	}
	if opt.Device == "" {
		return nil
	}
	if text, err = v.read(beside("io")); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	disk, err := iostatMean(text, opt.Device, opt.Legacy)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(beside("io")), err)
	}
	r.disk(disk)
	return nil
}

// machine adds what vmstat saw of the whole machine, server, client and everything else.
func (r *Result) machine(mean vmstat, cpus int) {
	p := r.Published
	if mean.Samples == 0 || p.Rate == 0 {
		return
	}
	p.Machine, p.VMSamples = &mean, mean.Samples
	p.CPUPerOp, p.SwitchesPerOp = mean.CPU/p.Rate, mean.Switches/p.Rate
	r.Cost[engine.CostMachineSwitches] = mean.Switches * r.Seconds
	r.Notes["cs/o as published"] = fmt.Sprintf("%.3f", p.SwitchesPerOp)
	r.Notes["cpu/o as published (percent of all CPUs)"] = fmt.Sprintf("%.6f", p.CPUPerOp)
	if cpus > 0 {
		r.Cost[engine.CostMachineCPU] = mean.CPU / 100 * float64(cpus) * r.Seconds
	}
}

func (r *Result) disk(mean iostat) {
	r.Published.Disk = &mean
	r.Cost[engine.CostReads], r.Cost[engine.CostWrites] = mean.Reads*r.Seconds, mean.Writes*r.Seconds
	r.Cost[engine.CostReadBytes], r.Cost[engine.CostWriteBytes] = mean.ReadKB*1024*r.Seconds, mean.WriteKB*1024*r.Seconds
}

// outputs reads plain outputs: each file of a folder is a step; a file alone is a step named for the script that it ran.
func (s *Set) outputs(tool string, src source, files []string) error {
	v := s.variant(src.name())
	var none error
	for _, path := range files {
		text, err := v.read(path)
		if err != nil {
			return err
		}
		out, err := external.Parse(tool, text)
		if err != nil {
			delete(v.Files, filepath.Base(path))
			none = fmt.Errorf("%s: %w", filepath.Base(path), err)
			continue // a folder may hold other files
		}
		s.Results = append(s.Results, resultOf(out, v.Name, stepOf(src, path, out)))
		if out.Version != "" {
			v.Facts[tool] = out.Version
		}
	}
	if !src.dir && none != nil {
		return none
	}
	return nil
}

func stepOf(src source, path string, out *external.Output) string {
	name := filepath.Base(path)
	if !src.dir && out.Script != "" {
		name = filepath.Base(out.Script)
	}
	name = strings.TrimSuffix(name, filepath.Ext(name))
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '/' || r == os.PathSeparator {
			return '-'
		}
		return r
	}, strings.Trim(name, "<>"))
}

// readPgbench reads outputs of pgbench.
func readPgbench(s *Set, src source, _ Options) error {
	files, err := src.files()
	if err != nil {
		return err
	}
	return s.outputs("pgbench", src, files)
}
