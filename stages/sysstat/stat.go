package sysstat

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// processStat is the part of /proc/PID/stat behind the command's name, which may hold blanks. Field 0 is the state.
type processStat [][]byte

func statFields(text []byte) (processStat, bool) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return nil, false
	}
	fields := processStat(bytes.Fields(text[end+1:]))
	return fields, len(fields) > 20
}

func (p processStat) number(i int) int64 { return number(p[i]) }

// CPU returns the CPU seconds of processes with all their threads, without their children. Its resolution is 10 ms.
func CPU(pids ...int) (float64, error) {
	var ticks int64
	for _, pid := range pids {
		text, err := os.ReadFile(procPath(pid, "stat"))
		if err != nil {
			return 0, fmt.Errorf("cpu time of process %d: %w", pid, err)
		}
		fields, ok := statFields(text)
		if !ok {
			return 0, fmt.Errorf("cpu time of process %d: /proc/%d/stat holds %q", pid, pid, text)
		}
		ticks += fields.number(11) + fields.number(12)
	}
	return float64(ticks) * clockTick, nil
}

// childrenByParent searches /proc for the children of a process.
func childrenByParent(parent int) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var out []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := os.ReadFile(procPath(pid, "stat"))
		if err != nil {
			continue
		}
		if fields, ok := statFields(text); ok && fields.number(1) == int64(parent) {
			out = append(out, pid)
		}
	}
	return out
}
