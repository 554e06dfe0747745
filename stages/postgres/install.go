package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"pgpipeline/pipeline/proc"
)

// Install is an install tree.
type Install struct {
	BinDir     string // absolute; holds postgres and initdb
	Version    string // "17.0", "19devel"
	VersionNum int    // 170000, as server_version_num has it
}

// Major returns the major version: 17.
func (i Install) Major() int { return i.VersionNum / 10000 }

func (i Install) program(name string) string { return filepath.Join(i.BinDir, name) }

// binDirs are the places of the programs below the directory of a build entry, a prefix, or an unpacked binary package.
var binDirs = []string{"bin", ".", "native/bin", "package/native/bin"}

// Open finds the install tree in dir, which is a build entry (its build.json names the place), an install prefix, or a
// directory of programs, and asks the server for its version.
func Open(dir string) (Install, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Install{}, fmt.Errorf("open install tree: %w", err)
	}
	for _, sub := range append(describedBinDir(dir), binDirs...) {
		bin := filepath.Join(dir, sub)
		if st, err := os.Stat(filepath.Join(bin, "postgres")); err == nil && st.Mode().IsRegular() {
			return openBin(bin)
		}
	}
	return Install{}, fmt.Errorf("open install tree: %s holds no bin/postgres", dir)
}

// describedBinDir is what the build stage wrote about the tree, if it made it.
func describedBinDir(dir string) []string {
	text, err := os.ReadFile(filepath.Join(dir, "build.json"))
	if err != nil {
		return nil
	}
	var info struct {
		BinDir string `json:"bin_dir"`
	}
	if json.Unmarshal(text, &info) != nil || info.BinDir == "" {
		return nil
	}
	return []string{info.BinDir}
}

func openBin(bin string) (Install, error) {
	var out bytes.Buffer
	err := proc.Run(context.Background(), proc.Cmd{
		Path: filepath.Join(bin, "postgres"), Args: []string{"--version"}, Env: proc.Environ(),
		Stdout: &out, Timeout: 30 * time.Second,
	})
	if err != nil {
		return Install{}, fmt.Errorf("version of %s/postgres: %w", bin, err)
	}
	version, num, err := parseVersion(out.String())
	if err != nil {
		return Install{}, fmt.Errorf("version of %s/postgres: %w", bin, err)
	}
	if _, err := os.Stat(filepath.Join(bin, "initdb")); err != nil {
		return Install{}, fmt.Errorf("open install tree: %s holds postgres but no initdb", bin)
	}
	return Install{BinDir: bin, Version: version, VersionNum: num}, nil
}

var versionPattern = regexp.MustCompile(`\) ((\d+)(?:\.(\d+))?(?:devel|beta\d+|rc\d+)?)`)

// parseVersion reads "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)".
func parseVersion(line string) (version string, num int, err error) {
	m := versionPattern.FindStringSubmatch(line)
	if m == nil {
		return "", 0, fmt.Errorf("cannot read a version from %q", strings.TrimSpace(line))
	}
	major, _ := strconv.Atoi(m[2])
	minor, _ := strconv.Atoi(m[3])
	if major < 10 {
		return "", 0, fmt.Errorf("version %s is too old; servers from 11 on are supported", m[1])
	}
	return m[1], major*10000 + minor, nil
}

// account is who runs the server: as, when it is given, else the unprivileged account of this machine.
func account(as *proc.Account) (*proc.Account, error) {
	if as != nil {
		return as, nil
	}
	return proc.Unprivileged()
}

// give hands a path to the account; without one it is ours already.
func give(path string, as *proc.Account) error {
	if as == nil {
		return nil
	}
	return os.Lchown(path, int(as.UID), int(as.GID))
}
