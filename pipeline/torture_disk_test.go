package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/proc"
)

// tortureDisk takes the disk away from the tool in every way that a disk has.
func tortureDisk(t *testing.T, count *tally) {
	t.Run("full cache", func(t *testing.T) { fullCache(t, count) })
	t.Run("full runs directory", func(t *testing.T) { fullRuns(t, count) })
	t.Run("read-only cache", func(t *testing.T) { readOnlyCache(t, count) })
	t.Run("no permission", func(t *testing.T) { noPermission(t, count) })
	t.Run("vanished cache", func(t *testing.T) { vanishedCache(t, count) })
}

// mounted puts a small file system on a directory. Only root can; the store's own tests fail every write without one.
func mounted(t *testing.T, dir, size string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system takes root; TestEveryChangeFails covers what does not take one")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755,size="+size); err != nil {
		t.Skipf("no file system can be mounted here (%v); TestEveryChangeFails covers what does not take one", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
}

// resize makes a mounted file system larger or smaller.
func resize(t *testing.T, dir, size string) {
	t.Helper()
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT, "size="+size); err != nil {
		t.Fatal(err)
	}
}

// fullCache gives the cache so little room that fetching, building, loading and restoring fail in turn. With more room, the
// same run goes on.
func fullCache(t *testing.T, count *tally) {
	r := newRig(t, count, tortureFile)
	mounted(t, r.cache, "20m")
	failed := map[string]bool{}
	for size := 20; ; size += 35 { // until it is enough
		resize(t, r.cache, fmt.Sprint(size, "m"))
		p := r.start(append([]string{"run", "t.yaml", "--progress", "json"}, resume(r.record())...)...)
		if p.code() == exitOK {
			break
		}
		r.inject("full disk under the cache", func() { failed[r.full(p)] = true })
		t.Logf("%d MiB: %s", size, r.record().Error)
		if t.Failed() || os.Getenv("TORTURE") == "" {
			resize(t, r.cache, "1g")
			r.run(0, resume(r.record())...)
			break
		}
	}
	if os.Getenv("TORTURE") != "" && len(failed) < 3 {
		t.Errorf("the disk was full in %v alone", failed)
	}
	if n := complete(r.record()); n != 2 {
		t.Errorf("%d complete blocks in the end", n)
	}
}

// full looks at a run that found the disk full and returns where.
func (r *rig) full(p *tool) (kind string) {
	r.t.Helper()
	if code := p.code(); code != exitInfrastructure {
		r.t.Errorf("exit code %d\n%s", code, p.errors())
	}
	r.says(p, "no space left on device")
	r.nothingLeft("full disk")
	r.do(0, "cache", "verify")
	kind, _, _ = strings.Cut(r.record().Error, ":")
	kind, _, _ = strings.Cut(kind, "[")
	return kind
}

// says wants a text in what the tool said, and that it came before any detail.
func (r *rig) says(p *tool, want string) {
	r.t.Helper()
	if line := p.firstLine(); !strings.Contains(strings.ToLower(line), want) {
		r.t.Errorf("the first line is %q, want %q in it\n%s", line, want, p.errors())
	}
}

// fullRuns fills the disk with the results while a block is measured.
func fullRuns(t *testing.T, count *tally) {
	r := newRig(t, count, tortureFile)
	mounted(t, filepath.Join(r.dir, ".pipeline"), "2m")
	r.inject("full disk under the results", func() {
		p := r.start("run", "t.yaml", "--progress", "json")
		p.await(0, func(e engine.Event) bool { return e.Type == engine.BlockStarted && e.Block == 2 })
		ballast := filepath.Join(r.dir, ".pipeline", "ballast")
		_ = os.WriteFile(ballast, make([]byte, 4<<20), 0o644) // as far as it goes
		if code := p.code(); code != exitInfrastructure {
			t.Errorf("exit code %d\n%s", code, p.errors())
		}
		r.says(p, "no space left on device")
		r.nothingLeft("full results")
		rec := r.record()
		if complete(rec) != 1 {
			t.Errorf("%d complete blocks, want the one from before", complete(rec))
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		r.run(0, resume(rec)...)
		if n := complete(r.record()); n != 2 {
			t.Errorf("%d complete blocks in the end", n)
		}
	})
}

func readOnlyCache(t *testing.T, count *tally) {
	r := newRig(t, count, tortureFile)
	mounted(t, r.cache, "10m")
	if err := unix.Mount("", r.cache, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	r.inject("read-only cache", func() {
		r.says(r.run(exitInfrastructure), "read-only file system")
		r.do(0, "plan", "t.yaml")
		r.do(0, "cache", "verify")
	})
}

// everybodys copies a program to where every account may run it: go test builds in a directory that is closed to others.
func everybodys(t *testing.T, program string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pipeline-tool-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	text, err := os.ReadFile(program)
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	copied := filepath.Join(dir, "pipeline")
	if err == nil {
		err = os.WriteFile(copied, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// noPermission runs the tool as somebody who may not write to the cache, to the results, or whose cache others may write.
func noPermission(t *testing.T, count *tally) {
	r := newRig(t, count, tortureFile)
	who, err := proc.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	as := func() *tool {
		cmd := r.command("run", "t.yaml", "--progress", "json")
		cmd.Path = everybodys(t, cmd.Path)
		if who != nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: who.UID, Gid: who.GID}}
		}
		p := r.launch(cmd)
		if code := p.code(); code != exitInfrastructure {
			t.Errorf("exit code %d\n%s", code, p.errors())
		}
		return p
	}
	mode := func(path string, perm os.FileMode) {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, perm); err != nil {
			t.Fatal(err)
		}
	}
	mode(r.dir, 0o555)
	r.inject("no permission for the results", func() { r.says(as(), "permission denied") })
	mode(r.dir, 0o777)
	mode(r.cache, 0o555)
	r.inject("no permission for the cache", func() { as() })
	mode(r.cache, 0o777)
	r.inject("cache that everyone may write to", func() { r.says(as(), "everyone may write to it") })
}

// vanishedCache removes the cache while data is loaded and while a block is measured.
func vanishedCache(t *testing.T, count *tally) {
	for _, phase := range some([]string{"measure", "load"}, 1) {
		r := newRig(t, count, tortureFile)
		r.inject("vanished cache", func() {
			p := r.start("run", "t.yaml", "--progress", "json")
			p.await(0, func(e engine.Event) bool { return phaseOf(e) == phase })
			if err := os.Rename(r.cache, r.cache+".gone"); err != nil {
				t.Fatal(err)
			}
			p.code()
			if code := p.code(); code != exitInfrastructure && code != exitOK { // a server works on with what it has open
				t.Errorf("%s: exit code %d\n%s", phase, code, p.errors())
			}
			t.Logf("%s: %d: %s", phase, p.code(), p.firstLine())
			r.nothingLeft("vanished")
			if rec := r.record(); rec == nil || rec.Status == "running" {
				t.Errorf("%s: record %+v", phase, rec)
			}
			r.run(0, resume(r.record())...)
			r.do(0, "cache", "verify")
		})
	}
}
