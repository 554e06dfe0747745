package external

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/proc"
	"pgpipeline/stages/driver"
)

// Options of a session.
type Options struct {
	Tool       *Tool
	ConnString string // Unix socket
	Clients    int
	Rate       float64 // events per second; 0: closed loop
	Seed       uint64
	CPUs       []int // that the tool may use; nil: all
	As         *proc.Account
	// Scratch is a private directory for the tool's files; it is made readable for the account.
	Scratch string
	Log     io.Writer // gets every output, verbatim
	// Tables and Rows of the load, for sysbench's own scripts.
	Tables int
	Rows   int64
}

// Session runs a tool once per slice. It has the methods of a *driver.Session that a step needs, so that a step is measured alike
// whoever runs it.
type Session struct {
	Options
	path   string
	dir    string
	target *pgconn.Config
	output string
	note   string
	tps    float64 // of the last run; 0: not known yet

	latencyNote string
}

// Open writes the scripts where the tool can read them, and runs the preparation.
func Open(ctx context.Context, o Options) (*Session, error) {
	s := &Session{Options: o}
	var err error
	if s.path, err = o.Tool.Path(); err != nil {
		return nil, err
	}
	if s.target, err = pgconn.ParseConfig(o.ConnString); err != nil {
		return nil, err
	}
	if err := s.writeFiles(); err != nil {
		return nil, err
	}
	if o.Tool.Prepare != nil {
		if _, err := s.call(ctx, s.prepareArgs(), time.Hour); err != nil {
			return nil, errors.Join(fmt.Errorf("prepare: %w", err), s.Close())
		}
	}
	return s, nil
}

func (s *Session) writeFiles() error {
	var err error
	if s.dir, err = os.MkdirTemp(s.Scratch, s.Tool.Name+"-"); err != nil {
		return err
	}
	for name, data := range s.Tool.Files {
		if err := os.WriteFile(filepath.Join(s.dir, name), data, 0o644); err != nil {
			return err
		}
		if s.As != nil {
			if err := os.Chown(filepath.Join(s.dir, name), int(s.As.UID), int(s.As.GID)); err != nil {
				return err
			}
		}
	}
	if s.As != nil {
		return os.Chown(s.dir, int(s.As.UID), int(s.As.GID))
	}
	return nil
}

// Close removes the tool's files.
func (s *Session) Close() error { return os.RemoveAll(s.dir) }

// Output is what the tool printed in the last slice.
func (s *Session) Output() string { return s.output }

// Note says in which way the last result is less than one of our own driver; "" when there is nothing to say.
func (s *Session) Note() string { return s.note }

// LatencyNote says where the latencies of the last result come from, and what that cost.
func (s *Session) LatencyNote() string { return s.latencyNote }

// startAllowance is what a tool may take beyond its time, to connect and to end.
const startAllowance = 2 * time.Minute

// Slice runs the tool for d, rounded up to whole seconds, and counts what it reports after the first `discard`.
func (s *Session) Slice(ctx context.Context, d, discard time.Duration) (driver.Result, error) {
	if err := s.learnRate(ctx); err != nil {
		return driver.Result{Start: time.Now()}, err
	}
	seconds := int(math.Ceil(d.Seconds()))
	began := time.Now()
	usage, err := s.call(ctx, s.runArgs(seconds, int(math.Ceil(discard.Seconds()))), d+startAllowance)
	if err != nil {
		return driver.Result{Start: began}, err
	}
	out, err := s.parsed()
	if err != nil {
		return driver.Result{Start: began}, err
	}
	s.tps = out.TPS
	r := s.result(out, began, discard, usage)
	return r, s.addLatencies(&r, out)
}

// learnRate finds out how often the tool will run its transactions, when nothing says so: what it is to log of them depends on it.
func (s *Session) learnRate(ctx context.Context) error {
	if s.Tool.Name != "pgbench" || s.Rate > 0 || s.tps > 0 {
		return nil
	}
	if _, err := s.call(ctx, s.pgbenchArgs(1), time.Second+startAllowance); err != nil {
		return err
	}
	out, err := s.parsed()
	if err != nil {
		return err
	}
	s.tps = out.TPS
	return nil
}

func (s *Session) parsed() (*Output, error) {
	out, err := Parse(s.Tool.Name, s.output)
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", s.Tool.Name, err, lastLines(s.output, 5))
	}
	return out, nil
}

// result is an output in the driver's words.
func (s *Session) result(out *Output, began time.Time, discard, cpu time.Duration) driver.Result {
	part, seconds, ok := out.After(discard.Seconds())
	if s.note = ""; !ok || out.Lost > 0 {
		part, seconds = Interval{TPS: out.TPS, QPS: out.QPS}, out.Seconds
	}
	if !ok && discard > 0 {
		s.note = s.Tool.Name + " printed no intermediate reports: its start is part of the figures"
	}
	r := driver.Result{Start: began.Add(discard), Seconds: seconds, Retries: out.Retries, MaxSeconds: out.Latency["max"],
		Events: int64(math.Round(part.TPS * seconds)), ClientCPU: cpu.Seconds() * seconds / max(seconds, time.Since(began).Seconds()),
		Operations: map[string]*driver.OpResult{}}
	r.Ops = r.Events
	if out.QPS > 0 {
		r.Ops = int64(math.Round(part.QPS * seconds))
		r.Statements = r.Ops
	}
	r.Operations[""] = &driver.OpResult{Count: r.Events, Ops: r.Ops, MaxSeconds: r.MaxSeconds}
	from := 0.0
	for _, i := range out.Progress {
		if from >= discard.Seconds()-0.01 {
			rate := i.TPS
			if out.QPS > 0 {
				rate = i.QPS
			}
			r.Series = append(r.Series, engine.Second{T: from - discard.Seconds(), Ops: engine.NewReadings(map[string]float64{"": rate})})
		}
		from = i.End
	}
	return r
}

// call runs the tool once and keeps its output.
func (s *Session) call(ctx context.Context, args []string, limit time.Duration) (cpu time.Duration, err error) {
	out := &capped{}
	tail := proc.NewTail(10, out)
	fmt.Fprintf(s.Log, "$ %s %s\n", s.path, strings.Join(args, " "))
	p, err := proc.Start(ctx, proc.Cmd{Path: s.path, Args: args, Dir: s.dir, Env: proc.Environ("HOME="+s.dir, "PGCONNECT_TIMEOUT=30"), As: s.As,
		Stdout: tail, Stderr: tail, Timeout: limit, CPUs: s.CPUs})
	if err != nil {
		return 0, err
	}
	err = p.Wait()
	s.output = out.String()
	_, _ = io.WriteString(s.Log, s.output)
	if ctx.Err() != nil {
		return p.CPU(), context.Cause(ctx) // what a tool says that was stopped is no news
	}
	if said := complaints(s.output); err != nil && said != "" {
		err = fmt.Errorf("%s: %w", said, err)
	}
	return p.CPU(), err
}

// complaints are the first lines in which a tool says what is wrong; the end of its output is often its usual summary.
func complaints(output string) string {
	const most = 3
	var found []string
	for _, line := range strings.Split(output, "\n") {
		line = strings.TrimSpace(line)
		if (strings.Contains(line, "error:") || strings.HasPrefix(line, "FATAL:") || strings.HasPrefix(line, "ERROR:")) && len(found) < most {
			found = append(found, line)
		}
	}
	return strings.Join(found, "; ")
}

func (s *Session) runArgs(seconds, lost int) []string {
	if s.Tool.Name == "pgbench" {
		return s.pgbenchArgs(seconds, s.logArgs()...)
	}
	args := append(s.sysbenchTarget(), "--threads="+strconv.Itoa(s.Clients), "--time="+strconv.Itoa(seconds), "--report-interval=1", "--histogram=on")
	if lost > 0 && lost < seconds {
		args = append(args, "--report-checkpoints="+strconv.Itoa(lost)) // it begins to count anew
	}
	if s.Rate > 0 {
		args = append(args, fmt.Sprintf("--rate=%.0f", s.Rate))
	}
	return append(append(args, s.Tool.Args...), "run")
}

func (s *Session) pgbenchArgs(seconds int, log ...string) []string {
	threads := s.Clients
	if n := len(s.CPUs); n > 0 {
		threads = min(threads, n)
	}
	args := []string{"-n", "-c", strconv.Itoa(s.Clients), "-j", strconv.Itoa(min(threads, 64)), "-T", strconv.Itoa(seconds), "-P", "1", "-M", "prepared",
		"--random-seed=" + strconv.FormatUint(s.Seed>>1, 10)}
	args = append(args, log...)
	if s.Rate > 0 {
		args = append(args, "-R", strconv.FormatFloat(s.Rate, 'f', -1, 64))
	}
	for _, script := range s.Tool.Scripts {
		args = append(args, "-f", filepath.Join(s.dir, script))
	}
	if s.Tool.Builtin != "" {
		args = append(args, "-b", s.Tool.Builtin)
	}
	return append(append(args, s.Tool.Args...), s.pgbenchTarget()...)
}

func (s *Session) pgbenchTarget() []string {
	return []string{"-h", s.target.Host, "-p", strconv.Itoa(int(s.target.Port)), "-U", s.target.User, s.target.Database}
}

// sysbenchTarget is the script and the connection, and the size of the tables for scripts that are known to take it.
func (s *Session) sysbenchTarget() []string {
	script := s.Tool.Builtin
	if len(s.Tool.Scripts) > 0 {
		script = filepath.Join(s.dir, s.Tool.Scripts[0])
	}
	args := []string{script, "--db-driver=pgsql", "--pgsql-host=" + s.target.Host, "--pgsql-port=" + strconv.Itoa(int(s.target.Port)),
		"--pgsql-user=" + s.target.User, "--pgsql-db=" + s.target.Database}
	if strings.HasPrefix(s.Tool.Builtin, "oltp_") && s.Tables > 0 {
		args = append(args, "--tables="+strconv.Itoa(s.Tables), "--table-size="+strconv.FormatInt(s.Rows, 10))
	}
	return args
}

func (s *Session) prepareArgs() []string {
	if s.Tool.Name == "pgbench" {
		return append(append([]string{}, s.Tool.Prepare...), s.pgbenchTarget()...)
	}
	return append(append(s.sysbenchTarget(), s.Tool.Prepare...), "prepare")
}

// Pass, Work and Empty are for steps of our own driver.
func (s *Session) Pass(context.Context) (driver.Result, error) {
	return driver.Result{}, s.cannot("one pass")
}

// Work: see Pass.
func (s *Session) Work(context.Context, time.Duration) (driver.Result, error) {
	return driver.Result{}, s.cannot("a fixed amount of work")
}

// Empty: see Pass.
func (s *Session) Empty(context.Context, time.Duration, time.Duration) (driver.Result, error) {
	return driver.Result{}, s.cannot("an empty statement")
}

func (s *Session) cannot(what string) error { return fmt.Errorf("%s cannot run %s", s.Tool.Name, what) }

// capped keeps the beginning and counts the rest: scripts may explain every statement of every client.
type capped struct {
	bytes.Buffer
	lost int
}

const maxOutput = 8 << 20

func (c *capped) Write(p []byte) (int, error) {
	room := max(0, maxOutput-c.Len())
	if len(p) > room {
		c.lost += len(p) - room
		_, _ = c.Buffer.Write(p[:room])
		return len(p), nil
	}
	return c.Buffer.Write(p)
}

func (c *capped) String() string {
	if c.lost > 0 {
		return c.Buffer.String() + fmt.Sprintf("\n[%d more bytes were not kept]\n", c.lost)
	}
	return c.Buffer.String()
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
