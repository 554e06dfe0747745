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
	"time"
)

// Runs is the directory with everything that runs leave behind (`.pipeline` beside the experiments):
//
//	.gitignore              "*": results do not belong in git by accident
//	runs/latest             link to the run that was started last
//	runs/<id>/record.json   replaced as a whole whenever it grows
//	runs/<id>/summary.json  a few hundred bytes for listings
//	runs/<id>/blocks/       one file per measured block, never changed
//	runs/<id>/logs/         one log per node, of bounded size
//	runs/<id>/lock          flocked while the run is alive
type Runs struct {
	dir  string
	fs   FS
	now  func() time.Time
	logs logLimits
}

const latestName = "latest"

// OpenRuns returns the runs below dir. It touches nothing. Of the options FS and Now count.
func OpenRuns(dir string, opt Options) *Runs {
	r := &Runs{dir: dir, fs: opt.FS, now: opt.Now, logs: defaultLogLimits}
	if r.fs == nil {
		r.fs = osFS{}
	}
	if r.now == nil {
		r.now = time.Now
	}
	return r
}

// Create begins a run with a new id such as 20261130-215700-k3vq (UTC): ids sort by time and are never used twice.
func (r *Runs) Create() (*Run, error) {
	const op = "begin a run"
	root := filepath.Join(r.dir, "runs")
	if err := mkdirs(r.fs, root, 0o755); err != nil {
		return nil, runError(op, root, err, 0)
	}
	ignore := filepath.Join(r.dir, ".gitignore")
	if !exists(ignore) {
		if err := writeAtomic(r.fs, ignore, []byte("*\n"), 0o644); err != nil {
			return nil, runError(op, ignore, err, 0)
		}
	}
	r.sweep(root)
	id := r.now().UTC().Format("20060102-150405-") + randomText(4)
	for exists(filepath.Join(root, id)) {
		id = id[:len(id)-4] + randomText(4)
	}
	run, err := r.begin(id)
	if err != nil {
		return nil, runError(op, filepath.Join(root, id), err, 0)
	}
	return run, nil
}

// sweep removes what died while it began.
func (r *Runs) sweep(root string) {
	names, _ := filepath.Glob(filepath.Join(root, newPrefix+"*"))
	for _, dir := range names {
		info, err := os.Stat(dir)
		if err == nil && r.now().Sub(info.ModTime()) > time.Hour && !held(filepath.Join(dir, "lock")) {
			_ = r.fs.RemoveAll(dir)
		}
	}
}

// newPrefix marks the directory of a run that begins.
const newPrefix = ".new-"

// begin makes the directory under another name and locks it first: whoever lists runs sees it alive or not at all.
func (r *Runs) begin(id string) (*Run, error) {
	final := filepath.Join(r.dir, "runs", id)
	tmp := filepath.Join(r.dir, "runs", newPrefix+id)
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
		return nil, runError("load run "+id, path, err, 0)
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
		return nil, runError("list runs", root, err, 0)
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
