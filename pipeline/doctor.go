package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"pgpipeline/builder"
	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/store"
	"pgpipeline/pipeline/proc"
)

// finding is one thing that the doctor looked at.
type finding struct {
	Level  string `json:"level"` // "ok", "note", "warn", "error"
	About  string `json:"about"`
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// examine looks at everything that building and measuring depend on. A knob that cannot be read is a note, never a failure.
func examine() []finding {
	host := engine.ThisHost()
	out := []finding{{"ok", "machine", fmt.Sprintf("%d CPUs (%s), %s memory, %s, Linux %s", host.CPUs, host.CPUModel,
		humanize.IBytes(uint64(host.MemoryBytes)), host.OS, host.Kernel), ""}}
	for _, look := range []func(engine.HostFacts) finding{account, cache, disk, buildTools, optional("npm", "npm:: sources", "npm"),
		optional("sysbench", "steps driven by sysbench", "sysbench"), optional("pgbench", "steps driven by pgbench", "postgresql-contrib"),
		optional("perf", "flame graphs", "linux-perf"), cpus, governor, load, swap, hugePages, latency} {
		out = append(out, look(host))
	}
	return out
}

func account(engine.HostFacts) finding {
	who, err := proc.Unprivileged()
	switch {
	case err != nil:
		return finding{"error", "server account", err.Error(), ""}
	case who == nil:
		return finding{"ok", "server account", "servers and builds run as you", ""}
	}
	return finding{"ok", "server account", "you are root: servers and builds run as " + who.Name, ""}
}

func cache(engine.HostFacts) finding {
	s, err := store.Open("", store.Options{})
	if err != nil {
		return finding{"error", "cache", err.Error(), ""}
	}
	if s.ReadOnly() {
		return finding{"warn", "cache", s.Dir() + " can only be read", "set PIPELINE_CACHE to a directory that can be written"}
	}
	who, _ := proc.Unprivileged()
	for d := s.Dir(); who != nil && d != "/"; d = filepath.Dir(d) {
		if st, err := os.Stat(d); err == nil && st.Mode().Perm()&0o001 == 0 {
			return finding{"error", "cache", fmt.Sprintf("%s cannot enter %s, so servers cannot run from %s", who.Name, d, s.Dir()),
				"set PIPELINE_CACHE to a directory that everyone may enter"}
		}
	}
	return finding{"ok", "cache", s.Dir(), ""}
}

func disk(engine.HostFacts) finding {
	dir, err := store.DefaultDir()
	if err != nil {
		return finding{"error", "disk", err.Error(), ""}
	}
	var st unix.Statfs_t
	for ; unix.Statfs(dir, &st) != nil && dir != "/"; dir = filepath.Dir(dir) {
	}
	free := uint64(st.Bavail) * uint64(st.Bsize)
	const least = 5 << 30 // a source build and its data
	if free < least {
		return finding{"warn", "disk", humanize.IBytes(free) + " free in the file system of the cache", "make room: pipeline cache gc"}
	}
	return finding{"ok", "disk", humanize.IBytes(free) + " free in the file system of the cache", ""}
}

func buildTools(engine.HostFacts) finding {
	missing := builder.Requirements(builder.Query{Recipe: "autotools", Configure: []string{"--with-lz4"}})
	if len(missing) == 0 {
		return finding{"ok", "build tools", "all there", ""}
	}
	names := make([]string, len(missing))
	for i, m := range missing {
		names[i] = m.Name
	}
	return finding{"warn", "build tools", "missing for builds from source: " + strings.Join(names, ", "), builder.AptLine(missing)}
}

func optional(program, purpose, pkg string) func(engine.HostFacts) finding {
	return func(engine.HostFacts) finding {
		if path, err := exec.LookPath(program); err == nil {
			return finding{"ok", program, path, ""}
		}
		return finding{"note", program, "not installed; needed for " + purpose, "apt-get install " + pkg}
	}
}

func cpus(h engine.HostFacts) finding {
	if h.CPUs < 4 {
		return finding{"warn", "CPUs", fmt.Sprintf("%d: servers and clients compete for them", h.CPUs),
			"use placement: same-core for single-client steps, and read cpu_per_op beside QPS"}
	}
	return finding{"ok", "CPUs", fmt.Sprint(h.CPUs), ""}
}

func governor(engine.HostFacts) finding {
	text, err := os.ReadFile("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	g := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return finding{"note", "CPU frequency", "not visible on this machine (usual in a virtual machine)", ""}
	case g != "performance":
		return finding{"warn", "CPU frequency", "governor " + g, "cpupower frequency-set -g performance"}
	}
	return finding{"ok", "CPU frequency", "governor performance", ""}
}

func load(h engine.HostFacts) finding {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return finding{"note", "load", "cannot be read: " + err.Error(), ""}
	}
	one, _, _ := strings.Cut(string(text), " ")
	if v, err := strconv.ParseFloat(one, 64); err == nil && v > 0.5 {
		return finding{"warn", "load", one + " over the last minute: something else is running", "stop it before measuring"}
	}
	return finding{"ok", "load", one + " over the last minute", ""}
}

func swap(engine.HostFacts) finding {
	text, err := os.ReadFile("/proc/swaps")
	if err == nil && strings.Count(strings.TrimSpace(string(text)), "\n") > 0 {
		return finding{"note", "swap", "on", "swapoff -a while measuring keeps server memory where it is"}
	}
	return finding{"ok", "swap", "off", ""}
}

func hugePages(engine.HostFacts) finding {
	text, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil {
		return finding{"note", "transparent huge pages", "cannot be read", ""}
	}
	_, rest, _ := strings.Cut(string(text), "[")
	mode, _, _ := strings.Cut(rest, "]")
	return finding{"ok", "transparent huge pages", mode, ""}
}

func latency(engine.HostFacts) finding {
	f, err := os.OpenFile("/dev/cpu_dma_latency", os.O_WRONLY, 0)
	if err != nil {
		return finding{"note", "CPU idle states", "cannot be held off while measuring: " + err.Error(),
			"run as root, or use placement: same-core, which keeps the CPU busy"}
	}
	f.Close()
	return finding{"ok", "CPU idle states", "are held off while measuring", ""}
}
