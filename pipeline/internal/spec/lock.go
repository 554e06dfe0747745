package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

const lockHeader = `# What the sources of this experiment were resolved to. It belongs in version control.
# Written by "pipeline lock" and "pipeline run"; "pipeline lock --update" resolves anew.
`

// lockFile is the content of a lock file. P is the engine's Pin; this package knows only that it has yaml tags.
type lockFile[P any] struct {
	Version int          `yaml:"version,omitempty,required"`
	Pins    map[string]P `yaml:"pins"`
}

// LockPath is where the lock file of an experiment lies: beside it, with .lock before the extension.
func LockPath(experiment string) string {
	for _, ext := range []string{".yaml", ".yml"} {
		if base, ok := strings.CutSuffix(experiment, ext); ok {
			return base + ".lock.yaml"
		}
	}
	return experiment + ".lock.yaml"
}

// ReadLock reads a lock file: address -> pin. A file that does not exist has no pins.
func ReadLock[P any](path string) (map[string]P, error) {
	text, err := readRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]P{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read lock file %q: %w", path, cause(err))
	}
	return DecodeLock[P](path, text)
}

// DecodeLock reads the text of a lock file. path is used for positions.
func DecodeLock[P any](path string, text []byte) (map[string]P, error) {
	v, err := Parse(path, text)
	if err != nil {
		return nil, err
	}
	var lock lockFile[P]
	if err := Decode(v, &lock); err != nil {
		return nil, err
	}
	if lock.Version != 1 {
		return nil, Errors{v.Get("version").Errorf("a newer tool may have written the file", "unknown version %d of the lock file", lock.Version)}
	}
	if lock.Pins == nil {
		lock.Pins = map[string]P{}
	}
	return lock.Pins, nil
}

// WriteLock replaces a lock file as a whole. The same pins give the same bytes.
func WriteLock[P any](path string, pins map[string]P) error {
	text, err := EncodeLock(pins)
	if err != nil {
		return err
	}
	if err := writeAtomically(path, text); err != nil {
		return fmt.Errorf("write lock file %q: %w", path, cause(err))
	}
	return nil
}

// EncodeLock is the text of a lock file.
func EncodeLock[P any](pins map[string]P) ([]byte, error) {
	if pins == nil {
		pins = map[string]P{}
	}
	body, err := Marshal(struct {
		Version int          `yaml:"version"`
		Pins    map[string]P `yaml:"pins"`
	}{1, pins})
	return append([]byte(lockHeader), body...), err
}
