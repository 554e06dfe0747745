package source

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFullDisk(t *testing.T) {
	small := scratch(t)
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=256k,mode=755"); err != nil {
		t.Skipf("a small disk cannot be mounted here (%v): this needs root and no container that forbids it", err)
	}
	defer unix.Unmount(small, unix.MNT_DETACH)
	base := t.TempDir()
	write(t, filepath.Join(base, "big.tar.gz"), string(gzipped(t, tarOf(t, entry{name: "a", body: strings.Repeat("x", 1<<20)}))))
	write(t, filepath.Join(base, "big", "a"), strings.Repeat("x", 1<<20))
	for _, addr := range []string{"big.tar.gz", "big"} {
		opt := Options{Base: base}
		r := resolved(t, opt, addr)
		opt.Scratch = small
		dest := filepath.Join(small, "dest")
		_, err := Fetch(context.Background(), r, dest, opt)
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: error %v, want one of a full disk", addr, err)
		}
		wantError(t, err, "make room", "PIPELINE_CACHE")
		wantFiles(t, small)
	}
}

func TestReadOnlyDisk(t *testing.T) {
	dir := scratch(t)
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_RDONLY, "size=256k,mode=755"); err != nil {
		t.Skipf("a read-only disk cannot be mounted here (%v): this needs root and no container that forbids it", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	base := t.TempDir()
	write(t, filepath.Join(base, "pg", "a"), "a")
	opt := Options{Base: base}
	r := resolved(t, opt, "pg")
	_, err := Fetch(context.Background(), r, filepath.Join(dir, "dest"), opt)
	wantError(t, err, "read-only", "set PIPELINE_CACHE")
	opt.Scratch = dir
	_, err = Fetch(context.Background(), r, filepath.Join(t.TempDir(), "dest"), opt)
	wantError(t, err, "scratch folder", "set PIPELINE_CACHE")
}
