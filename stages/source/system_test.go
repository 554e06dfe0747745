package source

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgpipeline/pipeline/proc"
)

// installed makes something that looks like an installed server, in Debian's layout.
func installed(t *testing.T, version string) string {
	t.Helper()
	usr := scratch(t)
	bin := filepath.Join(usr, "lib/postgresql/15/bin")
	write(t, filepath.Join(bin, "postgres"), "#!/bin/sh\necho 'postgres (PostgreSQL) 15.18 (Debian "+version+")'\n")
	write(t, filepath.Join(bin, "pg_config"), "#!/bin/sh\nprintf '%s\\n' "+usr+"/lib/postgresql/15/lib "+usr+"/share/postgresql/15 /usr/lib/x86_64-linux-gnu\n")
	write(t, filepath.Join(usr, "lib/postgresql/15/lib/plpgsql.so"), "so")
	write(t, filepath.Join(usr, "share/postgresql/15/postgres.bki"), "bki")
	write(t, filepath.Join(usr, "share/other/file"), "not ours")
	for _, name := range []string{"postgres", "pg_config"} {
		if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return usr
}

func TestSystemLayout(t *testing.T) {
	usr := installed(t, "15.18-0+deb12u1")
	addr := "system::" + usr + "/lib/postgresql/15"
	r, f, dest := bring(t, Options{}, addr)
	wantFiles(t, dest, "lib/postgresql/15/bin/pg_config", "lib/postgresql/15/bin/postgres", "lib/postgresql/15/lib/plpgsql.so", "share/postgresql/15/postgres.bki")
	if r.Version != "15.18" || !strings.HasSuffix(r.Address, "?version=15.18-0%2Bdeb12u1") || f.Verified != "content of the installation" {
		t.Errorf("resolved %+v, facts %+v", r, f)
	}
	// An upgrade is another content, and the old pin is not fetched as the new one.
	write(t, filepath.Join(usr, "lib/postgresql/15/bin/postgres"), "#!/bin/sh\necho 'postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)'\n")
	if now := resolved(t, Options{}, addr); now.Content() == r.Content() || now.Version != "15.20" {
		t.Errorf("after the upgrade: %+v", now)
	}
	_, err := Fetch(context.Background(), r, t.TempDir(), Options{})
	wantError(t, err, "has changed since it was pinned")
	if err := os.Remove(filepath.Join(usr, "share/postgresql/15/postgres.bki")); err != nil {
		t.Fatal(err)
	}
	_, err = Resolve(context.Background(), []string{addr}, Options{})
	wantError(t, err, "no postgres.bki")
}

// TestSystemServerRuns copies the distribution's server and initialises a cluster with the copy alone.
func TestSystemServerRuns(t *testing.T) {
	servers, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(servers) == 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("no PostgreSQL server on this machine: apt-get install postgresql")
		}
		t.Skip("no PostgreSQL server on this machine: apt-get install postgresql")
	}
	dir := scratch(t)
	dest := filepath.Join(dir, "copy")
	r, err := Resolve(context.Background(), []string{"system::"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Fetch(context.Background(), r, dest, Options{Scratch: dir}); err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(dest, "lib/postgresql/*/bin/initdb"))
	if len(found) != 1 {
		t.Fatalf("%d initdb in the copy, want 1", len(found))
	}
	as, err := proc.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	run := func(program string, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		err := proc.Run(context.Background(), proc.Cmd{Path: program, Args: args, As: as, Env: proc.Environ(), Stdout: &out, Dir: "/"})
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if as != nil {
		if err := os.Chown(data, int(as.UID), int(as.GID)); err != nil {
			t.Fatal(err)
		}
	}
	run(found[0], "-D", data, "--no-sync", "-A", "trust")
	if _, err := os.Stat(filepath.Join(data, "PG_VERSION")); err != nil {
		t.Error(err)
	}
	config := filepath.Join(filepath.Dir(found[0]), "pg_config")
	if _, err := exec.LookPath(config); err == nil {
		if share := run(config, "--sharedir"); !strings.HasPrefix(share, dest) {
			t.Errorf("shared files are taken from %s", share)
		}
	}
}
