package postgres_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
)

func TestPrewarm(t *testing.T) {
	for _, version := range []string{"11.21", "17.0"} {
		t.Run(version, func(t *testing.T) {
			ctx := context.Background()
			server := pgtest.Server(t, pgtest.Install(t, version), "shared_buffers = 32MB\nautovacuum = off\n")
			conn, err := pgx.Connect(ctx, server.ConnString("postgres"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(ctx)
			if _, err := conn.Exec(ctx, "CREATE TABLE big AS SELECT g AS id, repeat('x', 100) AS pad FROM generate_series(1, 20000) g; CREATE INDEX ON big (id)"); err != nil {
				t.Fatal(err)
			}
			if err := server.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			server = pgtest.Start(t, postgres.Config{Install: pgtest.Install(t, version), DataDir: server.DataDir(), Conf: "shared_buffers = 32MB\nautovacuum = off\n"})
			pages, err := postgres.Prewarm(ctx, server.ConnString("postgres"))
			if err != nil {
				t.Fatal(err)
			}
			if conn, err = pgx.Connect(ctx, server.ConnString("postgres")); err != nil {
				t.Fatal(err)
			}
			defer conn.Close(ctx)
			var want, extensions int64
			if err := conn.QueryRow(ctx, "SELECT (SELECT sum(pg_relation_size(oid)) / 8192 FROM pg_class WHERE relkind IN ('r', 't', 'i'))::bigint, (SELECT count(*) FROM pg_extension WHERE extname = 'pg_prewarm')").Scan(&want, &extensions); err != nil {
				t.Fatal(err)
			}
			if pages != want || extensions != 0 {
				t.Errorf("%d pages were read, the table and what belongs to it have %d; %d extensions were left behind", pages, want, extensions)
			}
			var plan string
			rows, err := conn.Query(ctx, "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) SELECT count(pad) FROM big")
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				var line string
				if err := rows.Scan(&line); err != nil {
					t.Fatal(err)
				}
				plan += line + "\n"
			}
			if scan, _, _ := strings.Cut(plan, "Planning"); strings.Contains(scan, "read=") {
				t.Errorf("a scan still reads pages:\n%s", plan)
			}
		})
	}
}

// resident is the share of a file that the page cache has.
func resident(t *testing.T, path string) float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	pages := make([]byte, (len(memory)+os.Getpagesize()-1)/os.Getpagesize())
	if err := mincore(memory, pages); err != nil {
		t.Fatal(err)
	}
	in := 0
	for _, p := range pages {
		in += int(p & 1)
	}
	return float64(in) / float64(len(pages))
}

func TestEvictAndCache(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "pipeline-residence-") // a disk, where /tmp may be memory
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, "base"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "base", "1")
	if err := os.WriteFile(file, make([]byte, 8<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := postgres.Evict(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if share := resident(t, file); share > 0.05 {
		t.Errorf("%.0f %% of the file are in memory after it was evicted", share*100)
	}
	n, err := postgres.Cache(ctx, dir)
	if err != nil || n != 8<<20 {
		t.Fatalf("cached %d bytes: %v", n, err)
	}
	if share := resident(t, file); share < 0.95 {
		t.Errorf("%.0f %% of the file are in memory after it was read", share*100)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := postgres.Cache(cancelled, dir); err == nil {
		t.Error("a cancelled context was not noticed")
	}
	if err := postgres.Evict(ctx, "/dev/shm"); err == nil || !strings.Contains(err.Error(), "in memory") {
		t.Errorf("a file system in memory: %v", err)
	}
}

// mincore says of each page of a mapping whether it is in memory.
func mincore(memory, pages []byte) error {
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, address(memory), uintptr(len(memory)), address(pages)); errno != 0 {
		return errno
	}
	return nil
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }
