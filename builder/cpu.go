package builder

import (
	"io"
	"os"
	"slices"
	"strings"
)

// instructionSets are the beginnings of the CPU flags that a compiler makes use of. The kernel lists many more, and which ones
// depends on its version, so that a kernel update would rebuild everything.
var instructionSets = []string{"abm", "adx", "aes", "amx", "avx", "bmi", "clflushopt", "clwb", "cx16", "f16c", "fma", "fsgsbase", "fxsr", "gfni",
	"lahf", "lzcnt", "mmx", "movbe", "movdir", "pclmul", "popcnt", "prefetchw", "rdrand", "rdseed", "serialize", "sha", "sse", "ssse", "vaes",
	"vpclmul", "xsave", "asimd", "atomics", "crc32", "sve", "bf16", "i8mm", "lse", "fp"}

// cpuModel and cpuInstructions describe the first CPU.
func cpuModel() string {
	for _, name := range []string{"model name", "CPU part"} {
		if v := cpuField(name); v != "" {
			return v
		}
	}
	return "unknown"
}

func cpuInstructions() string {
	all := strings.Fields(cpuField("flags") + " " + cpuField("Features"))
	used := slices.DeleteFunc(all, func(flag string) bool {
		return !slices.ContainsFunc(instructionSets, func(set string) bool { return strings.HasPrefix(flag, set) })
	})
	slices.Sort(used)
	return strings.Join(slices.Compact(used), " ")
}

// cpuField reads one line of the first CPU; the rest of the file takes the kernel milliseconds on large machines.
func cpuField(name string) string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 8192))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
