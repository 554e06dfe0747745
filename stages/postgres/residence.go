package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"
)

// ErrNoPrewarm says that an installation lacks the extension pg_prewarm.
var ErrNoPrewarm = errors.New("the extension pg_prewarm is not installed")

// Prewarm reads all tables of a database, those of the catalog too, into shared_buffers, and then their indexes: where not all fits,
// they are what stays. It returns the number of pages. The extension is created in a transaction that is rolled back, so that the database is
// left as it was.
func Prewarm(ctx context.Context, connString string) (pages int64, err error) {
	conn, err := pgx.Connect(ctx, connString)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var known bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'pg_prewarm')").Scan(&known); err != nil {
		return 0, err
	}
	if !known {
		return 0, ErrNoPrewarm
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, tx.Rollback(context.WithoutCancel(ctx))) }()
	// The extension may be there already, by the user's own load.
	if _, err := tx.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS pg_prewarm"); err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `SELECT coalesce(sum(pg_prewarm(oid::regclass)), 0)::bigint FROM (
	SELECT oid FROM pg_class WHERE relkind IN ('r', 'm', 't', 'i') AND relpersistence <> 't'
	ORDER BY relkind = 'i', oid) relations`).Scan(&pages)
	return pages, err
}

// Cache reads every file of a data directory, so that the operating system has it in its page cache as far as memory allows, and returns the
// number of bytes.
func Cache(ctx context.Context, dir string) (int64, error) {
	var total int64
	err := eachFile(ctx, dir, func(f *os.File) error {
		n, err := io.Copy(io.Discard, f)
		total += n
		return err
	})
	return total, err
}

// Evict writes the files of a data directory to the disk and has the operating system drop them from its page cache. A file
// system that lives in memory is an error: there is nothing that the data could be read from.
func Evict(ctx context.Context, dir string) error {
	var at unix.Statfs_t
	if err := unix.Statfs(dir, &at); err != nil {
		return &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if at.Type == unix.TMPFS_MAGIC || at.Type == unix.RAMFS_MAGIC {
		return fmt.Errorf("%s is on a file system in memory: its data cannot be dropped from memory; put the cache on a disk with PIPELINE_CACHE", dir)
	}
	return eachFile(ctx, dir, func(f *os.File) error {
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return &fs.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return &fs.PathError{Op: "fadvise", Path: f.Name(), Err: err}
		}
		return nil
	})
}

// eachFile opens every regular file below a directory for reading. A running server removes files; those are passed over.
func eachFile(ctx context.Context, dir string, do func(*os.File) error) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !entry.Type().IsRegular():
			return nil
		}
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return errors.Join(do(f), f.Close())
	})
}
