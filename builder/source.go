package builder

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// versionFiles say which PostgreSQL a source tree holds, in the order in which they are asked.
var versionFiles = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"configure", regexp.MustCompile(`^PACKAGE_VERSION='([^']+)'`)},
	{"meson.build", regexp.MustCompile(`^\s*version:\s*'([^']+)'`)},
	{"configure.ac", regexp.MustCompile(`^AC_INIT\(\[PostgreSQL\],\s*\[([^\]]+)\]`)},
	{"configure.in", regexp.MustCompile(`^AC_INIT\(\[PostgreSQL\],\s*\[([^\]]+)\]`)},
}

// versionForm is what PostgreSQL versions look like: 18.6, 9.6.24, 19devel, 18beta1.
var versionForm = regexp.MustCompile(`^(\d+)(?:\.(\d+))?(?:\.(\d+))?(devel|alpha\d*|beta\d*|rc\d*)?$`)

// SourceVersion returns the version of the source tree in dir, such as "18.6" or "19devel".
func SourceVersion(dir string) (string, error) {
	for _, f := range versionFiles {
		version, err := firstMatch(filepath.Join(dir, f.name), f.pattern)
		if err != nil {
			return "", fmt.Errorf("read version of source: %w", err)
		}
		if version == "" {
			continue
		}
		if !versionForm.MatchString(version) {
			return "", fmt.Errorf("read version of source: %s names %q, which is no version of PostgreSQL", f.name, version)
		}
		return version, nil
	}
	if _, err := findBin(dir); err == nil {
		return "", fmt.Errorf("%s holds binaries, not sources; use recipe %q", dir, Prebuilt)
	}
	return "", fmt.Errorf("%s is no source tree of PostgreSQL: neither configure nor meson.build names its version", dir)
}

// firstMatch returns the first group of the first line of path that matches, or "" when there is none or no file.
func firstMatch(path string, pattern *regexp.Regexp) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if m := pattern.FindStringSubmatch(lines.Text()); m != nil {
			return m[1], nil
		}
	}
	return "", lines.Err()
}

// Major returns the first component of a version, 0 when it has none.
func Major(version string) int { return VersionNum(version) / 10000 }

// VersionNum returns a version as server_version_num has it: 180006 for "18.6", 190000 for "19devel", 90624 for "9.6.24";
// 0 for what is no version.
func VersionNum(version string) int {
	m := versionForm.FindStringSubmatch(strings.TrimSpace(version))
	if m == nil {
		return 0
	}
	part := func(i int) int { n, _ := strconv.Atoi(m[i]); return n }
	if part(1) >= 10 {
		return part(1)*10000 + part(2)
	}
	return part(1)*10000 + part(2)*100 + part(3)
}

func joinSource(dir string, parts ...string) string {
	return filepath.Join(append([]string{dir}, parts...)...)
}
