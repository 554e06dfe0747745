package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// Seal makes a data directory that its server has left cleanly into an original for copies: its control file is checked,
// segments of the log that were only kept for reuse are removed, it is written to disk, and it belongs to us from then on, so
// that the account of the servers cannot change it.
func Seal(dataDir string) (Control, error) {
	control, err := ControlFile(dataDir)
	if err != nil {
		return control, err
	}
	if !control.ShutDown() {
		return control, fmt.Errorf("data directory: the server left it %q, not shut down", control.State)
	}
	if _, err := os.Stat(filepath.Join(dataDir, "postmaster.pid")); !errors.Is(err, os.ErrNotExist) {
		return control, fmt.Errorf("data directory: a server still runs on %s, or crashed on it", dataDir)
	}
	if err := trimLog(dataDir, control); err != nil {
		return control, fmt.Errorf("data directory: remove unused log segments: %w", err)
	}
	if err := takeOver(dataDir); err != nil {
		return control, fmt.Errorf("data directory: take it over from the server's account: %w", err)
	}
	return control, syncFileSystem(dataDir)
}

var segmentPattern = regexp.MustCompile(`^[0-9A-F]{24}$`)

// trimLog removes the segments behind the one that holds the shutdown checkpoint, which is the end of the log. The server
// keeps up to max_wal_size of them for reuse, and every copy would carry them.
func trimLog(dataDir string, control Control) error {
	if control.WALSegmentSize == 0 {
		return errors.New("the control file has no segment size")
	}
	last := segmentName(control)
	dir := filepath.Join(dataDir, "pg_wal")
	if _, err := os.Stat(filepath.Join(dir, last)); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if segmentPattern.MatchString(e.Name()) && e.Name() > last {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// segmentName is the name of the file that holds the checkpoint: timeline, then the segment's number split so that the
// high part counts 4 GiB.
func segmentName(c Control) string {
	perID := uint64(1<<32) / uint64(c.WALSegmentSize)
	number := c.Checkpoint / uint64(c.WALSegmentSize)
	return fmt.Sprintf("%08X%08X%08X", c.Timeline, number/perID, number%perID)
}

func takeOver(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || os.Geteuid() != 0 {
			return err
		}
		return os.Lchown(path, 0, 0)
	})
}
