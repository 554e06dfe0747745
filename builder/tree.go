package builder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"pgpipeline/pipeline/proc"
)

// adopt moves the staged tree below root to dest and makes it ours: owner, and permissions without write access for others,
// set-user-id bits or special files. It works from the top down, so that the account that built the tree cannot change a
// folder any more by the time its content is looked at.
func adopt(root, dest string) error {
	if err := os.MkdirAll(dest, 0o755); err != nil {
		return fmt.Errorf("take over build: %w", err)
	}
	if err := os.Chmod(dest, 0o755); err != nil { // servers run as another account
		return fmt.Errorf("take over build: %w", err)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return fmt.Errorf("take over build: %w", err)
	}
	for _, e := range entries {
		to := filepath.Join(dest, e.Name())
		if err := move(filepath.Join(root, e.Name()), to); err != nil {
			return fmt.Errorf("take over build: %w", err)
		}
		if err := own(to); err != nil {
			return fmt.Errorf("take over build: %w", err)
		}
	}
	return nil
}

func move(from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	return copyTree(context.Background(), from, to)
}

func own(top string) error {
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := os.Lchown(path, os.Geteuid(), os.Getegid()); err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		switch mode := info.Mode(); {
		case mode.IsDir():
			return os.Chmod(path, 0o755)
		case mode.IsRegular() && mode&0o111 != 0:
			return os.Chmod(path, 0o755)
		case mode.IsRegular():
			return os.Chmod(path, 0o644)
		case mode&fs.ModeSymlink != 0:
			return nil
		}
		return fmt.Errorf("%s is neither file, folder nor symbolic link", path)
	})
}

// copyTree copies files, folders and symbolic links with their permissions and times; make goes by the times. Where the
// file system can share blocks, nothing is read.
func copyTree(ctx context.Context, from, to string) error {
	var dirs []string
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			dirs = append(dirs, rel)
		}
		return copyEntry(path, filepath.Join(to, rel), d)
	})
	for i := len(dirs) - 1; err == nil && i >= 0; i-- { // last: filling a folder changes its time
		err = copyTime(filepath.Join(from, dirs[i]), filepath.Join(to, dirs[i]))
	}
	return err
}

func copyEntry(from, to string, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		return os.MkdirAll(to, 0o755)
	case d.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case d.Type().IsRegular():
		if err := copyFile(from, to); err != nil {
			return err
		}
		return copyTime(from, to)
	}
	return fmt.Errorf("%s is neither file, folder nor symbolic link", from)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil { // copy_file_range below
		out.Close()
		return err
	}
	return out.Close()
}

func copyTime(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// giveTo makes the account the owner of everything below top.
func giveTo(top string, as *proc.Account) error {
	if as == nil {
		return nil
	}
	return filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(as.UID), int(as.GID))
	})
}

// mayEnter checks that the account has search permission for dir, by the mode bits alone.
func mayEnter(dir string, as *proc.Account) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	bit := fs.FileMode(0o001)
	if st.Uid == as.UID {
		bit = 0o100
	} else if st.Gid == as.GID {
		bit = 0o010
	}
	if info.Mode()&bit == 0 {
		return fs.ErrPermission
	}
	return nil
}
