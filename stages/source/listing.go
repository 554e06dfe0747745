package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/sourcegraph/conc/pool"
)

// A listed is one file or symbolic link of a folder on this machine that is to be hashed or copied. Folders exist through
// what is in them, as in git: empty ones do not count.
type listed struct {
	name   string // slash-separated, where it goes
	path   string // where it is
	link   string // target of a symbolic link that is kept; "" for a file
	runs   bool   // executable by its owner
	size   int64
	sum    string // sha256, set by hashListing
	device uint64 // with inode, size and times: tells whether it changed
	inode  uint64
	times  [2]int64 // modification and change, ns
}

// addFolder lists everything below dir under the name prefix. Links that stay inside are kept; a link to a file elsewhere
// stands for that file. Repositories' own data (.git) is left out.
func addFolder(list []listed, dir, prefix string) ([]listed, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" && path != dir {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		e, err := listFile(root, path, rel)
		if err != nil || e == nil {
			return err
		}
		e.name = filepath.ToSlash(filepath.Join(prefix, rel))
		list = append(list, *e)
		return nil
	})
	return list, err
}

// listFile describes one entry; nil for sockets, pipes and devices, which are no content.
func listFile(root *os.Root, path, rel string) (*listed, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	e := &listed{path: path}
	if st.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		if err != nil {
			return nil, err
		}
		if _, err := root.Stat(rel); err == nil || errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(target) {
			e.link = target
			return e, nil
		}
		if st, err = os.Stat(path); err != nil || st.IsDir() {
			return nil, fmt.Errorf("%s is a symbolic link to %q, which is outside the folder and no file", path, target)
		}
	}
	if !st.Mode().IsRegular() {
		return nil, nil
	}
	e.runs, e.size = st.Mode()&0o100 != 0, st.Size()
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		e.device, e.inode = uint64(sys.Dev), sys.Ino
		e.times = [2]int64{sys.Mtim.Nano(), sys.Ctim.Nano()}
	}
	return e, nil
}

// state is a digest of everything that changes when a listed file is changed, without reading it.
func state(list []listed) string {
	h := sha256.New()
	for _, e := range list {
		fmt.Fprintf(h, "%q %q %t %d %d %d %d\n", e.name, e.link, e.runs, e.size, e.device, e.inode, e.times)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// treeHash is the sha256 of the sorted lines "mode sha256 name" of all files and "link target name" of all links: of what
// a folder contains, whatever its path, owner and times.
func treeHash(ctx context.Context, list []listed) (string, error) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b listed) int { return strings.Compare(a.name, b.name) })
	if err := hashFiles(ctx, list); err != nil {
		return "", err
	}
	h := sha256.New()
	for _, e := range list {
		switch {
		case e.link != "":
			fmt.Fprintf(h, "link %q %q\n", e.link, e.name)
		case e.runs:
			fmt.Fprintf(h, "755 %s %q\n", e.sum, e.name)
		default:
			fmt.Fprintf(h, "644 %s %q\n", e.sum, e.name)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// onEach runs f on every entry, on all processors.
func onEach(ctx context.Context, list []listed, f func(*listed, []byte) error) error {
	workers := min(runtime.GOMAXPROCS(0), 8)
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	for w := range workers {
		p.Go(func(ctx context.Context) error {
			buf := make([]byte, 1<<17)
			for i := w; i < len(list); i += workers {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := f(&list[i], buf); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return p.Wait()
}

func hashFiles(ctx context.Context, list []listed) error {
	return onEach(ctx, list, func(e *listed, buf []byte) error {
		if e.link != "" {
			return nil
		}
		f, err := os.Open(e.path)
		if err != nil {
			return err
		}
		defer f.Close()
		h := sha256.New()
		if _, err := io.CopyBuffer(h, struct{ io.Reader }{f}, buf); err != nil {
			return err
		}
		e.sum = hex.EncodeToString(h.Sum(nil))
		return nil
	})
}

// copyListing copies the files to dst, which must exist. File times are kept. Where the file system can, blocks are shared.
func (j *job) copyListing(ctx context.Context, list []listed, dst string) error {
	var total float64
	for _, e := range list {
		total += float64(e.size)
		if err := os.MkdirAll(filepath.Join(dst, filepath.Dir(e.name)), 0o755); err != nil {
			return err
		}
	}
	done := newCounter(j, "copy", total)
	return onEach(ctx, list, func(e *listed, _ []byte) error {
		if e.link != "" {
			return os.Symlink(e.link, filepath.Join(dst, e.name))
		}
		err := copyFile(e, filepath.Join(dst, e.name))
		done.add(e.size)
		return err
	})
}

func copyFile(e *listed, to string) error {
	from, err := os.Open(e.path)
	if err != nil {
		return err
	}
	defer from.Close()
	mode := fs.FileMode(0o644)
	if e.runs {
		mode = 0o755
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from) // copy_file_range: a reflink on btrfs and XFS
	if err == nil {
		err = out.Chmod(mode)
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	mtime := timeOf(e.times[0])
	return os.Chtimes(to, mtime, mtime)
}
