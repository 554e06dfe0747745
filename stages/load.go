package stages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/workload"
)

// Load is the kind that makes a data directory and fills it.
var Load = engine.Kind{
	Name: "load",
	Doc: `Fill a new data directory for a workload

Makes a data directory with the config's initdb options, starts the built server on it, loads the workload's tables, vacuums,
analyzes, checkpoints, and stops the server cleanly. The load runs under a profile of its own that never changes, so a setting
such as shared_buffers never loads data again; it yields no measurement. The same seed gives the same rows. Each block of a run
starts on a copy of this data.`,
	Scope: engine.Host,
	Takes: []engine.Take{{Kind: "build"}, {Kind: "config", Field: "initdb", Optional: true}},
	New: func() engine.Stage {
		return &LoadStage{Workload: "sysbench", Tables: 1, Rows: 1_000_000, Seed: 1, Clients: 1, PrimaryKey: true}
	},
	Heavy: true,
}

// LoadStage is the parameters of a load stage.
type LoadStage struct {
	Workload   WorkloadName `yaml:"workload" doc:"what to load: sysbench (the microbenchmarks' tables) or insert (the insert benchmark)"`
	Tables     int          `yaml:"tables" doc:"number of tables"`
	Rows       engine.Count `yaml:"rows" doc:"rows of each table, such as 1M"`
	Seed       uint64       `yaml:"seed" doc:"of the random values in the rows"`
	Clients    int          `yaml:"clients" doc:"for the insert benchmark: how many clients the data is for; each has a table"`
	Through    string       `yaml:"through" doc:"for the insert benchmark: the last step that is part of the data: none (an empty database), l.i0, l.x (default), l.i1 or l.i2"`
	Schema     string       `yaml:"schema" doc:"for the insert benchmark: today (default) or 2023, whose indexes and price column are those of the posts of that year"`
	Shared     bool         `yaml:"shared" doc:"for the insert benchmark: one table for all clients"`
	Partitions int          `yaml:"partitions" doc:"for the insert benchmark: range partitions of each table; 0: none"`
	MoreRows   engine.Count `yaml:"more_rows" doc:"for the insert benchmark, through l.i1 or l.i2: rows of each table that these insert, four fifths and one fifth"`
	Deletes    bool         `yaml:"delete_per_insert" doc:"for the insert benchmark, through l.i1 or l.i2: these delete the oldest row for each one inserted"`
	PrimaryKey bool         `yaml:"primary_key" doc:"false gives sysbench tables a plain index on id in place of the primary key"`
	Jobs       int          `yaml:"jobs" key:"-" doc:"connections that load at the same time; one for each CPU unless given"`
}

// WorkloadName is the name of a workload.
type WorkloadName string

// Enum lists the workloads.
func (WorkloadName) Enum() []string {
	var names []string
	for _, w := range workload.All {
		names = append(names, w.Name)
	}
	return names
}

// loadProfile is how the server runs while it loads: nothing is made durable before the end, nothing runs in the background,
// and the log stays short. It is part of the recipe, since it shapes the files.
var loadProfile = []postgres.Setting{
	{Name: "autovacuum", Value: "off"},
	{Name: "bgwriter_lru_maxpages", Value: "0"},
	{Name: "checkpoint_timeout", Value: "1h"},
	{Name: "fsync", Value: "off"},
	{Name: "full_page_writes", Value: "off"},
	{Name: "maintenance_work_mem", Value: "256MB"},
	{Name: "max_wal_senders", Value: "0"},
	{Name: "max_wal_size", Value: "2GB"},
	{Name: "shared_buffers", Value: "512MB"},
	{Name: "synchronous_commit", Value: "off"},
	{Name: "wal_level", Value: "minimal"},
}

// Check refuses data that cannot be made.
func (l *LoadStage) Check(engine.HostFacts) error {
	bad := func(field, format string, args ...any) error {
		return &engine.FieldError{Field: field, Err: fmt.Errorf(format, args...)}
	}
	switch {
	case !slices.Contains(l.Workload.Enum(), string(l.Workload)):
		return bad("workload", "workload: there is no %q, only %s", l.Workload, strings.Join(l.Workload.Enum(), ", "))
	case l.Tables < 1 || l.Tables > 10_000:
		return bad("tables", "tables: %d is not between 1 and 10000", l.Tables)
	case l.Rows < 1:
		return bad("rows", "rows: a table has at least one row")
	case l.Workload == "sysbench" && int64(l.Rows) > math.MaxInt32:
		return bad("rows", "rows: %d are more than the ids of a table can count (%d)", int64(l.Rows), math.MaxInt32)
	case l.Clients < 1 || l.Clients > 512:
		return bad("clients", "clients: %d is not between 1 and 512", l.Clients)
	case l.Jobs < 0 || l.Jobs > 512:
		return bad("jobs", "jobs: %d is not between 0 and 512", l.Jobs)
	case l.Clients != 1 && l.Workload == "sysbench":
		return bad("clients", "clients: the data of sysbench is the same for any number; say how many the run has, and here jobs")
	case l.Through != "" && l.Workload == "sysbench":
		return bad("through", "through: the load of sysbench has no steps; leave it out")
	}
	field, err := l.checkInsert()
	if err != nil {
		return bad(field, "%s: %w", field, err)
	}
	return nil
}

// checkInsert names the first parameter that does not fit the insert benchmark, or that is of no use without it.
func (l *LoadStage) checkInsert() (field string, err error) {
	more := l.Through == "l.i1" || l.Through == "l.i2"
	if l.Workload != "insert" {
		for _, f := range []struct {
			name  string
			given bool
		}{{"schema", l.Schema != ""}, {"shared", l.Shared}, {"partitions", l.Partitions != 0}, {"more_rows", l.MoreRows != 0},
			{"delete_per_insert", l.Deletes}} {
			if f.given {
				return f.name, fmt.Errorf("only the insert benchmark (workload: insert) has it")
			}
		}
		return "", nil
	}
	switch {
	case l.Tables != 1:
		return "tables", errors.New("the insert benchmark has a table for each of its clients, or one for all with shared: true")
	case !l.PrimaryKey:
		return "primary_key", errors.New("the tables of the insert benchmark always have one")
	case l.Schema != "" && l.Schema != workload.SchemaToday && l.Schema != workload.Schema2023:
		return "schema", fmt.Errorf("%q is neither today nor 2023", l.Schema)
	case !slices.Contains(workload.InsertOrder, cmp.Or(l.Through, "l.x")):
		return "through", fmt.Errorf("%q is none of %s", l.Through, strings.Join(workload.InsertOrder, ", "))
	case l.Partitions < 0 || l.Partitions > 1000:
		return "partitions", fmt.Errorf("%d is not between 0 and 1000", l.Partitions)
	case more != (l.MoreRows >= 5):
		return "more_rows", errors.New("it goes with through: l.i1 or l.i2, and is at least 5")
	case l.Deletes && !more:
		return "delete_per_insert", errors.New("it goes with through: l.i1 or l.i2; for steps that are measured it is a parameter of run")
	case l.Deletes && l.Shared:
		return "delete_per_insert", errors.New("clients that share a table cannot each delete its oldest rows")
	}
	return "", nil
}

// params are the data in the workload's words.
func (l *LoadStage) params() workload.Params {
	p := workload.Params{Tables: l.Tables, Rows: int64(l.Rows), Clients: l.Clients, NoPrimaryKey: !l.PrimaryKey}
	if l.Workload != "insert" {
		return p
	}
	p.Insert = workload.Insert{Schema: l.Schema, Shared: l.Shared, Partitions: l.Partitions, MoreRows: int64(l.MoreRows), DeletePerInsert: l.Deletes}
	if p.Tables = l.Clients; l.Shared {
		p.Tables = 1
	}
	return p
}

// Fingerprint is what the machine contributes: data directories fit every machine of the same architecture. The profile is
// in it because it is part of the program, not of the parameters.
func (l *LoadStage) Fingerprint(_ context.Context, host engine.HostFacts) ([]string, error) {
	lines := []string{"architecture: " + host.Arch}
	for _, s := range loadProfile {
		lines = append(lines, "load setting "+s.Name+": "+s.Value)
	}
	return lines, nil
}

// Run loads.
func (l *LoadStage) Run(ctx context.Context, env *engine.Env) error {
	install, err := postgres.Open(env.Inputs["build"].Dir)
	if err != nil {
		return err
	}
	data := filepath.Join(env.Dir, dataDir)
	options := initOptionsOf(env.Inputs, install.Version)
	began := time.Now()
	env.Progress(engine.Progress{What: "initdb"})
	if err := install.InitDB(ctx, data, postgres.InitOptions{Options: options, NoSync: true, Log: env.Log}); err != nil {
		return err
	}
	facts, err := l.fill(ctx, env, install, data)
	if err != nil {
		return err
	}
	control, err := postgres.Seal(data)
	if err != nil {
		return err
	}
	info := l.info(install, facts, control, options)
	info.Seconds = time.Since(began).Seconds()
	if info.DataBytes, err = sizeOf(data); err != nil {
		return err
	}
	l.report(env, info)
	return writeInfo(env.Dir, loadInfoFile, info)
}

// initOptionsOf are the config's initdb options for this server.
func initOptionsOf(inputs map[string]engine.Input, version string) []string {
	config, ok := inputs["config"].Params.(*ConfigStage)
	if !ok {
		return nil
	}
	return config.initOptions(engine.Version(version))
}

// fill runs the server and the loader. An unclean stop is an error: the data would need recovery in every block.
func (l *LoadStage) fill(ctx context.Context, env *engine.Env, install postgres.Install, data string) (facts workload.LoadFacts, err error) {
	if err := install.CheckSettings(ctx, loadProfile); err != nil {
		return facts, fmt.Errorf("profile of the load: %w", err)
	}
	server, err := postgres.Start(ctx, postgres.Config{Install: install, DataDir: data, Conf: postgres.Conf(loadProfile), Log: env.Log})
	if err != nil {
		return facts, err
	}
	defer func() { err = endLoad(ctx, server, err) }()
	facts, err = workload.Load(ctx, workload.LoadOptions{
		ConnString: server.ConnString, Workload: string(l.Workload), Through: l.Through, Seed: l.Seed, Jobs: l.Jobs,
		Params: l.params(),
		Progress: func(what string, done, total float64) {
			env.Progress(engine.Progress{What: what, Done: done, Total: total, Unit: "rows"})
		},
	})
	if err == nil {
		return facts, nil
	}
	if ctx.Err() != nil { // the connections broke because the server was told to stop
		return facts, fmt.Errorf("load %s: %w", l.Workload, ctx.Err())
	}
	if died := server.Died(); died != nil {
		return facts, fmt.Errorf("%w\n%w", died, err)
	}
	if severe := server.Severe(); len(severe) > 0 {
		return facts, fmt.Errorf("%w\n%s", err, strings.Join(severe[max(0, len(severe)-5):], "\n"))
	}
	return facts, err
}

// endLoad stops the server: cleanly after a load, since every block starts from what it leaves, and at once after a failed one,
// whose data is of no use. On a full disk a clean stop would try to write its checkpoint for as long as it may.
func endLoad(ctx context.Context, server *postgres.Server, failed error) error {
	if failed != nil && ctx.Err() == nil {
		at, cancel := context.WithCancel(ctx)
		cancel()
		_ = server.Stop(at) // that it was not clean is no news
		return failed
	}
	return errors.Join(failed, server.Stop(context.WithoutCancel(ctx)))
}

func (l *LoadStage) info(install postgres.Install, facts workload.LoadFacts, control postgres.Control, options []string) LoadInfo {
	p := l.params()
	return LoadInfo{
		Workload: string(l.Workload), Tables: p.Tables, Rows: int64(l.Rows), TotalRows: facts.Rows * int64(facts.Tables), Seed: l.Seed, Clients: l.Clients,
		Insert: p.Insert, Through: l.Through, PrimaryKey: l.PrimaryKey, Bytes: facts.Bytes,
		Version: install.Version, VersionNum: install.VersionNum, CatalogVersion: control.CatalogVersion,
		SystemIdentifier: strconv.FormatUint(control.SystemIdentifier, 10), Checksums: control.Checksums,
		WALSegmentSize: control.WALSegmentSize, InitDB: options, Profile: loadProfile,
		CopySeconds: facts.Copy.Seconds(), IndexSeconds: facts.Index.Seconds(), VacuumSeconds: facts.Vacuum.Seconds(),
	}
}

// report gives reports the figures that say what data was measured on.
func (l *LoadStage) report(env *engine.Env, info LoadInfo) {
	env.Fact("workload", info.Workload)
	env.Fact("tables", strconv.Itoa(info.Tables))
	env.Fact("rows", l.Rows.String())
	if info.Workload == "insert" {
		env.Fact("through", cmp.Or(info.Through, "l.x"))
		env.Fact("schema", cmp.Or(l.Schema, workload.SchemaToday))
	}
	env.Fact("bytes", strconv.FormatInt(info.Bytes, 10))
	env.Fact("checksums", strconv.FormatBool(info.Checksums))
	env.Fact("catalog version", strconv.FormatUint(uint64(info.CatalogVersion), 10))
	if info.CopySeconds > 0 {
		env.Fact("rows per second", strconv.FormatFloat(float64(info.TotalRows)/info.CopySeconds, 'f', 0, 64))
	}
}

func sizeOf(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
