package engine

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ThisHost reads what the tool may know of the machine. What cannot be read stays empty; nothing here fails.
func ThisHost() HostFacts {
	h := HostFacts{CPUs: runtime.NumCPU(), Arch: runtime.GOARCH}
	h.CPUModel = field("/proc/cpuinfo", "model name", ":")
	if kB, err := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal", ":"), " kB"), 10, 64); err == nil {
		h.MemoryBytes = kB * 1024
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	id := strings.Trim(field("/etc/os-release", "ID", "="), `"`)
	h.OS = strings.TrimSpace(id + " " + strings.Trim(field("/etc/os-release", "VERSION_ID", "="), `"`))
	h.MachineID = machineID(h)
	return h
}

// machineID is a hash that stays the same across reboots and kernel updates and does not reveal the machine's own id. The
// memory is rounded to GiB: the kernel keeps a little more or less of it back from one version to the next.
func machineID(h HostFacts) string {
	raw, err := os.ReadFile("/etc/machine-id")
	if err != nil || len(strings.TrimSpace(string(raw))) == 0 {
		name, _ := os.Hostname()
		raw = []byte(name)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{
		"machine", strings.TrimSpace(string(raw)), h.CPUModel, strconv.Itoa(h.CPUs),
		strconv.FormatInt((h.MemoryBytes+(1<<29))>>30, 10)}, "\n")))
	return hex.EncodeToString(sum[:8])
}

// field returns the value of the first line of path that begins with name, or "".
func field(path, name, sep string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), sep)
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
