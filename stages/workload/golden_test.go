package workload_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgpipeline/stages/driver"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
	"pgpipeline/stages/workload"
)

var update = flag.Bool("update", false, "write the golden files anew")

// lockedBuffer is a server's log.
type lockedBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

// small is the data of the tests.
var small = workload.Params{Tables: 2, Rows: 1000, Clients: 1}

func load(t testing.TB, s *postgres.Server, p workload.Params, jobs int) {
	t.Helper()
	_, err := workload.Load(t.Context(), workload.LoadOptions{ConnString: s.ConnString, Workload: "sysbench", Params: p, Seed: 42, Jobs: jobs})
	if err != nil {
		t.Fatal(err)
	}
}

func resolve(t testing.TB, p workload.Params, names ...string) []workload.Step {
	t.Helper()
	var refs []workload.StepRef
	for _, n := range names {
		refs = append(refs, workload.StepRef{Step: n})
	}
	steps, err := workload.Resolve(refs, p)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

// open connects the clients of a step.
func open(t testing.TB, s *postgres.Server, step workload.Step, options string) *driver.Session {
	t.Helper()
	session, err := driver.Open(t.Context(), driver.Options{
		Target:  driver.Target{ConnString: s.ConnString(workload.Database) + options, ServerPID: s.PID()},
		Clients: step.Clients, Seed: 42, Program: func(client int) driver.Program { return step.Program(client, 42) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return session
}

// The statements of one event of every sysbench step, as servers of three versions log them, with their parameters.
func TestStatementsAsTheServerLogsThem(t *testing.T) {
	for _, version := range []string{"11.21", "system", "17.0"} {
		t.Run(version, func(t *testing.T) {
			install := pgtest.Install(t, version)
			log := &lockedBuffer{}
			s, err := postgres.Start(t.Context(), postgres.Config{Install: install, DataDir: pgtest.DataDir(t, install), Log: log,
				Conf: "fsync = off\nautovacuum = off\nlog_statement = all\nlog_line_prefix = '%a|'\n"})
			if err != nil {
				t.Fatal(err)
			}
			stop := sync.OnceValue(func() error { return s.Stop(t.Context()) })
			defer stop()
			load(t, s, small, 1)
			names := slices.Concat(sysbenchSteps(), taggedSteps())
			for _, name := range names {
				step := resolve(t, small, name)[0]
				session := open(t, s, step, " application_name='"+name+"'")
				if r, err := session.Pass(t.Context()); err != nil || r.Events != 1 {
					t.Errorf("%s: %d events, %v", name, r.Events, err)
				}
			}
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			golden(t, "statements.golden", statements(log.String(), names))
		})
	}
}

// sysbenchSteps are the published steps without those that only differ by a tag.
func sysbenchSteps() []string {
	var names []string
	for _, name := range workload.Names() {
		if !strings.Contains(name, ".") && strings.Contains(name, "_range=") {
			names = append(names, name)
		}
	}
	return names
}

// taggedSteps are the others: those that a published list runs a second time under another name.
func taggedSteps() []string {
	var names []string
	for _, name := range workload.Names() {
		if strings.Contains(name, ".") && strings.Contains(name, "_range=") {
			names = append(names, name)
		}
	}
	return names
}

// Every step of the published lists has its statements in a golden file.
func TestEveryListedStepHasAGolden(t *testing.T) {
	text := ""
	for _, file := range []string{"statements.golden", "insert.golden"} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		text += string(data)
	}
	for list, want := range map[string]int{"sysbench-a": 42, "sysbench-b": 0, "insert": 0, "insert-2023": 0} {
		steps, err := workload.Resolve([]workload.StepRef{{List: list}}, workload.Params{Tables: 2, Rows: 10, Clients: 2, Duration: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		measured := 0
		for _, s := range steps {
			if s.Maintenance != "" {
				continue
			}
			measured++
			name, _, _ := strings.Cut(s.Name, "_clients=")
			header := "# " + name + "\n"
			if s.Workload.Name == "insert" {
				header = "# today " + name + "\n"
			}
			if _, after, found := strings.Cut(text, header); !found || !strings.HasPrefix(after, "execute ") && !strings.HasPrefix(after, "statement ") {
				t.Errorf("%s: no statements of %s", list, name)
			}
		}
		if want > 0 && measured != want {
			t.Errorf("%s has %d measured steps, want %d", list, measured, want)
		}
	}
}

var (
	logged     = regexp.MustCompile(`^([^|]*)\|LOG:  (execute|statement)[^:]*: (.*)`)
	parameters = regexp.MustCompile(`^([^|]*)\|DETAIL:  [Pp]arameters: (.*)`)
	manyMarks  = regexp.MustCompile(`\$(\d+),\$\d+,[$\d,]*\$(\d+)`)
)

// statements picks the steps' statements out of a log, long lists shortened.
func statements(log string, names []string) string {
	lines := map[string][]string{}
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if m := logged.FindStringSubmatch(line); m != nil {
			lines[m[1]] = append(lines[m[1]], m[2]+" "+manyMarks.ReplaceAllString(m[3], "$$$1..$$$2"))
		} else if m := parameters.FindStringSubmatch(line); m != nil {
			values := strings.Split(m[2], ", ")
			if n := len(values); n > 5 {
				values = append(values[:2], "...", values[n-1])
			}
			lines[m[1]] = append(lines[m[1]], "    "+strings.Join(values, ", "))
		}
	}
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "# %s\n%s\n\n", name, strings.Join(lines[name], "\n"))
	}
	return b.String()
}

// golden compares with a file below testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	a, b := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("%s:%d:\nwant %s\ngot  %s", path, i+1, a[i], b[i])
		}
	}
	t.Fatalf("%s has %d lines, got %d; first that is extra: %q", path, len(a), len(b), slices.Concat(a, b)[min(len(a), len(b))])
}
