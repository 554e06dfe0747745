package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() { children["mount"] = smallDisk }

// smallDisk runs in a mount namespace of its own: a file system of half a megabyte is filled, emptied, and made read-only
// under a store. It prints a line per step.
func smallDisk(args []string) error {
	dir := args[0]
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=512k,mode=755"); err != nil {
		fmt.Println("cannot mount:", err)
		return nil
	}
	fmt.Println("mounted")
	s, err := Open(filepath.Join(dir, "cache"), Options{})
	if err != nil {
		return err
	}
	runs := OpenRuns(filepath.Join(dir, ".pipeline"), Options{})
	run, err := runs.Create()
	if err != nil {
		return err
	}
	if err := run.Save([]byte(`{"status":"running"}`), nil); err != nil {
		return err
	}
	fmt.Println("small:", makeSized(s, "small", 8<<10))
	fmt.Println("large:", makeSized(s, "large", 1<<20))
	if err := fillDisk(dir); err != nil {
		return err
	}
	fmt.Println("full:", makeSized(s, "full", 10))
	fmt.Println("save:", run.Save(make([]byte, 64<<10), nil))
	l, err := runs.Load(run.ID)
	if err != nil {
		return err
	}
	fmt.Println("record:", string(l.Record))
	fmt.Println("verify:", s.Verify(context.Background(), key("small")))
	result, err := s.GC(context.Background(), GCOptions{MaxBytes: 1})
	fmt.Println("trim a full disk:", len(result.Removed), err)
	if err := os.Remove(filepath.Join(dir, "ballast")); err != nil {
		return err
	}
	fmt.Println("freed:", makeSized(s, "full", 10))
	run.Close()
	return readOnlyDisk(dir, s)
}

func fillDisk(dir string) error {
	err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 512<<10), 0o644)
	if !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the disk is not full: %v", err)
	}
	return nil
}

func readOnlyDisk(dir string, open *Store) error {
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return err
	}
	fmt.Println("open store:", makeSized(open, "new", 10))
	s, err := Open(open.Dir(), Options{})
	if err != nil {
		return err
	}
	fmt.Println("new store:", s.ReadOnly(), s.Verify(context.Background(), key("full")), makeSized(s, "new", 10))
	_, err = OpenRuns(filepath.Join(dir, ".pipeline"), Options{}).Create()
	fmt.Println("run:", err)
	return nil
}

// makeSized makes an entry with one file, as a stage and the engine do.
func makeSized(s *Store, recipe string, size int) error {
	ctx := context.Background()
	p, _, err := s.Create(ctx, Request{Key: key(recipe), Recipe: recipe})
	if err != nil {
		return err
	}
	defer p.Abort()
	if err := os.WriteFile(filepath.Join(p.Dir, "f"), make([]byte, size), 0o644); err != nil {
		return p.Explain(err)
	}
	_, err = p.Commit(ctx, Info{Kind: "k"})
	return err
}

func TestSmallDisk(t *testing.T) {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	dir := tempDir(t)
	c, err := tryStart(t, attr, "mount", dir)
	if err != nil {
		t.Skipf("no mount namespace here (%v): TestEveryChangeFails covers what does not take a real disk", err)
	}
	if line := c.line(); line != "mounted" {
		t.Skipf("no mount namespace here (%s): TestEveryChangeFails covers what does not take a real disk", line)
	}
	const noSpace, readOnly = "no space left on device", "read-only file system"
	wants := []struct{ name, text string }{
		{"small: ", "<nil>"},
		{"large: ", "large/out/f: " + noSpace},
		{"full: ", noSpace},
		{"save: ", "(writing 64.0 KiB"},
		{"record: ", `{"status":"running"}`},
		{"verify: ", "<nil>"},
		{"trim a full disk: ", "1 <nil>"},
		{"freed: ", "<nil>"},
		{"open store: ", readOnly},
		{"new store: ", "true <nil> write to the cache: " + dir + "/cache: " + readOnly},
		{"run: ", readOnly},
	}
	for _, want := range wants {
		line := c.line()
		text := strings.ReplaceAll(line, key("large"), "large")
		text = strings.ReplaceAll(text, "/entry/", "/")
		if !strings.HasPrefix(text, want.name) || !strings.Contains(text, want.text) {
			t.Errorf("%q, want %s%q", line, want.name, want.text)
		}
		t.Log(line)
	}
	if line := c.line(); line != "" {
		t.Error(line)
	}
}
