package builder

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"pgpipeline/pipeline/proc"
)

// neutralPrefix is the installation prefix that programs are compiled with. PostgreSQL finds its files relative to the
// running program when the compiled-in paths share a prefix, so the tree runs wherever it is put; the name says to whoever
// reads an error message that the path is not a real one.
const neutralPrefix = "/pipeline"

// job is one build under way.
type job struct {
	Spec
	source  string // what is compiled: Source, or a patched copy of it
	version string
	// work is where objects go, stage is the root that is installed into; both belong to the account.
	work, stage, tools, tmp string
	env                     []string
}

// newJob lays out the work place below s.Scratch.
func newJob(s Spec, version string) (*job, error) {
	if s.Log == nil {
		s.Log = io.Discard
	}
	for _, dir := range []*string{&s.Source, &s.Dest, &s.Scratch} {
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return nil, err
		}
		*dir = abs
	}
	at := func(name string) string { return filepath.Join(s.Scratch, name) }
	j := &job{Spec: s, source: s.Source, version: version,
		work: at("build"), stage: at("stage"), tools: at("tools"), tmp: at("tmp")}
	for _, dir := range []string{s.Scratch, j.work, j.stage, j.tools, j.tmp} {
		if err := j.mkdir(dir); err != nil {
			return nil, err
		}
	}
	if s.As != nil {
		for _, dir := range []string{s.Source, s.Scratch, s.Dest} {
			if err := reachable(dir, s.As); err != nil {
				return nil, err
			}
		}
	}
	j.env = j.environ()
	return j, nil
}

func (j *job) mkdir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("lay out build: %w", err)
	}
	if j.As == nil {
		return nil
	}
	if err := os.Chown(dir, int(j.As.UID), int(j.As.GID)); err != nil {
		return fmt.Errorf("lay out build: %w", err)
	}
	return nil
}

// environ is everything that tools of the build see of the environment. Home and temporary directory are private, so that
// neither a user's settings (compiler caches, init files) nor left-overs reach the result.
func (j *job) environ() []string {
	extra := []string{"HOME=" + j.tmp, "TMPDIR=" + j.tmp}
	names := make([]string, 0, len(j.Env))
	for name := range j.Env {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		extra = append(extra, name+"="+j.Env[name])
	}
	env := proc.Environ(extra...)
	for i, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			env[i] = "PATH=" + j.tools + ":" + path
		}
	}
	return env
}

// FixedEnv returns the part of the tools' environment that is neither given by Spec.Env nor private to a build: it belongs in
// the cache key.
func FixedEnv() []string {
	return slices.DeleteFunc(proc.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "HOME=") || strings.HasPrefix(kv, "TMPDIR=")
	})
}

// command is one command of a build.
type command struct {
	dir  string
	name string
	args []string
	// each is called with every line that the command prints; it may be nil.
	each func(line string)
}

// keptLines is how much of a command's output is searched for the cause of a failure.
const keptLines = 2000

// run runs c as the account; its output goes to the log. The error is a *CommandError.
func (j *job) run(ctx context.Context, c command) error {
	line := c.name
	for _, arg := range c.args {
		line += " " + quote(arg)
	}
	fmt.Fprintf(j.Log, "$ cd %s\n$ %s\n", quote(c.dir), line)
	tail := proc.NewTail(keptLines, j.Log)
	out := &lineWriter{next: tail, each: c.each} // not the Tail itself: the error would repeat its lines
	err := proc.Run(ctx, proc.Cmd{Path: c.name, Args: c.args, Dir: c.dir, Env: j.env, As: j.As, Stdout: out, Stderr: out})
	if err == nil {
		return nil
	}
	fmt.Fprintf(j.Log, "$ failed: %v\n", err)
	return &CommandError{Command: line, Lines: cause(tail.Lines()), Err: err}
}

// quote writes an argument as a shell would take it, for logs and messages.
func quote(arg string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=+./:,@%", r)
	}
	if arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !plain(r) }) < 0 {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// reachable checks that the account can get to dir: a cache below root's closed home is the usual mistake, and "permission
// denied" from the middle of a build would not say so.
func reachable(dir string, as *proc.Account) error {
	for at := filepath.Dir(dir); ; at = filepath.Dir(at) {
		if mayEnter(at, as) != nil {
			return fmt.Errorf("user %q, who is to build, cannot enter %s on the way to %s; open it (chmod o+x %s) or set PIPELINE_CACHE "+
				"to a directory that is open to all", as.Name, at, dir, at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
