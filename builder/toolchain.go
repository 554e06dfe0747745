package builder

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pgpipeline/pipeline/proc"
)

// Tools says for which build the toolchain is described.
type Tools struct {
	Recipe    string
	Configure []string // every option that some version may get
	Env       map[string]string
	Flags     []string // CFLAGS, LDFLAGS: "native" in them makes the CPU count
}

// tool is a program whose version is part of a build's identity.
type tool struct {
	name string
	args []string
}

// Toolchain describes what the machine contributes to a build, as lines "name: value": versions of compiler, linker, make,
// generators and libraries, and the CPU when flags say "native". What is absent is said too. It takes well under 5 ms unless a
// tool has changed since it was last asked (see versionCache).
func Toolchain(ctx context.Context, t Tools) ([]string, error) {
	if !Compiles(t.Recipe) {
		return nil, nil
	}
	cache := openVersions()
	defer cache.save()
	var lines []string
	for _, kind := range toolKinds(t) {
		version, err := cache.version(ctx, kind.tool, t.Env)
		if err != nil {
			return nil, fmt.Errorf("describe toolchain: %w", err)
		}
		lines = append(lines, kind.kind+": "+version)
	}
	lines = append(lines, libraryLines(t)...)
	if NeedsCPU(t.Flags...) {
		lines = append(lines, "cpu: "+cpuModel(), "cpu instructions: "+cpuInstructions())
	}
	return lines, nil
}

type toolKind struct {
	kind string
	tool
}

func toolKinds(t Tools) []toolKind {
	version := []string{"--version"}
	linker := "ld"
	for _, flag := range strings.Fields(strings.Join(t.Flags, " ")) {
		if name, ok := strings.CutPrefix(flag, "-fuse-ld="); ok {
			linker = "ld." + name
		}
	}
	kinds := []toolKind{
		{"compiler", tool{name: compilerName(t.Env), args: version}},
		{"linker", tool{name: linker, args: version}},
		{"libc", tool{name: "ldd", args: version}},
		{"bison", tool{name: "bison", args: version}},
		{"flex", tool{name: "flex", args: version}},
		{"perl", tool{name: "perl", args: []string{"-e", `print "$^V\n"`}}},
	}
	if t.Recipe == Meson {
		return append(kinds, toolKind{"meson", tool{name: "meson", args: version}}, toolKind{"ninja", tool{name: "ninja", args: version}})
	}
	return append(kinds, toolKind{"make", tool{name: "make", args: version}})
}

// libraryLines names the version of each library that some version of PostgreSQL would use with these options.
func libraryLines(t Tools) []string {
	var lines []string
	for _, l := range libraries {
		if !l.wanted(Query{Configure: t.Configure}) {
			continue
		}
		pc := l.pc
		if pc == "" {
			pc = map[string]string{"ssl": "openssl", "systemd": "libsystemd"}[l.option]
		}
		if pc == "" {
			pc = l.option
		}
		version := "absent"
		if path := pcFile(pc, t.Env); path != "" {
			version = pcVersion(path)
		} else if HasLibrary(l.option, t.Env) {
			version = "present"
		}
		lines = append(lines, "library "+l.option+": "+version)
	}
	return lines
}

func pcVersion(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unreadable"
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "Version:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return "unnamed"
}

// versionCache remembers what tools say of their version, by the file they are: asking six of them takes 15 ms, a look at
// their files less than 0.1.
type versionCache struct {
	path  string // "" when there is no place for it
	known map[string]toolVersion
	dirty bool
}

type toolVersion struct {
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	Says     string    `json:"says"`
}

var (
	versionsMu sync.Mutex // held from openVersions to save
	versions   *versionCache
)

func openVersions() *versionCache {
	versionsMu.Lock()
	if versions != nil {
		return versions
	}
	versions = &versionCache{known: map[string]toolVersion{}}
	if dir, err := os.UserCacheDir(); err == nil {
		versions.path = filepath.Join(dir, "pipeline", "toolchain.json")
		if text, err := os.ReadFile(versions.path); err == nil && json.Unmarshal(text, &versions.known) != nil {
			versions.known = map[string]toolVersion{} // damaged: ask again
		}
	}
	return versions
}

// save writes the file when something was learnt. That it cannot be written costs time only.
func (c *versionCache) save() {
	defer versionsMu.Unlock()
	if !c.dirty || c.path == "" {
		return
	}
	text, err := json.Marshal(c.known)
	if err != nil || os.MkdirAll(filepath.Dir(c.path), 0o755) != nil {
		return
	}
	tmp := fmt.Sprintf("%s.%d", c.path, os.Getpid())
	if os.WriteFile(tmp, text, 0o644) == nil && os.Rename(tmp, c.path) == nil {
		c.dirty = false
	}
}

// version returns the line that names a tool's version, or "absent".
func (c *versionCache) version(ctx context.Context, t tool, env map[string]string) (string, error) {
	path := lookTool(t.name, env)
	if path == "" {
		return "absent", nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	id := path + " -> " + real
	if v, ok := c.known[id]; ok && v.Size == info.Size() && v.Modified.Equal(info.ModTime()) {
		return v.Says, nil
	}
	says, err := askVersion(ctx, path, t)
	if err != nil {
		return "", err
	}
	c.known[id] = toolVersion{Size: info.Size(), Modified: info.ModTime(), Says: says}
	c.dirty = true
	return says, nil
}

func askVersion(ctx context.Context, path string, t tool) (string, error) {
	as, err := proc.Unprivileged()
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = proc.Run(ctx, proc.Cmd{Path: path, Args: t.args, Dir: "/", Env: proc.Environ(), As: as, Stdout: &out, Timeout: 20 * time.Second})
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", t.name, err)
	}
	lines := strings.Split(out.String(), "\n")
	return strings.TrimSpace(lines[0]), nil
}
