package postgres_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgpipeline/pipeline/proc"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
)

// TestControlFile compares with what the servers themselves say, and for the distribution's with pg_controldata.
func TestControlFile(t *testing.T) {
	catalog := map[string]uint32{"11.21": 201809051, "16.4": 202307071, "17.0": 202406281, "18.1": 202506291}
	for _, v := range []string{"11.21", "system", "16.4", "17.0", "18.1"} {
		t.Run(v, func(t *testing.T) {
			i := pgtest.Install(t, v)
			data := pgtest.DataDir(t, i)
			c, err := postgres.ControlFile(data)
			if err != nil {
				t.Fatal(err)
			}
			if c.Major != i.Major() || c.State != "shut down" || !c.Checksums || c.BlockSize != 8192 ||
				c.WALBlockSize != 8192 || c.WALSegmentSize != 1<<20 || c.MaxAlign != 8 {
				t.Errorf("control file: %+v", c)
			}
			if want := catalog[v]; want != 0 && c.CatalogVersion != want {
				t.Errorf("catalog version %d, want %d", c.CatalogVersion, want)
			}
			if v == "system" {
				compareControlData(t, i, data, c)
			}
		})
	}
}

func compareControlData(t *testing.T, i postgres.Install, data string, c postgres.Control) {
	t.Helper()
	as, err := proc.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = proc.Run(t.Context(), proc.Cmd{
		Path: filepath.Join(i.BinDir, "pg_controldata"), Args: []string{data}, Env: proc.Environ(), As: as, Stdout: &out,
	})
	if err != nil {
		t.Fatal(err)
	}
	squeezed := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		fmt.Sprintf("pg_control version number: %d", c.ControlVersion),
		fmt.Sprintf("Catalog version number: %d", c.CatalogVersion),
		fmt.Sprintf("Database system identifier: %d", c.SystemIdentifier),
		"Database cluster state: " + c.State,
		"Data page checksum version: 1",
	} {
		if !strings.Contains(squeezed, want) {
			t.Errorf("pg_controldata does not say %q", want)
		}
	}
}

func TestDamagedControlFile(t *testing.T) {
	data := pgtest.DataDir(t, pgtest.Install(t, "17.0"))
	path := filepath.Join(data, "global", "pg_control")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range 288 {
		text := bytes.Clone(whole)
		text[at] ^= 1
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := postgres.ControlFile(data); err == nil {
			t.Fatalf("byte %d is damaged and nobody noticed: %+v", at, c)
		}
	}
	for _, size := range []int{0, 7, 100, 511} {
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := postgres.ControlFile(data); err == nil {
			t.Errorf("a control file of %d bytes was accepted: %+v", size, c)
		}
	}
}
