package stages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/block"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/workload"
)

// Run is the kind that measures.
var Run = engine.Kind{
	Name: "run",
	Doc: `Measure benchmark steps on all variants of a facet, block by block.
A block restores the data, boots every variant's server and passes once over the steps. Steps that only read are measured in
slices of about a second that alternate between the variants in random order; steps that write run uninterrupted.
Every run measures at least one block and stops when all assertions are decided or the budget is spent.`,
	Scope:  engine.Measured,
	Format: 1, // `cached` is brought about; it used to be checked only
	Takes:  []engine.Take{{Kind: "build"}, {Kind: "config"}, {Kind: "load"}},
	New: func() engine.Stage {
		return &RunStage{Clients: 1, Duration: engine.Duration(20 * time.Second), Slice: engine.Duration(time.Second),
			Warmup: engine.Duration(2 * time.Second), WarmupCap: engine.Duration(30 * time.Second), Placement: "free", Settle: engine.Duration(10 * time.Second),
			Budget: RunBudget{MinBlocks: 3, Blocks: 12}}
	},
}

// RunStage is the parameters of the run stage.
type RunStage struct {
	Steps         []RunStep       `yaml:"steps,one" doc:"steps in order: names, {list: sysbench-a}, or {step: random-points, range: 10, pre: true, clients: 8, rate: 2000/s}, {script: own.sql}, {driver: pgbench, script: own.sql}"`
	Clients       int             `yaml:"clients" doc:"connections that send statements, 1 to 512"`
	Duration      engine.Duration `yaml:"duration" doc:"measured time per step, variant and block"`
	WriteDuration engine.Duration `yaml:"write_duration" doc:"the same for steps that write; 0: duration"`
	Slice         engine.Duration `yaml:"slice" doc:"uninterrupted stretch of a step that only reads, 50ms to 30s"`
	Warmup        engine.Duration `yaml:"warmup" doc:"time before measuring, at least, per step, variant and block"`
	WarmupCap     engine.Duration `yaml:"warmup_cap" doc:"the same, at most: warming ends when there is no trend any more"`
	Placement     string          `yaml:"placement" doc:"CPUs of servers and clients: free, split (clients on the first, servers on the others), same-core (both on one), or server=2-7 client=0,1"`
	Cached        string          `yaml:"cached" doc:"which case is meant: postgres (reads from shared_buffers), os (from the page cache) or none (from the disk): brought about when a server has started, for none before each step, and checked against the reads measured"`
	Perf          bool            `yaml:"perf" doc:"after each step, profile the servers with perf for a few seconds more and keep folded stacks beside the run"`
	Sentinel      bool            `yaml:"sentinel" doc:"measure a second copy of the base as well, as a live A/A check: no assertion is about it"`
	Deletes       bool            `yaml:"delete_per_insert" doc:"for the insert benchmark: delete the oldest row for each one inserted, after l.x"`
	Settle        engine.Duration `yaml:"settle" doc:"after writing, how long the other servers' autovacuum and the machine's dirty pages may take to come to rest before the next measurement; 0: no wait"`
	Seed          engine.Count    `yaml:"seed" doc:"added to every block's seed"`
	Budget        RunBudget       `yaml:"budget" key:"-" doc:"how much may be measured"`

	programs programs // of the steps that the experiment brings itself
}

// RunBudget limits the measuring of one facet.
type RunBudget struct {
	MinBlocks int             `yaml:"min_blocks" doc:"blocks for steps that no assertion mentions"`
	Blocks    int             `yaml:"blocks" doc:"blocks at most, those of earlier runs included"`
	Time      engine.Duration `yaml:"time" doc:"time at most that this run measures; 0: no limit"`
}

// RunStep names one step or a list of them.
type RunStep struct {
	Step     string          `yaml:"step,scalar" doc:"name of a step; a shorter form is accepted where it is unique"`
	List     string          `yaml:"list" doc:"name of a published sequence of steps"`
	Range    int             `yaml:"range" doc:"the step's range parameter"`
	Pre      bool            `yaml:"pre" doc:"the step as it runs before the writes"`
	Clients  int             `yaml:"clients" doc:"clients of this step; 0: those of the stage"`
	Rate     engine.Rate     `yaml:"rate" doc:"events (rows, for steps that insert) per second over all clients: an open loop; absent: closed loop"`
	Duration engine.Duration `yaml:"duration" doc:"measured time of this step; 0: that of the stage"`
	Rows     engine.Count    `yaml:"rows" doc:"for l.i1 and l.i2: rows of each table to insert, in place of a duration"`
	Own      RunProgram      `yaml:",inline"`
	Commit   int             `yaml:"rows_per_commit" doc:"for steps that insert: rows of each INSERT; 0: the published number"`
}

// Check refuses values that cannot be measured with.
func (r *RunStage) Check(host engine.HostFacts) error {
	bad := func(field, hint, format string, args ...any) error {
		return &engine.FieldError{Field: field, Hint: hint, Err: fmt.Errorf(format, args...)}
	}
	slice := time.Duration(r.Slice)
	switch {
	case len(r.Steps) == 0:
		return bad("steps", "such as steps: [point-query, hot-points]", "no steps to measure")
	case r.Clients < 1 || r.Clients > 512:
		return bad("clients", "", "clients: %d is not between 1 and 512", r.Clients)
	case slice < 50*time.Millisecond || slice > 30*time.Second:
		return bad("slice", "", "slice: %v is not between 50ms and 30s", slice)
	case time.Duration(r.Duration) < slice:
		return bad("duration", "", "duration: %v is shorter than a slice of %v", time.Duration(r.Duration), slice)
	case r.Budget.Blocks < 1 || r.Budget.MinBlocks < 1 || r.Budget.MinBlocks > r.Budget.Blocks:
		return bad("budget", "blocks is at least min_blocks (default 3), which is at least 1", "budget: min_blocks %d, blocks %d", r.Budget.MinBlocks, r.Budget.Blocks)
	case r.Cached != "" && r.Cached != "postgres" && r.Cached != "os" && r.Cached != "none":
		return bad("cached", "use postgres, os or none", "cached: unknown case %q", r.Cached)
	}
	if _, err := place(r.Placement, host.CPUs); err != nil {
		return bad("placement", "use free, split, same-core, or server=LIST client=LIST", "%w", err)
	}
	_, err := r.resolve(workload.Params{Tables: 1, Rows: 1})
	if err != nil {
		return bad("steps", remedyOf(err), "%w", err)
	}
	return nil
}

// Measures says at plan time what will be measured.
func (r *RunStage) Measures() ([]engine.StepInfo, error) {
	steps, err := r.resolve(workload.Params{Tables: 1, Rows: 1})
	if err != nil {
		return nil, err
	}
	var out []engine.StepInfo
	for _, s := range steps {
		if s.Maintenance == "" {
			s.Seconds = s.Duration.Seconds() + time.Duration(r.Warmup).Seconds()
			if s.FixedWork() {
				s.Seconds = 0
			}
			out = append(out, s.StepInfo)
		}
	}
	return out, nil
}

// Limits bounds the measuring.
func (r *RunStage) Limits() engine.Budget {
	return engine.Budget{MinBlocks: r.Budget.MinBlocks, MaxBlocks: r.Budget.Blocks, Time: time.Duration(r.Budget.Time), Sentinel: r.Sentinel}
}

// resolve turns the references into steps with everything that the stage says for all of them.
func (r *RunStage) resolve(p workload.Params) ([]workload.Step, error) {
	p.Clients, p.Duration, p.Insert.DeletePerInsert = r.Clients, time.Duration(r.Duration), r.Deletes
	refs := make([]workload.StepRef, len(r.Steps))
	for i, s := range r.Steps {
		refs[i] = workload.StepRef{Step: s.Step, List: s.List, Range: s.Range, Pre: s.Pre, Clients: s.Clients,
			Rate: float64(s.Rate), Duration: time.Duration(s.Duration), Rows: int64(s.Rows), RowsPerCommit: s.Commit}
		own, err := r.programs.kind(i, s)
		if err != nil {
			return nil, err
		}
		refs[i].Own = own
	}
	steps, err := workload.Resolve(refs, p)
	for i := range steps {
		if steps[i].Duration == 0 { // a step that is one pass by itself
			steps[i].Duration = p.Duration
		}
		if steps[i].Writes && steps[i].Duration == p.Duration && r.WriteDuration > 0 {
			steps[i].Duration = time.Duration(r.WriteDuration)
		}
	}
	return steps, err
}

// Run measures one block.
func (r *RunStage) Run(ctx context.Context, env *engine.Env) error {
	if len(env.Variants) == 0 {
		return errors.New("there is no variant to measure")
	}
	cpus, err := place(r.Placement, env.Host.CPUs)
	if err != nil {
		return err
	}
	o := block.Options{Seed: env.Block.Seed + uint64(r.Seed), Cached: r.Cached, Scratch: env.Scratch, Log: env.Log,
		ServerCPUs: cpus.server, ClientCPUs: cpus.client, Progress: env.Progress, Warn: env.Warn, Record: env.Record,
		Timing: block.Timing{Slice: time.Duration(r.Slice), Discard: time.Duration(r.Slice) * 15 / 100,
			Warmup: time.Duration(r.Warmup), WarmupCap: time.Duration(r.WarmupCap), Settle: time.Duration(r.Settle)}}
	if o.Number = env.Block.Number; r.Perf {
		o.Profiles = filepath.Join(env.Dir, "perf")
	}
	memory := int64(0)
	var data LoadInfo
	for _, v := range env.Variants {
		variant, load, needs, err := openVariant(v)
		if err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
		data, memory = load, memory+needs
		o.Variants = append(o.Variants, variant)
	}
	if o.Serial = len(o.Variants) > 1 && memory > env.Host.MemoryBytes*8/10; o.Serial {
		env.Warn("the servers of all variants need %d MiB together, more than 80 %% of memory: they run one at a time", memory>>20)
		env.Fact("serial", "true")
	}
	if o.Steps, err = r.wanted(data, env.Block.Steps); err != nil {
		return err
	}
	return block.Run(ctx, o)
}

// wanted are the steps of this block, with the maintenance between them.
func (r *RunStage) wanted(data LoadInfo, names []string) ([]workload.Step, error) {
	steps, err := r.resolve(workload.Params{Tables: data.Tables, Rows: data.Rows, NoPrimaryKey: !data.PrimaryKey, Insert: data.Insert})
	if err == nil {
		err = workload.Check(steps, data.Workload, data.Through)
	}
	if err != nil {
		return nil, err
	}
	want := map[string]bool{}
	for _, n := range names {
		want[n] = true
	}
	var out []workload.Step
	for _, s := range steps {
		if s.Maintenance != "" || want[s.Name] {
			out = append(out, s)
		}
	}
	return out, nil
}

// openVariant collects what earlier stages made for a variant, and how much memory its server and data take.
func openVariant(v engine.Variant) (block.Variant, LoadInfo, int64, error) {
	out := block.Variant{Name: v.Name, Base: v.Base}
	install, err := postgres.Open(v.Inputs["build"].Dir)
	if err != nil {
		return out, LoadInfo{}, 0, err
	}
	conf, err := os.ReadFile(filepath.Join(v.Inputs["config"].Dir, confFile))
	if err != nil {
		return out, LoadInfo{}, 0, err
	}
	load, err := ReadLoad(v.Inputs["load"].Dir)
	if err != nil {
		return out, LoadInfo{}, 0, err
	}
	out.Install, out.Conf = install, string(conf)
	out.Data = filepath.Join(v.Inputs["load"].Dir, dataDir)
	shared, err := SharedBuffers(v.Inputs["config"].Dir)
	return out, load, shared + load.DataBytes, err
}

// cpuSets are the CPUs of servers and clients; nil: all.
type cpuSets struct{ server, client []int }

// place turns a placement into CPU lists. It is the same for every variant.
func place(placement string, cpus int) (cpuSets, error) {
	switch {
	case placement == "free":
		return cpuSets{}, nil
	case placement == "same-core":
		last := []int{cpus - 1}
		return cpuSets{server: last, client: last}, nil
	case placement == "split" && cpus < 2:
		return cpuSets{}, fmt.Errorf("placement split needs two CPUs, and this machine has one")
	case placement == "split":
		clients := max(1, cpus/4)
		return cpuSets{client: sequence(0, clients), server: sequence(clients, cpus)}, nil
	}
	var sets cpuSets
	for _, part := range strings.Fields(placement) {
		side, list, ok := strings.Cut(part, "=")
		parsed, err := cpuList(list, cpus)
		if err != nil {
			return sets, fmt.Errorf("placement %q: %w", placement, err)
		}
		switch {
		case ok && side == "server":
			sets.server = parsed
		case ok && side == "client":
			sets.client = parsed
		default:
			return sets, fmt.Errorf("unknown placement %q", placement)
		}
	}
	if sets.server == nil || sets.client == nil {
		return sets, fmt.Errorf("placement %q names the CPUs of one side only", placement)
	}
	return sets, nil
}

func sequence(from, to int) []int {
	var out []int
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// cpuList reads "0,2-5".
func cpuList(text string, cpus int) ([]int, error) {
	var out []int
	for _, part := range strings.Split(text, ",") {
		var from, to int
		if n, _ := fmt.Sscanf(part, "%d-%d", &from, &to); n == 1 {
			to = from
		} else if n == 0 {
			return nil, fmt.Errorf("%q is not a list of CPUs", text)
		}
		if from < 0 || to < from || to >= cpus {
			return nil, fmt.Errorf("CPUs %q: this machine has 0 to %d", part, cpus-1)
		}
		out = append(out, sequence(from, to+1)...)
	}
	return out, nil
}
