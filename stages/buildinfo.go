package stages

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// buildInfoFile is where a build entry describes itself.
const buildInfoFile = "build.json"

// BuildInfo is what a build entry says about the install tree in it.
type BuildInfo struct {
	Version    string `json:"version"`     // "18.6", "19devel"
	VersionNum int    `json:"version_num"` // 180006, as server_version_num has it
	BinDir     string `json:"bin_dir"`     // relative to the entry's directory
	// Features of the server: lz4, zstd, liburing, icu, llvm, ssl, xml, systemd. All are present, true or false.
	Features   map[string]bool `json:"features"`
	Configure  string          `json:"configure,omitempty"` // the options as the server was configured
	CFLAGS     string          `json:"cflags,omitempty"`    // as given; empty: the recipe's own
	LDFLAGS    string          `json:"ldflags,omitempty"`
	Recipe     string          `json:"recipe"`
	HasContrib []string        `json:"has_contrib"` // extensions that can be created

	// Dir is the entry's directory; ReadBuild fills it in.
	Dir string `json:"-"`
}

// Program returns the absolute path of a program of the install tree, such as "postgres".
func (b BuildInfo) Program(name string) string { return filepath.Join(b.Dir, b.BinDir, name) }

// ReadBuild reads what the build entry in dir says about itself.
func ReadBuild(dir string) (BuildInfo, error) {
	var info BuildInfo
	text, err := os.ReadFile(filepath.Join(dir, buildInfoFile))
	if errors.Is(err, fs.ErrNotExist) {
		return info, fmt.Errorf("read build: %s holds no %s, so no build stage made it", dir, buildInfoFile)
	}
	if err != nil {
		return info, fmt.Errorf("read build: %w", err)
	}
	if err := json.Unmarshal(text, &info); err != nil {
		return info, fmt.Errorf("read build: %s: %w", filepath.Join(dir, buildInfoFile), err)
	}
	info.Dir = dir
	return info, nil
}

func writeBuild(dir string, info BuildInfo) error {
	text, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, buildInfoFile), append(text, '\n'), 0o644)
}
