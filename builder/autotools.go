package builder

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var autotools = recipe{
	name:     Autotools,
	doc:      "configure and make, outside the source tree: PostgreSQL 11 and later",
	compiles: true,
	needs:    autotoolsNeeds,
	build:    buildAutotools,
}

// relativeRpath makes programs find libpq beside them, wherever the tree is: from bin/ and lib/ by the first path, from
// the modules in lib/postgresql by the second. Doubled for make.
const relativeRpath = "$$ORIGIN/../lib:$$ORIGIN/.."

func buildAutotools(ctx context.Context, j *job) (string, error) {
	if _, err := os.Stat(joinSource(j.Source, "configure")); err != nil {
		return "", fmt.Errorf("the source has no configure script; use recipe %q, or a release tarball", Meson)
	}
	contrib, err := j.contribDirs()
	if err != nil {
		return "", err
	}
	if err := j.patchSource(ctx); err != nil {
		return "", err
	}
	if err := j.frontCompilers(ctx); err != nil {
		return "", err
	}
	if err := j.configure(ctx); err != nil {
		return "", err
	}
	if err := j.make(ctx, contrib); err != nil {
		return "", err
	}
	return filepath.Join(j.stage, neutralPrefix), nil
}

// configure runs the script through sh: a source that lost its permission bits on the way builds all the same.
func (j *job) configure(ctx context.Context) error {
	j.progress("configure", 0, 0)
	args := append([]string{joinSource(j.source, "configure"), "--prefix=" + neutralPrefix}, j.Configure...)
	args = append(args, j.archiver()...)
	for _, flag := range [][2]string{{"CFLAGS", j.CFLAGS}, {"LDFLAGS", j.LDFLAGS}} {
		if flag[1] != "" {
			args = append(args, flag[0]+"="+flag[1])
		}
	}
	err := j.run(ctx, command{dir: j.work, name: "sh", args: args})
	if err != nil {
		j.logFile("config.log")
	}
	return err
}

// logFile appends a file of the work place to the log: it says which test program did not compile, and is gone later.
func (j *job) logFile(name string) {
	f, err := os.Open(filepath.Join(j.work, name))
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(j.Log, "\n--- %s\n", name)
	_, _ = io.Copy(j.Log, f)
}

// make builds and installs the server, then the contrib folders, one after the other: each is small.
func (j *job) make(ctx context.Context, contrib []string) error {
	meter := newMeter(j)
	common := append([]string{"-j" + strconv.Itoa(j.jobs()), "--output-sync=target", "rpathdir=" + relativeRpath}, j.Make...)
	goals := [][]string{{"all"}, {"install"}}
	for _, name := range contrib {
		dir := "contrib/" + name
		if name == "all" {
			dir = "contrib"
		}
		goals = append(goals, []string{"-C", dir, "all"}, []string{"-C", dir, "install"})
	}
	for _, goal := range goals {
		args := append([]string{}, common...)
		if goal[len(goal)-1] == "install" {
			args = append(args, "DESTDIR="+j.stage)
		}
		if err := j.run(ctx, command{dir: j.work, name: "make", args: append(args, goal...), each: meter.line}); err != nil {
			return err
		}
	}
	return nil
}

// meter turns compiler commands that make prints into progress.
type meter struct {
	j           *job
	done, total float64
}

var compiles = regexp.MustCompile(` -c .*-o (\S+)\.o\b|-o (\S+)\.o .* -c `)

// newMeter estimates the number of compilations from the number of source files that are built by default.
func newMeter(j *job) *meter {
	m := &meter{j: j}
	for _, dir := range []string{"backend", "bin", "common", "fe_utils", "interfaces", "pl", "port", "timezone"} {
		_ = filepath.WalkDir(joinSource(j.source, "src", dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".c") {
				m.total++
			}
			return nil
		})
	}
	return m
}

func (m *meter) line(line string) {
	if !compiles.MatchString(line) {
		return
	}
	m.done++
	m.j.progress("compile", min(m.done, m.total), m.total)
}

func autotoolsNeeds(q Query) []need {
	needs := []need{toolNeed("make", "make", "autotools"), toolNeed("awk", "mawk", "configure")}
	if q.Major() >= 16 || q.anyPkgConfig() {
		needs = append(needs, toolNeed("pkg-config", "pkg-config", "finding libraries"))
	}
	return append(append(compilerNeeds(q), needs...), libraryNeeds(q)...)
}
