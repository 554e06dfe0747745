package sysstat

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"pgpipeline/pipeline/proc"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
)

// burn keeps a backend busy for that long and returns the CPU time that the kernel charged it.
func burn(t *testing.T, conn *pgx.Conn, loops string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), "DO 'BEGIN FOR i IN 1.."+loops+" LOOP END LOOP; END'"); err != nil {
		t.Fatal(err)
	}
}

func connect(t *testing.T, s *postgres.Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.ConnString("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// TestServerCPU compares the sampler with the kernel's own figures for one backend, while it lives and after it ended.
func TestServerCPU(t *testing.T) {
	s := pgtest.Server(t, pgtest.Install(t, "17.0"), "autovacuum = off\n")
	sampler := ServerTree(s.PID())
	t.Cleanup(sampler.Close)
	conn := connect(t, s)
	before := sampler.Read()
	burn(t, conn, "5000000")
	backend, err := CPU(int(conn.PgConn().PID()))
	if err != nil {
		t.Fatal(err)
	}
	alive := sampler.Read().Minus(before)
	if backend < 0.02 {
		t.Fatalf("the backend used %v s, too little to compare", backend)
	}
	if alive.CPUSeconds < backend-0.05 || alive.CPUSeconds > backend+0.5 {
		t.Errorf("the backend used %v s, the sampler says %v s for the server", backend, alive.CPUSeconds)
	}
	if alive.Switches < 1 || alive.Processes < 4 || !alive.HasIO {
		t.Errorf("usage: %+v", alive)
	}
	pid := int(conn.PgConn().PID())
	conn.Close(t.Context())
	for running := true; running; { // the postmaster collects it
		_, running = proc.StartTime(pid)
	}
	ended := sampler.Read().Minus(before)
	if ended.CPUSeconds < alive.CPUSeconds-0.03 || ended.Switches < alive.Switches {
		t.Errorf("after the backend ended: %+v, before: %+v", ended, alive)
	}
}

func TestServerIO(t *testing.T) {
	s := pgtest.Server(t, pgtest.Install(t, "system"), "autovacuum = off\n")
	sampler := ServerTree(s.PID())
	t.Cleanup(sampler.Close)
	conn := connect(t, s)
	before := sampler.Read()
	if _, err := conn.Exec(t.Context(), "CREATE TABLE a AS SELECT repeat('x', 1000) t FROM generate_series(1, 5000)"); err != nil {
		t.Fatal(err)
	}
	if used := sampler.Read().Minus(before); used.WriteBytes < 5_000_000 || used.WriteBytes > 200_000_000 {
		t.Errorf("5 MB were written, the sampler says %d bytes", used.WriteBytes)
	}
}

func TestDeadServer(t *testing.T) {
	i := pgtest.Install(t, "system")
	s, err := postgres.Start(t.Context(), postgres.Config{Install: i, DataDir: pgtest.DataDir(t, i)})
	if err != nil {
		t.Fatal(err)
	}
	sampler := ServerTree(s.PID())
	last := sampler.Read()
	s.Kill()
	if err := s.Stop(t.Context()); !errors.Is(err, postgres.ErrUnclean) {
		t.Error(err)
	}
	if got := sampler.Read(); got != last {
		t.Errorf("a dead server used %+v, last seen %+v", got, last)
	}
	sampler.Close()
	if used := ServerTree(s.PID()).Read(); used != (Usage{}) {
		t.Errorf("a server that never was used %+v", used)
	}
}

func TestDeviceOf(t *testing.T) {
	dir := pgtest.Dir(t)
	d, err := DeviceOf(dir)
	if err != nil {
		t.Skipf("the temporary directory is on no block device: %v", err)
	}
	before, err := d.Read()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	after, err := d.Read()
	if err != nil {
		t.Fatal(err)
	}
	if wrote := after.Minus(before); wrote.WriteBytes < 1<<20 || wrote.Writes < 1 {
		t.Errorf("a synced MiB went to %s: %+v", d.Name, wrote)
	}
}

func TestNoDevice(t *testing.T) {
	for path, want := range map[string]string{
		"/proc/self":     "device of /proc/",
		"/no/such/thing": "device of ",
	} {
		if d, err := DeviceOf(path); err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%s: %v, %v", path, d, err)
		}
	}
}

func TestMountOf(t *testing.T) {
	info := []byte(`22 1 0:29 / / rw - btrfs /dev/sda2 rw,subvol=/@
23 22 0:21 / /proc rw - proc proc rw
30 22 0:30 / /data\040dir rw shared:1 - btrfs /dev/sdb rw
31 22 0:31 / /data\040dir/pg rw - tmpfs tmpfs rw
32 22 0:32 / /data\040dir/pg rw - overlay overlay rw
broken line
`)
	for path, want := range map[string]mount{
		"/x":                {"/", "btrfs", "/dev/sda2"},
		"/data dir":         {"/data dir", "btrfs", "/dev/sdb"},
		"/data dir/pgx":     {"/data dir", "btrfs", "/dev/sdb"},
		"/data dir/pg/base": {"/data dir/pg", "overlay", "overlay"},
	} {
		if got, ok := mountOf(info, path); !ok || got != want {
			t.Errorf("%s is on %+v, want %+v", path, got, want)
		}
	}
	if _, ok := mountOf(nil, "/x"); ok {
		t.Error("found a mount in nothing")
	}
}

func TestSince(t *testing.T) {
	a := Snapshot{at: time.Unix(100, 0), ticks: map[string]float64{}, stalls: map[string]float64{"cpu": 1, "io": 2}, levels: map[string]float64{Load: 1}}
	b := Snapshot{at: time.Unix(110, 0), ticks: map[string]float64{}, stalls: map[string]float64{"cpu": 6, "memory": 1}, levels: map[string]float64{Load: 3}}
	a.readTicks([]byte("cpu  100 0 100 700 50 0 0 50 20 0\ncpu0 1 2 3\n"))
	b.readTicks([]byte("cpu  200 0 150 900 100 0 0 150 40 0\n"))
	got := b.Since(a)
	for name, want := range map[string]float64{Steal: 0.2, IOWait: 0.1, Busy: 0.5, StallCPU: 0.5, Load: 3} {
		if d := got[name] - want; d > 1e-9 || d < -1e-9 {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	for _, absent := range []string{StallIO, StallMem, Throttled, MHz, Dirty} {
		if v, ok := got[absent]; ok {
			t.Errorf("%s was not known twice and is %v", absent, v)
		}
	}
}

func TestMachine(t *testing.T) {
	a := Machine()
	sum := 0
	for i := range 10_000_000 {
		sum += i
	}
	got := Machine().Since(a)
	for _, name := range []string{Load, Dirty, Writeback} {
		if v, ok := got[name]; !ok || v < 0 {
			t.Errorf("%s is %v (%v), after %d", name, v, ok, sum)
		}
	}
	for _, share := range []string{Steal, Busy, IOWait, StallCPU} {
		if v, ok := got[share]; ok && (v < -0.01 || v > 1.5) {
			t.Errorf("%s is %v", share, v)
		}
	}
}

// manyBackends starts a server with 50 idle connections.
func manyBackends(b *testing.B) *Sampler {
	s := pgtest.Server(b, pgtest.Install(b, "17.0"), "")
	for range 50 {
		conn, err := pgx.Connect(b.Context(), s.ConnString("postgres"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close(context.Background()) })
	}
	return ServerTree(s.PID())
}

// cpuPerOp reports the CPU time of an operation, which other work on the machine does not change.
func cpuPerOp(b *testing.B) func() {
	used := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

// BenchmarkRead50 is what one look at a server with 50 backends costs.
func BenchmarkRead50(b *testing.B) {
	sampler := manyBackends(b)
	defer sampler.Close()
	defer cpuPerOp(b)()
	for b.Loop() {
		if u := sampler.Read(); u.Processes < 50 {
			b.Fatalf("%+v", u)
		}
	}
}

func BenchmarkMachine(b *testing.B) {
	defer cpuPerOp(b)()
	for b.Loop() {
		Machine()
	}
}

func TestReadGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big")
	want := bytes.Repeat([]byte("1234 "), 10_000)
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := Sampler{buf: make([]byte, 16)}
	if got := s.read(f); !bytes.Equal(got, want) {
		t.Errorf("read %d of %d bytes", len(got), len(want))
	}
}
