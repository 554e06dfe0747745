package source

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-getter/v2"

	"pgpipeline/pipeline/proc"
)

func timeOf(ns int64) time.Time { return time.Unix(0, ns) }

// localGetter takes paths and file:// addresses. A file is treated like a download. A folder, such as a developer's working
// tree, is pinned by its content; in a git working tree that is what git would commit: files that git ignores, such as
// those of an earlier build in the tree, stay behind.
type localGetter struct {
	getter.FileGetter
	job *job
}

func (g *localGetter) name() string { return "file" }

// path is the folder or file that a names, its subdirectory included where it is a folder.
func (g *localGetter) path(a *address) (path string, isDir bool, err error) {
	path = strings.TrimPrefix(a.src, "file://")
	if u, err := url.Parse(a.src); err == nil && u.Path != "" {
		path = u.Path
	}
	st, err := os.Stat(path)
	if err != nil {
		return "", false, fmt.Errorf("%w%s", err, g.hint(a))
	}
	return path, st.IsDir(), nil
}

// hint says what may be meant by a path that does not exist.
func (g *localGetter) hint(a *address) string {
	if host, _, ok := strings.Cut(a.given, "/"); ok && strings.Contains(host, ".") && !strings.HasPrefix(host, ".") {
		return fmt.Sprintf(" (for a download write https://%s)", a.given)
	}
	return ""
}

func (g *localGetter) resolve(ctx context.Context, a *address) (Resolved, error) {
	path, isDir, err := g.path(a)
	if err != nil {
		return Resolved{}, err
	}
	// The address stays as it was written: a relative path is good on every machine that has the repository.
	written, _ := getter.SourceDirSubdir(a.given)
	written, _, _ = strings.Cut(written, "?")
	if !isDir {
		r, err := g.job.resolveFile(ctx, a, a.fixed(written, a.query))
		if r.Verified == Unverified {
			r.Notes = nil // a file of one's own
		}
		return r, err
	}
	if a.checksum != "" {
		return Resolved{}, fmt.Errorf("%s is a folder, and checksum= is for a file", path)
	}
	list, err := listLocal(ctx, path, a.subdir)
	if err != nil {
		return Resolved{}, err
	}
	if len(list) == 0 {
		return Resolved{}, fmt.Errorf("folder %s is empty", filepath.Join(path, a.subdir))
	}
	sum, err := rememberedHash(ctx, path+"//"+a.subdir, list)
	if err != nil {
		return Resolved{}, err
	}
	return Resolved{Address: a.fixed(written, nil), SHA256: sum, Verified: "content of the folder"}, nil
}

// Get implements getter.Getter: it copies a folder.
func (g *localGetter) Get(ctx context.Context, req *getter.Request) error {
	list, err := listLocal(ctx, req.URL().Path, "")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(req.Dst, 0o755); err != nil {
		return err
	}
	return g.job.copyListing(ctx, list, req.Dst)
}

// hashes remembers the hash of a folder with the state that its files were in, because every cell of a matrix asks for it.
var hashes sync.Map // path -> rememberedTree

type rememberedTree struct{ state, hash string }

func rememberedHash(ctx context.Context, key string, list []listed) (string, error) {
	now := state(list)
	if old, ok := hashes.Load(key); ok && old.(rememberedTree).state == now {
		return old.(rememberedTree).hash, nil
	}
	sum, err := treeHash(ctx, list)
	if err != nil {
		return "", err
	}
	// A file that was written within the clock's granularity of now could change again without a trace.
	if newest(list).Before(time.Now().Add(-2 * time.Second)) {
		hashes.Store(key, rememberedTree{now, sum})
	}
	return sum, nil
}

func newest(list []listed) time.Time {
	var ns int64
	for _, e := range list {
		ns = max(ns, e.times[0], e.times[1])
	}
	return timeOf(ns)
}

// listLocal lists a folder, and of a git working tree what git would commit; of both only what is below subdir.
func listLocal(ctx context.Context, dir, subdir string) ([]listed, error) {
	list, err := listWhole(ctx, dir)
	if err != nil || subdir == "" {
		return list, err
	}
	var part []listed
	for _, e := range list {
		if name, ok := strings.CutPrefix(e.name, subdir+"/"); ok {
			e.name = name
			part = append(part, e)
		}
	}
	return part, nil
}

func listWhole(ctx context.Context, dir string) ([]listed, error) {
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		if names, err := gitFiles(ctx, dir); err == nil {
			return listNames(dir, names)
		}
	}
	return addFolder(nil, dir, "")
}

// gitFiles are the tracked files of a working tree and the new ones that are not ignored.
func gitFiles(ctx context.Context, dir string) ([]string, error) {
	var out bytes.Buffer
	err := proc.Run(ctx, proc.Cmd{Path: "git", Dir: dir, Env: proc.Environ(gitSettings()...), Stdout: &out, Timeout: time.Minute,
		Args: []string{"-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"}})
	if err != nil {
		return nil, err
	}
	names := strings.Split(strings.TrimSuffix(out.String(), "\x00"), "\x00")
	slices.Sort(names)
	return slices.Compact(names), nil // a file in conflict is listed several times
}

func listNames(dir string, names []string) ([]listed, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var list []listed
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		st, err := os.Lstat(path)
		if os.IsNotExist(err) { // deleted, and the deletion not committed
			continue
		}
		if err != nil {
			return nil, err
		}
		if st.IsDir() { // a submodule
			if list, err = addFolder(list, path, name); err != nil {
				return nil, err
			}
			continue
		}
		e, err := listFile(root, path, name)
		if err != nil {
			return nil, err
		}
		if e != nil {
			e.name = name
			list = append(list, *e)
		}
	}
	return list, nil
}
