package sysstat

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Snapshot is the state of the machine at one moment. Counters that only differences of mean something are private;
// Since turns them into shares.
type Snapshot struct {
	at    time.Time
	ticks map[string]float64 // CPU time by kind, all CPUs, and "total"
	// stalls are the seconds that some task had to wait for a resource: "cpu", "io", "memory" (pressure stall information).
	stalls map[string]float64
	// throttled is how long this process's control group was held back by its CPU limit, in seconds.
	throttled *float64
	levels    map[string]float64
}

// Names of what Since reports. What the machine does not tell is absent.
const (
	Steal     = "steal"           // share of all CPU time that the hypervisor gave to others
	Busy      = "cpu_busy"        // share of all CPU time that was not idle
	IOWait    = "iowait"          // share of all CPU time idle with disk requests under way
	StallCPU  = "psi_cpu"         // share of the time that some task waited for a CPU
	StallIO   = "psi_io"          // for the disk
	StallMem  = "psi_memory"      // for memory
	Throttled = "throttled"       // share of the time that our CPU limit held us back
	Load      = "load1"           // load average over a minute
	MHz       = "mhz"             // current frequency, mean of a few CPUs
	Dirty     = "dirty_bytes"     // in the page cache and not written yet
	Writeback = "writeback_bytes" // being written
)

// cpuKinds are the columns of the first line of /proc/stat.
var cpuKinds = []string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"}

// Machine takes a snapshot.
func Machine() Snapshot {
	s := Snapshot{at: time.Now(), ticks: map[string]float64{}, stalls: map[string]float64{}, levels: map[string]float64{}}
	if text, err := os.ReadFile("/proc/stat"); err == nil {
		s.readTicks(text)
	}
	for _, resource := range []string{"cpu", "io", "memory"} {
		if text, err := os.ReadFile("/proc/pressure/" + resource); err == nil {
			s.readStall(resource, text)
		}
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(text), " ")
		s.level(Load, first, 1)
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		s.readMemory(text)
	}
	s.readFrequency()
	s.readThrottling()
	return s
}

func (s *Snapshot) level(name, text string, scale float64) {
	if v, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
		s.levels[name] = v * scale
	}
}

func (s *Snapshot) readTicks(text []byte) {
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	fields := bytes.Fields(line)
	for i, kind := range cpuKinds {
		if i+1 < len(fields) {
			s.ticks[kind] = float64(number(fields[i+1]))
			s.ticks["total"] += s.ticks[kind] // guest time is part of user time
		}
	}
}

func (s *Snapshot) readStall(resource string, text []byte) {
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	if _, total, ok := bytes.Cut(line, []byte("total=")); ok && bytes.HasPrefix(line, []byte("some")) {
		s.stalls[resource] = float64(number(total)) / 1e6
	}
}

func (s *Snapshot) readMemory(text []byte) {
	for line := range bytes.Lines(text) {
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimSuffix(strings.TrimSpace(value), " kB")
		switch name {
		case "Dirty":
			s.level(Dirty, value, 1024)
		case "Writeback":
			s.level(Writeback, value, 1024)
			return
		}
	}
}

// readFrequency looks at four CPUs: on some machines each look costs an interrupt. Virtual machines mostly have no such
// files; the frequency in /proc/cpuinfo is a constant there and is not taken for the current one.
func (s *Snapshot) readFrequency() {
	var sum, n float64
	for _, cpu := range []string{"cpu0", "cpu1", "cpu2", "cpu3"} {
		text, err := os.ReadFile("/sys/devices/system/cpu/" + cpu + "/cpufreq/scaling_cur_freq")
		if err != nil {
			continue
		}
		sum, n = sum+float64(number(bytes.TrimSpace(text)))/1000, n+1
	}
	if n > 0 {
		s.levels[MHz] = sum / n
	}
}

// readThrottling reads the control group (version 2) of this process.
func (s *Snapshot) readThrottling() {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(own)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", path, "cpu.stat"))
		if err != nil {
			return
		}
		if _, value, ok := strings.Cut(string(text), "throttled_usec "); ok {
			value, _, _ = strings.Cut(value, "\n")
			if us, err := strconv.ParseFloat(value, 64); err == nil {
				seconds := us / 1e6
				s.throttled = &seconds
			}
		}
	}
}

// Since describes the time between an earlier snapshot and this one, by the names above. Levels are those of this one.
func (s Snapshot) Since(earlier Snapshot) map[string]float64 {
	out := map[string]float64{}
	for name, value := range s.levels {
		out[name] = value
	}
	if total := s.ticks["total"] - earlier.ticks["total"]; total > 0 && earlier.ticks["total"] > 0 {
		share := func(kind string) float64 { return (s.ticks[kind] - earlier.ticks[kind]) / total }
		out[Steal], out[IOWait] = share("steal"), share("iowait")
		out[Busy] = 1 - share("idle") - share("iowait")
	}
	seconds := s.at.Sub(earlier.at).Seconds()
	if seconds <= 0 {
		return out
	}
	for resource, name := range map[string]string{"cpu": StallCPU, "io": StallIO, "memory": StallMem} {
		now, ok := s.stalls[resource]
		if before, had := earlier.stalls[resource]; ok && had {
			out[name] = (now - before) / seconds
		}
	}
	if s.throttled != nil && earlier.throttled != nil {
		out[Throttled] = (*s.throttled - *earlier.throttled) / seconds
	}
	return out
}
