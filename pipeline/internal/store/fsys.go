package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// FS is every way in which the store changes the disk. Tests replace it to make the n-th change fail, or to lose what was
// not synced. Reading goes to the operating system directly: what cannot be read is a miss anyway.
type FS interface {
	// Mkdir makes one directory with exactly these permissions, whatever the umask; an existing one is fine.
	Mkdir(path string, perm fs.FileMode) error
	// WriteFile creates or truncates a file and writes it; the data is not durable before Sync.
	WriteFile(path string, data []byte, perm fs.FileMode) error
	// Append adds data to the end of a file with one write; it creates the file.
	Append(path string, data []byte) error
	// Sync makes a file, or the names in a directory, durable.
	Sync(path string) error
	// SyncAll makes everything on the file system that holds path durable.
	SyncAll(path string) error
	Rename(from, to string) error
	// RemoveAll removes a tree even when its directories are read-only; a missing one is fine.
	RemoveAll(path string) error
	Chmod(path string, perm fs.FileMode) error
	// Lchown gives a file, directory or link to a user and group.
	Lchown(path string, uid, gid int) error
	// Touch sets access and modification time.
	Touch(path string, t time.Time) error
}

type osFS struct{}

func (osFS) Mkdir(path string, perm fs.FileMode) error {
	if err := os.Mkdir(path, perm); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	return os.Chmod(path, perm)
}

func (osFS) WriteFile(path string, data []byte, perm fs.FileMode) error {
	return os.WriteFile(path, data, perm)
}

func (osFS) Append(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func (osFS) Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	return errors.Join(err, f.Close())
}

func (osFS) SyncAll(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return &fs.PathError{Op: "syncfs", Path: path, Err: err}
	}
	return nil
}

func (osFS) Rename(from, to string) error              { return os.Rename(from, to) }
func (osFS) Chmod(path string, perm fs.FileMode) error { return os.Chmod(path, perm) }
func (osFS) Lchown(path string, uid, gid int) error    { return os.Lchown(path, uid, gid) }
func (osFS) Touch(path string, t time.Time) error      { return os.Chtimes(path, t, t) }
func (osFS) RemoveAll(path string) error               { return removeTree(path) }

// removeTree is os.RemoveAll for trees with read-only directories, which only root could empty otherwise.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	if err == nil || os.Geteuid() == 0 { // root needs no help, and must not chmod what others can swap
		return err
	}
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(p, 0o700) // what cannot be changed shows in the second attempt
		}
		return nil
	})
	return os.RemoveAll(path)
}

// writeAtomic replaces a small file so that a crash leaves the old or the new content, and returns when it is durable.
func writeAtomic(fsys FS, path string, data []byte, perm fs.FileMode) error {
	tmp := path + ".tmp-" + randomText(6)
	err := fsys.WriteFile(tmp, data, perm)
	if err == nil {
		err = fsys.Sync(tmp)
	}
	if err == nil {
		err = fsys.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp) // best effort; the error that counts is the first one
		return err
	}
	return fsys.Sync(parentDir(path))
}

// mkdirs makes a directory and its missing parents and syncs the parents of what it made.
func mkdirs(fsys FS, path string, perm fs.FileMode) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if parent := parentDir(path); parent != path {
		if err := mkdirs(fsys, parent, perm); err != nil {
			return err
		}
	}
	if err := fsys.Mkdir(path, perm); err != nil {
		return err
	}
	return fsys.Sync(parentDir(path))
}

func parentDir(path string) string { return filepath.Dir(path) }

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
