package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"pgpipeline/pipeline/proc"
)

// CopyOptions of CopyData.
type CopyOptions struct {
	As       *proc.Account // owner of the copy; nil: the account of this machine, see proc.Unprivileged
	Jobs     int           // files at once; 0: twice the CPUs, at most 16
	NoSync   bool          // leave the copy to the page cache; for tests
	Progress func(done, total int64)
}

// CopyFacts says how a copy was made.
type CopyFacts struct {
	Bytes, Files int64
	Reflinked    bool // all of it shares its blocks with the original
}

func (f CopyFacts) String() string {
	how := "copied"
	if f.Reflinked {
		how = "reflinked"
	}
	return fmt.Sprintf("%s in %d files (%s)", humanize.Bytes(uint64(f.Bytes)), f.Files, how)
}

// CopyData copies a data directory that no server runs on. Where the file system can, the copy shares the blocks of the
// original and takes no time; else files are copied in parallel inside the kernel. The copy belongs to the account, is
// closed to others, and is on disk when CopyData returns, so that writing it back does not disturb what is measured
// next. Whatever goes wrong, no half a copy is left.
func CopyData(ctx context.Context, from, to string, opts CopyOptions) (CopyFacts, error) {
	as, err := account(opts.As)
	if err != nil {
		return CopyFacts{}, err
	}
	c := &copier{from: from, to: to, as: as, opts: opts}
	if err := c.run(ctx); err != nil {
		return CopyFacts{}, errors.Join(fmt.Errorf("copy data directory: %w", spaceHint(err, to)), os.RemoveAll(to))
	}
	return CopyFacts{Bytes: c.total, Files: int64(len(c.files)), Reflinked: !c.copied.Load()}, nil
}

type copier struct {
	from, to string
	as       *proc.Account
	opts     CopyOptions

	dirs, files []string // relative
	sizes       []int64
	total       int64
	done        atomic.Int64
	noReflink   atomic.Bool // the file system has said no; do not ask again
	copied      atomic.Bool
	spaceOnce   sync.Once
	spaceErr    error
}

func (c *copier) run(ctx context.Context) error {
	if err := c.scan(); err != nil {
		return err
	}
	for _, dir := range c.dirs {
		if err := makePrivateDir(filepath.Join(c.to, dir), c.as); err != nil {
			return err
		}
	}
	if err := c.copyFiles(ctx); err != nil {
		return err
	}
	if c.opts.NoSync {
		return nil
	}
	return syncFileSystem(c.to)
}

// scan lists what is there. Only directories and regular files are copied: a link would lead out of the original.
func (c *copier) scan() error {
	return filepath.WalkDir(c.from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.from, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			c.dirs = append(c.dirs, rel)
			return nil
		case rel == "postmaster.pid":
			return fmt.Errorf("a server runs on %s, or crashed on it", c.from)
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory", path)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		c.files, c.sizes = append(c.files, rel), append(c.sizes, info.Size())
		c.total += info.Size()
		return nil
	})
}

func (c *copier) copyFiles(ctx context.Context) error {
	jobs := c.opts.Jobs
	if jobs <= 0 {
		jobs = min(2*runtime.NumCPU(), 16)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(jobs, len(c.files)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(c.files) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := c.copyFile(ctx, c.files[i]); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func (c *copier) copyFile(ctx context.Context, rel string) (err error) {
	src, err := os.Open(filepath.Join(c.from, rel))
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(filepath.Join(c.to, rel), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	if c.as != nil {
		if err := dst.Chown(int(c.as.UID), int(c.as.GID)); err != nil {
			return err
		}
	}
	if !c.noReflink.Load() {
		if unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())) == nil {
			st, err := src.Stat()
			if err == nil {
				c.progress(st.Size())
			}
			return err
		}
		c.noReflink.Store(true)
	}
	if err := c.checkSpace(); err != nil {
		return err
	}
	return c.copyBytes(ctx, dst, src)
}

// chunk is how much is copied between two looks at the context.
const chunk = 64 << 20

// copyBytes copies inside the kernel where it can; io.CopyN uses copy_file_range and falls back to reading and writing.
func (c *copier) copyBytes(ctx context.Context, dst, src *os.File) error {
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		n, err := io.CopyN(dst, src, chunk)
		if n > 0 {
			c.copied.Store(true)
			c.progress(n)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *copier) progress(n int64) {
	done := c.done.Add(n)
	if c.opts.Progress != nil {
		c.opts.Progress(done, c.total)
	}
}

// checkSpace looks once, before the first byte, whether the copy can fit at all.
func (c *copier) checkSpace() error {
	c.spaceOnce.Do(func() {
		free, err := freeBytes(c.to)
		if err == nil && free < c.total {
			c.spaceErr = fmt.Errorf("%w: it needs %s", unix.ENOSPC, humanize.Bytes(uint64(c.total)))
		}
	})
	return c.spaceErr
}

func freeBytes(path string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// spaceHint says where there is no room and how much is free.
func spaceHint(err error, path string) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	free, statErr := freeBytes(filepath.Dir(path))
	if statErr != nil {
		return err
	}
	return fmt.Errorf("%w; %s is free in %s", err, humanize.Bytes(uint64(max(free, 0))), filepath.Dir(path))
}

// syncFileSystem writes everything to disk at once: a data directory has a thousand files, and an fsync each costs more.
func syncFileSystem(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return os.NewSyscallError("syncfs", unix.Syncfs(int(dir.Fd())))
}
