package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pgpipeline/pipeline/proc"
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
)

func TestCopyData(t *testing.T) {
	from := pgtest.DataDir(t, pgtest.Install(t, "system"))
	to := filepath.Join(pgtest.Dir(t), "data")
	var last int64
	facts, err := postgres.CopyData(t.Context(), from, to, postgres.CopyOptions{
		Jobs: 1, Progress: func(done, total int64) { last = done },
	})
	if err != nil {
		t.Fatal(err)
	}
	if last != facts.Bytes || facts.Files < 500 {
		t.Errorf("progress ended at %d; %+v", last, facts)
	}
	compareTrees(t, from, to)
	as, err := proc.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if owner := info.Sys().(*syscall.Stat_t).Uid; as != nil && owner != as.UID {
			t.Errorf("%s belongs to %d", path, owner)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func compareTrees(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		a, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(filepath.Join(to, rel))
		if err == nil && !bytes.Equal(a, b) {
			t.Errorf("%s differs", rel)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCopyRefuses(t *testing.T) {
	for name, prepare := range map[string]func(dir string) error{
		"a server runs on":               func(dir string) error { return os.WriteFile(filepath.Join(dir, "postmaster.pid"), nil, 0o600) },
		"neither a file nor a directory": func(dir string) error { return os.Symlink("/etc", filepath.Join(dir, "pg_wal")) },
	} {
		from := t.TempDir()
		if err := prepare(from); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "to")
		if _, err := postgres.CopyData(t.Context(), from, to, postgres.CopyOptions{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	if err := os.WriteFile(filepath.Join(from, "x"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.CopyData(ctx, from, to, postgres.CopyOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a cancelled copy left %v", err)
	}
}

// TestCopyToAFullDisk copies to a file system of 1 MiB.
func TestCopyToAFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	small := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1M", "none", small).CombinedOutput(); err != nil {
		t.Fatalf("mount: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = syscall.Unmount(small, 0) })
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "base"), make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := postgres.CopyData(t.Context(), from, filepath.Join(small, "data"), postgres.CopyOptions{})
	want := "copy data directory: no space left on device: it needs 2.1 MB; 1.0 MB is free in " + small
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if entries, _ := os.ReadDir(small); len(entries) > 0 {
		t.Errorf("half a copy was left: %v", entries)
	}
}

func BenchmarkCopyData(b *testing.B) {
	from := pgtest.DataDir(b, pgtest.Install(b, "system"))
	if err := os.WriteFile(filepath.Join(from, "base", "large"), make([]byte, 256<<20), 0o600); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for n := range b.N {
		to := filepath.Join(from, "..", "copy"+strconv.Itoa(n))
		facts, err := postgres.CopyData(context.Background(), from, to, postgres.CopyOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(facts.Bytes)
		b.StopTimer()
		os.RemoveAll(to)
		b.StartTimer()
	}
}

// TestReflink copies on an XFS of its own in a file, whose blocks original and copy share.
func TestReflink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a file system needs root")
	}
	if _, err := exec.LookPath("mkfs.xfs"); err != nil {
		const remedy = "there is no mkfs.xfs (apt-get install xfsprogs) to make a file system with reflinks"
		if os.Getenv("CI") != "" {
			t.Fatal(remedy)
		}
		t.Skip(remedy)
	}
	image, point := filepath.Join(t.TempDir(), "image"), t.TempDir()
	for _, args := range [][]string{
		{"truncate", "-s", "320M", image}, {"mkfs.xfs", "-q", "-m", "reflink=1", image}, {"mount", "-o", "loop", image, point},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	t.Cleanup(func() { _ = exec.Command("umount", point).Run() })
	from, to := filepath.Join(point, "from"), filepath.Join(point, "to")
	if err := os.MkdirAll(filepath.Join(from, "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("postgres"), 20<<20) // 160 MiB; two of them do not fit
	if err := os.WriteFile(filepath.Join(from, "base", "1"), large, 0o600); err != nil {
		t.Fatal(err)
	}
	facts, err := postgres.CopyData(t.Context(), from, to, postgres.CopyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !facts.Reflinked || facts.Bytes != int64(len(large)) {
		t.Errorf("%+v", facts)
	}
	compareTrees(t, from, to)
}
