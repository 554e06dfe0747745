package external

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pgpipeline/pipeline/proc"
)

// Tool is a load generator that a step is run by.
type Tool struct {
	Name string
	// Builtin is the name of a script that comes with the tool, such as oltp_read_only; "" when Scripts say what runs.
	Builtin string
	// Scripts are names of the user's files among Files, for pgbench with a weight behind an @ if they like.
	Scripts []string
	Files   map[string][]byte // the scripts, and for sysbench the other Lua files beside them, by base name
	Args    []string
	// Prepare are the arguments of a call before the step, unmeasured; nil: none. sysbench appends its command "prepare".
	Prepare []string
}

// tools are what is known of each.
var tools = map[string]struct {
	remedy string
	dirs   []string // where its binary may be, besides PATH; the last match counts
	unit   string
	// owned are options that the step sets, with the parameter that sets them.
	owned map[string]string
}{
	"pgbench": {
		remedy: "apt-get install postgresql-client-common postgresql",
		dirs:   []string{"/usr/lib/postgresql/*/bin"}, unit: "transactions",
		owned: map[string]string{"-c": "clients", "--client": "clients", "-T": "duration", "--time": "duration", "-t": "duration", "--transactions": "duration",
			"-R": "rate", "--rate": "rate", "-f": "script", "--file": "script", "-P": "", "--progress": "", "-h": "", "--host": "", "-p": "", "--port": "",
			"-U": "", "--username": "", "-l": "", "--log": "", "--log-prefix": "", "--sampling-rate": "", "--aggregate-interval": ""},
	},
	"sysbench": {
		remedy: "apt-get install sysbench", unit: "queries",
		owned: map[string]string{"--threads": "clients", "--time": "duration", "--events": "duration", "--rate": "rate", "--report-interval": "", "--report-checkpoints": "", "--histogram": "", "--db-driver": "",
			"--pgsql-host": "", "--pgsql-port": "", "--pgsql-user": "", "--pgsql-db": "", "--pgsql-password": ""},
	},
}

// Unit of what the tool counts.
func (t *Tool) Unit() string { return tools[t.Name].unit }

// Missing is the error of a tool that is not installed.
type Missing struct{ Name, Remedy string }

func (e *Missing) Error() string { return fmt.Sprintf("%s is not installed", e.Name) }

// Check refuses unknown tools and arguments that the step sets itself.
func (t *Tool) Check() error {
	known, ok := tools[t.Name]
	if !ok {
		return fmt.Errorf("unknown driver %q; there are pgbench and sysbench", t.Name)
	}
	for _, arg := range t.Args {
		option, _, _ := strings.Cut(arg, "=")
		by, owned := known.owned[option]
		if !owned && len(arg) > 2 && arg[0] == '-' && arg[1] != '-' {
			by, owned = known.owned[arg[:2]] // -c8
		}
		switch {
		case owned && by == "":
			return fmt.Errorf("args: %s is set by this program", option)
		case owned:
			return fmt.Errorf("args: %s is set by the step's %q", option, by)
		}
	}
	if n := len(t.Scripts); t.Name == "sysbench" && (n > 1 || n == 0 && t.Builtin == "") {
		return fmt.Errorf("sysbench takes one script, such as oltp_read_only")
	}
	return nil
}

// Path finds the program. The error is a *Missing.
func (t *Tool) Path() (string, error) {
	dirs := filepath.SplitList(searchPath())
	for _, pattern := range tools[t.Name].dirs { // before PATH: what is there is a script around these
		found, _ := filepath.Glob(pattern)
		slices.SortFunc(found, func(a, b string) int { return compareVersions(b, a) })
		dirs = append(found, dirs...)
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, t.Name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", &Missing{t.Name, tools[t.Name].remedy}
}

// searchPath is the PATH that children get.
func searchPath() string {
	for _, kv := range proc.Environ() {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			return path
		}
	}
	return ""
}

// compareVersions orders directories such as /usr/lib/postgresql/9.6/bin and .../17/bin.
func compareVersions(a, b string) int {
	if len(a) != len(b) && !strings.Contains(a, ".") && !strings.Contains(b, ".") {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// versions by path: the program is asked once.
var versions sync.Map

// Version is what the program says about itself.
func (t *Tool) Version(ctx context.Context) (string, error) {
	path, err := t.Path()
	if err != nil {
		return "", err
	}
	if v, ok := versions.Load(path); ok {
		return v.(string), nil
	}
	var out bytes.Buffer
	if err := proc.Run(ctx, proc.Cmd{Path: path, Args: []string{"--version"}, Env: proc.Environ(), Stdout: &out, Timeout: 10 * time.Second}); err != nil {
		return "", fmt.Errorf("ask for its version: %w", err)
	}
	version := strings.TrimSpace(out.String())
	versions.Store(path, version)
	return version, nil
}

// Describe is the call as a person would write it, for listings of what an experiment runs.
func (t *Tool) Describe() string {
	parts := []string{t.Name}
	for _, p := range slices.Concat([]string{t.Builtin}, t.Scripts, t.Args) {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if t.Prepare != nil {
		parts = append(parts, "(after: "+strings.Join(append([]string{t.Name}, t.Prepare...), " ")+")")
	}
	return strings.Join(parts, " ")
}
