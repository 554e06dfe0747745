package stages_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/proc"
	"pgpipeline/stages"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
	"pgpipeline/stages/workload"
)

// node is a stage's world in a test.
type node struct {
	engine.Env
	log      bytes.Buffer
	facts    map[string]string
	warnings []string
}

// newNode gives a stage the install tree as its build, and directories that the server's account can reach.
func newNode(t *testing.T, i postgres.Install) *node {
	t.Helper()
	base := pgtest.Dir(t)
	n := &node{facts: map[string]string{}}
	n.Env = engine.Env{
		Dir: filepath.Join(base, "dir"), Scratch: filepath.Join(base, "scratch"), Log: &n.log,
		Inputs:   map[string]engine.Input{"build": {Kind: "build", Dir: filepath.Dir(i.BinDir)}},
		Progress: func(engine.Progress) {},
		Warn:     func(format string, args ...any) { n.warnings = append(n.warnings, fmt.Sprintf(format, args...)) },
		Fact:     func(name, value string) { n.facts[name] = value },
	}
	for _, dir := range []string{n.Dir, n.Scratch} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func TestLoad(t *testing.T) {
	for _, version := range []string{"11.21", "system", "17.0"} {
		t.Run(version, func(t *testing.T) {
			i := pgtest.Install(t, version)
			n := newNode(t, i)
			config := stages.Configuration.New().(*stages.ConfigStage)
			config.InitDB = []stages.InitOption{{Option: "--data-checksums"}, {Option: "--wal-segsize=1"}, {Option: "--no-such", Since: "99"}}
			n.Inputs["config"] = engine.Input{Kind: "config", Params: config}
			load := stages.Load.New().(*stages.LoadStage)
			load.Tables, load.Rows = 2, 1000
			if err := load.Run(t.Context(), &n.Env); err != nil {
				t.Fatalf("%v\n%s", err, &n.log)
			}
			info, err := stages.ReadLoad(n.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if info.Tables != 2 || info.Rows != 1000 || info.TotalRows != 2000 || !info.Checksums || info.WALSegmentSize != 1<<20 ||
				info.Version != i.Version || info.CatalogVersion == 0 || info.Bytes < 2000*200 || info.DataBytes < info.Bytes {
				t.Errorf("load.json: %+v", info)
			}
			data := filepath.Join(n.Dir, "data")
			checkSealed(t, data)
			checkCopyRuns(t, i, data)
		})
	}
}

// checkSealed expects that the original is shut down, short, and closed to the server's account.
func checkSealed(t *testing.T, data string) {
	t.Helper()
	control, err := postgres.ControlFile(data)
	if err != nil || !control.ShutDown() {
		t.Errorf("control file: %+v, %v", control, err)
	}
	segments, err := filepath.Glob(filepath.Join(data, "pg_wal", "0*"))
	if err != nil || len(segments) != 1 {
		t.Errorf("log segments: %v, %v", segments, err)
	}
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && (info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) || info.Mode().Perm()&0o077 != 0) {
			t.Errorf("%s: %v of %d", path, info.Mode(), info.Sys().(*syscall.Stat_t).Uid)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// checkCopyRuns starts a server on a copy and counts the rows; the WAL that was trimmed must not be missed.
func checkCopyRuns(t *testing.T, i postgres.Install, data string) {
	t.Helper()
	copied := filepath.Join(pgtest.Dir(t), "data")
	if _, err := postgres.CopyData(t.Context(), data, copied, postgres.CopyOptions{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	s := pgtest.Start(t, postgres.Config{Install: i, DataDir: copied})
	conn, err := pgx.Connect(t.Context(), s.ConnString(workload.Database))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var rows int
	if err := conn.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM sbtest1) + (SELECT count(*) FROM sbtest2)").Scan(&rows); err != nil || rows != 2000 {
		t.Errorf("%d rows, %v", rows, err)
	}
	if _, err := conn.Exec(t.Context(), "UPDATE sbtest1 SET c = c; CHECKPOINT"); err != nil {
		t.Error(err)
	}
	if severe := s.Severe(); len(severe) > 0 {
		t.Errorf("the server complains: %q", severe)
	}
}

// TestLoadIsCancelled ends the context in the middle of the load.
func TestLoadIsCancelled(t *testing.T) {
	n := newNode(t, pgtest.Install(t, "system"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n.Progress = func(p engine.Progress) {
		if p.Done > 0 {
			cancel()
		}
	}
	load := stages.Load.New().(*stages.LoadStage)
	load.Rows = 500_000
	if err := load.Run(ctx, &n.Env); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	for _, pid := range proc.Descendants(os.Getpid()) {
		if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); strings.Contains(exe, "postgres") {
			t.Errorf("%s still runs", exe)
		}
	}
}

// TestLoadOnAFullDisk has room for an empty data directory only.
func TestLoadOnAFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	n := newNode(t, pgtest.Install(t, "17.0"))
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=80M,mode=0755", "none", n.Dir).CombinedOutput(); err != nil {
		t.Fatalf("mount: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = syscall.Unmount(n.Dir, 0) })
	load := stages.Load.New().(*stages.LoadStage)
	load.Rows = 1_000_000
	err := load.Run(t.Context(), &n.Env)
	if err == nil || !strings.Contains(err.Error(), "No space left on device") {
		t.Errorf("error is %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	for want, change := range map[string]func(*stages.LoadStage){
		"tables: 0":                     func(l *stages.LoadStage) { l.Tables = 0 },
		"rows: a table":                 func(l *stages.LoadStage) { l.Rows = 0 },
		"rows: 3000000000":              func(l *stages.LoadStage) { l.Rows = 3_000_000_000 },
		"clients: the data of sysbench": func(l *stages.LoadStage) { l.Clients = 8 },
		"clients: 513":                  func(l *stages.LoadStage) { l.Clients = 513 },
		"jobs: -1":                      func(l *stages.LoadStage) { l.Jobs = -1 },
		`there is no "tpcc"`:            func(l *stages.LoadStage) { l.Workload = "tpcc" },
		"the load of sysbench has no":   func(l *stages.LoadStage) { l.Through = "l.x" },
	} {
		l := stages.Load.New().(*stages.LoadStage)
		if err := l.Check(engine.HostFacts{}); err != nil {
			t.Fatal(err)
		}
		change(l)
		var field *engine.FieldError
		if err := l.Check(engine.HostFacts{}); !errors.As(err, &field) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestConfig(t *testing.T) {
	type settings = map[string]stages.SettingValue
	for _, c := range []struct {
		name, version string
		config        stages.ConfigStage
		conf          string // expected postgresql.conf
		dropped       string // names
		err           string // first error
	}{
		{name: "layers come sorted and quoted", version: "17.0",
			config: stages.ConfigStage{Settings: settings{"work_mem": {Value: "8MB"}, "application_name": {Value: "it's"}}},
			conf:   "application_name = 'it''s'\nwork_mem = '8MB'\n"},
		{name: "bounds", version: "11.21",
			config: stages.ConfigStage{Settings: settings{"vacuum_buffer_usage_limit": {Value: "256MB", Since: "16"}, "jit": {Value: "off", Since: "11"},
				"wal_keep_segments": {Value: "5", Until: "12"}}},
			conf: "jit = 'off'\nwal_keep_segments = '5'\n"},
		{name: "unsupported is an error", version: "17.0",
			config: stages.ConfigStage{Settings: settings{"wal_compression": {Value: "lz4"}}, Unsupported: "error"},
			err:    `setting wal_compression = lz4: invalid value for parameter "wal_compression": "lz4"`},
		{name: "unsupported is dropped", version: "17.0",
			config: stages.ConfigStage{Settings: settings{"wal_compression": {Value: "lz4"}, "io_method": {Value: "sync"}, "jit": {Value: "off"}}, Unsupported: "drop"},
			conf:   "jit = 'off'\n", dropped: "io_method wal_compression"},
		{name: "dropped for one setting alone", version: "11.21",
			config: stages.ConfigStage{Settings: settings{"wal_compression": {Value: "lz4", Unsupported: "drop"}, "io_method": {Value: "sync"}}, Unsupported: "error"},
			err:    "setting io_method = sync: server 11.21 has no such setting"},
		{name: "out of range is never dropped", version: "17.0",
			config: stages.ConfigStage{Settings: settings{"work_mem": {Value: "1kB"}}, Unsupported: "drop"},
			err:    "setting work_mem = 1kB: 1 kB is outside the valid range"},
		{name: "the distribution has lz4", version: "system",
			config: stages.ConfigStage{Settings: settings{"wal_compression": {Value: "lz4"}}},
			conf:   "wal_compression = 'lz4'\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode(t, pgtest.Install(t, c.version))
			err := c.config.Run(t.Context(), &n.Env)
			if c.err != "" {
				var field *engine.FieldError
				if !errors.As(err, &field) || !strings.HasPrefix(err.Error(), c.err) || !strings.HasPrefix(field.Field, "settings.") {
					t.Errorf("error is %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			conf, err := os.ReadFile(filepath.Join(n.Dir, "postgresql.conf"))
			if err != nil || string(conf) != c.conf {
				t.Errorf("postgresql.conf is %q, want %q (%v)", conf, c.conf, err)
			}
			info, err := stages.ReadConfig(n.Dir)
			if err != nil {
				t.Fatal(err)
			}
			var dropped []string
			for _, d := range info.Dropped {
				dropped = append(dropped, d.Name)
			}
			if strings.Join(dropped, " ") != c.dropped || len(n.warnings) != len(dropped) {
				t.Errorf("dropped %q, warnings %q", dropped, n.warnings)
			}
		})
	}
}

func TestConfigRefuses(t *testing.T) {
	for name, value := range map[string]string{
		"port": "5432", "Listen_Addresses": "*", "archive_command": "rm -rf /", "shared_preload_libraries": "/tmp/evil.so",
		"work_mem": "1\nport = 5", "bad name": "1", "include": "/etc/passwd",
	} {
		c := stages.ConfigStage{Settings: map[string]stages.SettingValue{name: {Value: value}}}
		var field *engine.FieldError
		if err := c.Check(engine.HostFacts{}); !errors.As(err, &field) || field.Field != "settings."+name {
			t.Errorf("%s = %q: %v", name, value, err)
		}
	}
	c := stages.ConfigStage{InitDB: []stages.InitOption{{Option: "--auth=trust"}}}
	if err := c.Check(engine.HostFacts{}); err == nil {
		t.Error("--auth=trust was accepted")
	}
}

func TestSharedBuffers(t *testing.T) {
	for value, want := range map[string]int64{"70GB": 70 << 30, "16384": 128 << 20, "256 MB": 256 << 20, "": 128 << 20} {
		dir := t.TempDir()
		info := stages.ConfigInfo{}
		if value != "" {
			info.Settings = []postgres.Setting{{Name: "shared_buffers", Value: value}}
		}
		text, err := json.Marshal(info)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.json"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := stages.SharedBuffers(dir); err != nil || got != want {
			t.Errorf("shared_buffers = %q is %d bytes, want %d (%v)", value, got, want, err)
		}
	}
}

// TestServerCannotChangeTheOriginal tries to write to a sealed data directory as the servers' account.
func TestServerCannotChangeTheOriginal(t *testing.T) {
	as, err := proc.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	if as == nil {
		t.Skip("not root: tool and servers are the same user")
	}
	data := pgtest.DataDir(t, pgtest.Install(t, "system"))
	if _, err := postgres.Seal(data); err != nil {
		t.Fatal(err)
	}
	err = proc.Run(t.Context(), proc.Cmd{Path: "sh", Args: []string{"-c", "echo x >>" + data + "/PG_VERSION"}, Env: proc.Environ(), As: as})
	if err == nil {
		t.Error("the server's account could write to the original")
	}
}

// What only the insert benchmark has, and what it does not have.
func TestInsertLoadRefuses(t *testing.T) {
	for want, change := range map[string]func(*stages.LoadStage){
		"tables: the insert benchmark has":      func(l *stages.LoadStage) { l.Tables = 2 },
		"primary_key: the tables":               func(l *stages.LoadStage) { l.PrimaryKey = false },
		`schema: "2022" is neither`:             func(l *stages.LoadStage) { l.Schema = "2022" },
		`through: "l.i9" is none of`:            func(l *stages.LoadStage) { l.Through = "l.i9" },
		"partitions: -1":                        func(l *stages.LoadStage) { l.Partitions = -1 },
		"more_rows: it goes with":               func(l *stages.LoadStage) { l.MoreRows = 10 },
		"more_rows: it goes with through":       func(l *stages.LoadStage) { l.Through = "l.i1" },
		"delete_per_insert: it goes with":       func(l *stages.LoadStage) { l.Deletes = true },
		"delete_per_insert: clients that share": func(l *stages.LoadStage) { l.Through, l.MoreRows, l.Deletes, l.Shared = "l.i1", 10, true, true },
		"shared: only the insert benchmark":     func(l *stages.LoadStage) { l.Workload, l.Shared = "sysbench", true },
	} {
		load := stages.Load.New().(*stages.LoadStage)
		load.Workload = "insert"
		if err := load.Check(engine.HostFacts{}); err != nil {
			t.Fatalf("the default is refused: %v", err)
		}
		change(load)
		var field *engine.FieldError
		err := load.Check(engine.HostFacts{})
		if !errors.As(err, &field) || !strings.HasPrefix(err.Error(), want) || !strings.HasPrefix(want, field.Field) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
