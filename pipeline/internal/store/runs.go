package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Runs is the directory with everything that runs leave behind (`.pipeline` beside the experiments):
//
//	.gitignore              "*": results do not belong in git by accident
//	runs/latest             link to the run that was started last
//	runs/<id>/record.json   replaced as a whole whenever it grows
//	runs/<id>/summary.json  a few hundred bytes for listings
//	runs/<id>/blocks/       one file per measured block, never changed
//	runs/<id>/logs/         one log per node
//	runs/<id>/lock          flocked while the run is alive
type Runs struct {
	dir string
	fs  FS
	now func() time.Time
}

const latestName = "latest"

// OpenRuns returns the runs below dir. It touches nothing. Of the options FS and Now count.
func OpenRuns(dir string, opt Options) *Runs {
	r := &Runs{dir: dir, fs: opt.FS, now: opt.Now}
	if r.fs == nil {
		r.fs = osFS{}
	}
	if r.now == nil {
		r.now = time.Now
	}
	return r
}

// Run is a live run of this process.
type Run struct {
	ID   string
	Dir  string
	runs *Runs
	lock *os.File
	mu   sync.Mutex
	next map[string]int // block sequence by evidence prefix; see blocks.go
}

// Create begins a run with a new id such as 20261130-215700-k3vq (UTC): ids sort by time and are never used twice.
func (r *Runs) Create() (*Run, error) {
	const op = "begin a run"
	root := filepath.Join(r.dir, "runs")
	if err := mkdirs(r.fs, root, 0o755); err != nil {
		return nil, wrap(op, root, err)
	}
	ignore := filepath.Join(r.dir, ".gitignore")
	if !exists(ignore) {
		if err := writeAtomic(r.fs, ignore, []byte("*\n"), 0o644); err != nil {
			return nil, wrap(op, ignore, err)
		}
	}
	id := r.now().UTC().Format("20060102-150405-") + randomText(4)
	for exists(filepath.Join(root, id)) {
		id = id[:len(id)-4] + randomText(4)
	}
	run, err := r.begin(id)
	if err != nil {
		return nil, wrap(op, filepath.Join(root, id), err)
	}
	return run, nil
}

// begin makes the directory under another name and locks it first: whoever lists runs sees it alive or not at all.
func (r *Runs) begin(id string) (*Run, error) {
	final := filepath.Join(r.dir, "runs", id)
	tmp := filepath.Join(r.dir, "runs", ".new-"+id)
	for _, dir := range []string{tmp, filepath.Join(tmp, "blocks"), filepath.Join(tmp, "logs")} {
		if err := r.fs.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
	}
	run, err := r.lockRun(context.Background(), id, tmp)
	if err == nil {
		err = r.fs.Rename(tmp, final)
	}
	if err == nil {
		err = r.fs.Sync(filepath.Dir(final))
	}
	if err != nil {
		if run != nil {
			run.Close()
		}
		_ = r.fs.RemoveAll(tmp)
		return nil, err
	}
	run.Dir = final
	r.pointLatest(id)
	return run, nil
}

// pointLatest replaces the link. Without it "latest" is the greatest id, so a failure costs nothing.
func (r *Runs) pointLatest(id string) {
	link := filepath.Join(r.dir, "runs", latestName)
	tmp := link + ".tmp-" + randomText(6)
	if os.Symlink(id, tmp) == nil && os.Rename(tmp, link) != nil {
		_ = os.Remove(tmp)
	}
}

func (r *Runs) lockRun(ctx context.Context, id, dir string) (*Run, error) {
	path := filepath.Join(dir, "lock")
	lock, err := acquire(ctx, lockRequest{open: openLockFile(path), how: unix.LOCK_EX})
	if err != nil {
		return nil, err
	}
	sign(lock, self(id, ""))
	return &Run{ID: id, Dir: dir, runs: r, lock: lock, next: map[string]int{}}, nil
}

// resumeWait covers those who look whether a run is alive, which locks it for an instant.
const resumeWait = time.Second

// Resume takes up a run that has ended or died; ref is as for Load. A live one gives a Busy error that names its process.
func (r *Runs) Resume(ref string) (*Run, error) {
	id, err := r.Find(ref)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), resumeWait)
	defer cancel()
	dir := filepath.Join(r.dir, "runs", id)
	run, err := r.lockRun(ctx, id, dir)
	if isContext(err) {
		return nil, &Error{Kind: Busy, Op: "resume run " + id, Path: dir, Err: waitError{"it is alive: " + holderOf(filepath.Join(dir, "lock")).String(), err},
			Hint: "stop that process first"}
	}
	return run, wrap("resume run "+id, dir, err)
}

// Save replaces the record, and the summary unless it is nil, so that a reader or a crash finds the old or the new one.
func (r *Run) Save(record, summary []byte) error {
	for _, f := range []struct {
		name string
		data []byte
	}{{"record.json", record}, {"summary.json", summary}} {
		if f.data == nil {
			continue
		}
		path := filepath.Join(r.Dir, f.name)
		if err := writeAtomic(r.runs.fs, path, f.data, 0o644); err != nil {
			return spaced(wrap("save the record of run "+r.ID, path, err), len(f.data))
		}
	}
	return nil
}

// spaced notes how many bytes a full disk had no room for, and drops the hint about the cache, which is elsewhere.
func spaced(err error, n int) error {
	var e *Error
	if errors.As(err, &e) && e.Kind == Full {
		e.Bytes, e.Hint = int64(n), "free some space and resume the run"
	}
	return err
}

// OpenLog opens the log of a node for appending and returns its path below the run's directory. Ids that differ get
// different files.
func (r *Run) OpenLog(node string) (*os.File, string, error) {
	rel := filepath.Join("logs", logName(node))
	f, err := os.OpenFile(filepath.Join(r.Dir, rel), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, "", wrap("open the log of "+node, filepath.Join(r.Dir, rel), err)
	}
	return f, rel, nil
}

// logName keeps what is harmless in a shell and in a URL, and tells ids apart by a hash where something was lost.
func logName(node string) string {
	const most = 120
	name := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("-_.,=+", c):
			return c
		case c == '[':
			return '-'
		case c == ']':
			return -1
		}
		return '_'
	}, node)
	clean := strings.TrimSuffix(strings.Replace(node, "[", "-", 1), "]")
	if name != clean || len(name) > most || name == "" || name[0] == '.' {
		name = "n" + name[:min(most, len(name))] + "-" + sumText([]byte(node))[:8]
	}
	return name + ".log"
}

// Close ends the run's life. A second call does nothing.
func (r *Run) Close() {
	if r.lock != nil {
		_ = r.lock.Close()
		r.lock = nil
	}
}

// RunInfo is a run as it lies on disk.
type RunInfo struct {
	ID      string
	Dir     string
	Live    bool            // a process has it
	Holder  Holder          // of a live run
	Summary json.RawMessage // nil when none was saved
}

// LogPath is where the log of a node is, if it has one.
func (r RunInfo) LogPath(node string) string { return filepath.Join(r.Dir, "logs", logName(node)) }

// Loaded is a run with its record.
type Loaded struct {
	RunInfo
	Record []byte // JSON; nil when the run died before it saved one
	// Interrupted: the record says "running" (or there is none) and no process has the run.
	Interrupted bool
}

// Load reads a run; ref is its id, a unique beginning of it, or "latest".
func (r *Runs) Load(ref string) (*Loaded, error) {
	id, err := r.Find(ref)
	if err != nil {
		return nil, err
	}
	// In this order: a run that ends in between has saved its last record before it let go.
	l := &Loaded{RunInfo: r.info(id)}
	path := filepath.Join(l.Dir, "record.json")
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, wrap("load run "+id, path, err)
	}
	l.Record = data
	var peek struct {
		Status string `json:"status"`
	}
	if data != nil {
		if err := json.Unmarshal(data, &peek); err != nil {
			return nil, fmt.Errorf("load run %s: %s: %w", id, path, err)
		}
	}
	l.Interrupted = !l.Live && (data == nil || peek.Status == "running")
	return l, nil
}

func (r *Runs) info(id string) RunInfo {
	dir := filepath.Join(r.dir, "runs", id)
	lock := filepath.Join(dir, "lock")
	info := RunInfo{ID: id, Dir: dir, Live: held(lock)}
	if info.Live {
		info.Holder = holderOf(lock)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "summary.json")); err == nil && json.Valid(data) {
		info.Summary = data
	}
	return info
}

// List returns all runs, the oldest first, without their records.
func (r *Runs) List() ([]RunInfo, error) {
	ids, err := r.ids()
	if err != nil {
		return nil, err
	}
	list := make([]RunInfo, len(ids))
	for i, id := range ids {
		list[i] = r.info(id)
	}
	return list, nil
}

func (r *Runs) ids() ([]string, error) {
	root := filepath.Join(r.dir, "runs")
	names, err := os.ReadDir(root)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, wrap("list runs", root, err)
	}
	var ids []string
	for _, d := range names {
		if d.IsDir() && !strings.HasPrefix(d.Name(), ".") {
			ids = append(ids, d.Name())
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Find returns the full id that ref means.
func (r *Runs) Find(ref string) (string, error) {
	ids, err := r.ids()
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("run %q: there are no runs in %s yet; `pipeline run FILE` makes one", ref, r.dir)
	}
	if ref == latestName {
		return r.latest(ids), nil
	}
	var matches []string
	for _, id := range ids {
		if id == ref {
			return id, nil
		}
		if ref != "" && strings.HasPrefix(id, ref) {
			matches = append(matches, id)
		}
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return "", fmt.Errorf("run %q: no such run in %s; the latest is %s (`pipeline runs` lists them)", ref, r.dir, r.latest(ids))
	}
	return "", fmt.Errorf("run %q: %d runs begin like that: %s", ref, len(matches), lastOf(matches, 5))
}

// latest prefers the link, which is right even when the clock was set back.
func (r *Runs) latest(ids []string) string {
	target, err := os.Readlink(filepath.Join(r.dir, "runs", latestName))
	if err == nil && slices.Contains(ids, target) {
		return target
	}
	return ids[len(ids)-1]
}

// lastOf joins the last few names.
func lastOf(names []string, most int) string {
	if len(names) > most {
		return "..., " + strings.Join(names[len(names)-most:], ", ")
	}
	return strings.Join(names, ", ")
}
