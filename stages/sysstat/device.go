package sysstat

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Device is the block device that holds a file.
type Device struct {
	Name string // "nvme0n1p2"
	stat string // its statistics file in /sys
}

// Disk is the traffic of a block device since the machine was booted, by everybody.
type Disk struct {
	Reads, Writes         int64 // requests
	ReadBytes, WriteBytes int64
	Busy                  time.Duration // time with at least one request under way
}

// sector is the unit of block statistics, whatever the device's own.
const sector = 512

// DeviceOf finds the block device that holds path, which must exist. File systems without one (tmpfs, network and
// overlay file systems) are an error that says which.
func DeviceOf(path string) (*Device, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, fmt.Errorf("device of %s: %w", path, err)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return nil, fmt.Errorf("device of %s: %w", path, err)
	}
	number := st.Dev
	if unix.Major(number) == 0 { // btrfs and others number their file systems themselves
		if number, err = mountedDevice(path); err != nil {
			return nil, fmt.Errorf("device of %s: %w", path, err)
		}
	}
	return openDevice(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(number), unix.Minor(number)))
}

func openDevice(dir string) (*Device, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("statistics of the block device: %w", err)
	}
	d := &Device{Name: filepath.Base(real), stat: filepath.Join(real, "stat")}
	_, err = d.Read()
	return d, err
}

// mountedDevice finds the device number through the source of the mount that holds path.
func mountedDevice(path string) (uint64, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return 0, err
	}
	m, ok := mountOf(text, path)
	if !ok {
		return 0, fmt.Errorf("no mount holds it")
	}
	var st syscall.Stat_t
	if !strings.HasPrefix(m.source, "/dev/") || syscall.Stat(m.source, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFBLK {
		return 0, fmt.Errorf("%s at %s is on no block device", m.fstype, m.point)
	}
	return st.Rdev, nil
}

// mount is one line of mountinfo.
type mount struct{ point, fstype, source string }

// mountOf picks the mount with the longest path above path; of equal ones the last, which covers the others.
func mountOf(mountinfo []byte, path string) (best mount, found bool) {
	for lines := bufio.NewScanner(bytes.NewReader(mountinfo)); lines.Scan(); {
		left, right, _ := strings.Cut(lines.Text(), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if len(l) < 5 || len(r) < 2 {
			continue
		}
		m := mount{point: unescape(l[4]), fstype: r[0], source: unescape(r[1])}
		if isBelow(path, m.point) && len(m.point) >= len(best.point) {
			best, found = m, true
		}
	}
	return best, found
}

func isBelow(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// unescape undoes the octal escapes of blanks in mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// Read returns the device's traffic so far.
func (d *Device) Read() (Disk, error) {
	text, err := os.ReadFile(d.stat)
	if err != nil {
		return Disk{}, fmt.Errorf("statistics of device %s: %w", d.Name, err)
	}
	fields := strings.Fields(string(text))
	if len(fields) < 11 {
		return Disk{}, fmt.Errorf("statistics of device %s: %s holds %q", d.Name, d.stat, text)
	}
	n := make([]int64, len(fields))
	for i, f := range fields {
		if n[i], err = strconv.ParseInt(f, 10, 64); err != nil {
			return Disk{}, fmt.Errorf("statistics of device %s: %w", d.Name, err)
		}
	}
	return Disk{
		Reads: n[0], ReadBytes: n[2] * sector, Writes: n[4], WriteBytes: n[6] * sector,
		Busy: time.Duration(n[9]) * time.Millisecond,
	}, nil
}

// Minus returns the traffic since an earlier reading.
func (d Disk) Minus(earlier Disk) Disk {
	return Disk{
		Reads: d.Reads - earlier.Reads, Writes: d.Writes - earlier.Writes,
		ReadBytes: d.ReadBytes - earlier.ReadBytes, WriteBytes: d.WriteBytes - earlier.WriteBytes,
		Busy: d.Busy - earlier.Busy,
	}
}
