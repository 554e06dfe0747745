// Package pgtest gives tests real PostgreSQL servers: prebuilt ones of several versions from npm, fetched once per machine,
// and the distribution's own. A server that cannot be had fails the test; only PIPELINE_SKIP_SERVERS=1 outside of CI
// skips it, visibly.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgpipeline/stages/postgres"
)

// packages are the exact npm versions by server version.
var packages = map[string]string{
	"11.21": "11.21.0-beta.9",
	"12.22": "12.22.0-beta.15",
	"13.23": "13.23.0-beta.16",
	"14.20": "14.20.0-beta.16",
	"15.8":  "15.8.0-beta.12",
	"16.4":  "16.4.0-beta.12",
	"17.0":  "17.0.0-beta.13",
	"18.1":  "18.1.0-beta.16",
}

// systemDirs are where distributions put their servers.
const systemDirs = "/usr/lib/postgresql/*"

// Install returns an install tree: one of the versions above, or "system" for the distribution's.
func Install(t testing.TB, version string) postgres.Install {
	t.Helper()
	dir, err := locate(version)
	if err != nil {
		missing(t, "server "+version, err)
	}
	i, err := postgres.Open(dir)
	if err != nil {
		missing(t, "server "+version, err)
	}
	return i
}

// missing ends the test: by failing it, unless somebody said that servers may be skipped and this is not CI.
func missing(t testing.TB, what string, err error) {
	t.Helper()
	if os.Getenv("CI") == "" && os.Getenv("PIPELINE_SKIP_SERVERS") != "" {
		t.Skipf("PIPELINE_SKIP_SERVERS is set, and %s is missing: %v", what, err)
	}
	t.Fatalf("%s: %v", what, err)
}

func locate(version string) (string, error) {
	if version == "system" {
		dirs, _ := filepath.Glob(systemDirs)
		if len(dirs) == 0 {
			return "", fmt.Errorf("no server in %s (apt-get install postgresql)", systemDirs)
		}
		return dirs[len(dirs)-1], nil
	}
	if _, ok := packages[version]; !ok {
		return "", fmt.Errorf("there is no package for it; known are %v", packages)
	}
	return fetched(version)
}

// Dir returns a temporary directory that the server's account can reach, which t.TempDir is not.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Server starts a server on an empty data directory of its own and stops it at the end of the test, which fails when the
// server does not stop cleanly. conf is in the format of postgresql.conf.
func Server(t testing.TB, i postgres.Install, conf string) *postgres.Server {
	t.Helper()
	return Start(t, postgres.Config{Install: i, DataDir: DataDir(t, i), Conf: conf})
}

// Start is Server with a configuration of one's own.
func Start(t testing.TB, conf postgres.Config) *postgres.Server {
	t.Helper()
	conf.Conf = "fsync = off\nshared_buffers = 32MB\n" + conf.Conf
	s, err := postgres.Start(context.Background(), conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("log of server %s:\n%s", s.Version(), strings.Join(s.LogTail(30), "\n"))
		}
	})
	return s
}

// templates are data directories by install tree, since initdb takes a second and a copy a hundredth of it.
var templates sync.Map

type template struct {
	once sync.Once
	dir  string
	err  error
}

// DataDir returns an empty data directory of its own.
func DataDir(t testing.TB, i postgres.Install) string {
	t.Helper()
	value, _ := templates.LoadOrStore(i.BinDir, &template{})
	tpl := value.(*template)
	tpl.once.Do(func() { tpl.dir, tpl.err = makeTemplate(i) })
	if tpl.err != nil {
		t.Fatal(tpl.err)
	}
	data := filepath.Join(Dir(t), "data")
	if _, err := postgres.CopyData(context.Background(), tpl.dir, data, postgres.CopyOptions{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	return data
}

// makeTemplate keeps templates in the test cache, beside the servers, so that test binaries share them. Small segments of
// the log make copies cheaper.
func makeTemplate(i postgres.Install) (string, error) {
	name := "data-" + strings.NewReplacer("/", "_").Replace(strings.Trim(i.BinDir, "/")) + "-" + i.Version
	return once(name, func(dir string) error {
		return i.InitDB(context.Background(), dir, postgres.InitOptions{NoSync: true, Options: []string{"--data-checksums", "--wal-segsize=1"}})
	})
}
