package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrorKind classes what can go wrong with the store itself.
type ErrorKind string

// The kinds of Error.
const (
	Full       ErrorKind = "full"       // no space, no inodes or no quota left
	ReadOnly   ErrorKind = "read-only"  // the cache can be read and not written
	Permission ErrorKind = "permission" // wrong owner or mode
	Vanished   ErrorKind = "vanished"   // a directory was removed under a running process
	Layout     ErrorKind = "layout"     // written by another version, or not a cache at all
	Busy       ErrorKind = "busy"       // a lock is held and the caller did not want to wait, or no longer
	InUse      ErrorKind = "in use"     // refused because a live run needs it
	IO         ErrorKind = "io"         // anything else the operating system says
)

// Error is every error of this package that is not the caller's own fault (a cancelled context, an unknown run). The
// command line exits with the code for infrastructure when it finds one.
type Error struct {
	Kind ErrorKind
	Op   string // what was being done: "commit entry 0a1b2c3d4e5f"
	Path string // the file or directory it happened to
	// Full only: Bytes that were being written when the space ran out, and Free bytes on the file system afterwards.
	Bytes, Free int64
	Hint        string // the next thing to do; may be empty
	Err         error
}

func (e *Error) Error() string {
	msg := fmt.Sprintf("%s: %s: %v", e.Op, e.Path, cause(e.Err))
	switch {
	case e.Kind == Full && e.Bytes > 0:
		msg += fmt.Sprintf(" (writing %s, %s free)", sizeText(e.Bytes), sizeText(e.Free))
	case e.Kind == Full:
		msg += fmt.Sprintf(" (%s free)", sizeText(e.Free))
	}
	if e.Hint != "" {
		msg += "; " + e.Hint
	}
	return msg
}

func (e *Error) Unwrap() error { return e.Err }

// wrap makes an Error of what the operating system said. Errors that are an Error already, or the end of a context, pass;
// what the operating system did not say is somebody else's fault and only gets the operation in front.
func wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) || isContext(err) {
		return err
	}
	if errno := syscall.Errno(0); !errors.As(err, &errno) {
		return fmt.Errorf("%s: %w", op, err)
	}
	e := &Error{Kind: kindOf(err), Op: op, Path: pathOf(err, path), Err: err}
	e.complete()
	return e
}

// complete adds what follows from the kind.
func (e *Error) complete() {
	switch e.Kind {
	case Full:
		e.Free = freeBytes(e.Path)
		e.Hint = "free some space (`pipeline cache gc`) or set PIPELINE_CACHE to a larger file system"
	case ReadOnly:
		e.Hint = "set PIPELINE_CACHE to a directory that can be written"
	case Permission:
		e.Hint = fmt.Sprintf("run as the owner of the directory (you are uid %d) or set PIPELINE_CACHE", os.Geteuid())
	case Vanished:
		e.Hint = "something removed it while it was in use; run again"
	}
}

func kindOf(err error) ErrorKind {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return Full
	case errors.Is(err, syscall.EROFS):
		return ReadOnly
	case errors.Is(err, fs.ErrPermission):
		return Permission
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESTALE):
		return Vanished
	}
	return IO
}

// pathOf prefers the path that the operating system complained about.
func pathOf(err error, path string) string {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe) && pe.Path != "":
		return pe.Path
	case errors.As(err, &le) && le.New != "":
		return le.New
	}
	return path
}

// cause drops the operation and path that Error prints itself.
func cause(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// freeBytes of the file system that holds path or its nearest existing parent; 0 when unknown.
func freeBytes(path string) int64 {
	var st unix.Statfs_t
	for ; path != ""; path = parentDir(path) {
		err := unix.Statfs(path, &st)
		if err == nil {
			return int64(st.Bavail) * st.Bsize
		}
		if path == "/" || path == "." {
			break
		}
	}
	return 0
}

// sizeText prints a byte count for people.
func sizeText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, exp := float64(n)/unit, 0
	for ; value >= unit && exp < 4; exp++ {
		value /= unit
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTP"[exp])
}
