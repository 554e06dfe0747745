package sysstat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
)

// clockTick is the unit of CPU times in /proc/PID/stat, in seconds. It is 1/100 s on every architecture that Go runs on.
const clockTick = 0.01

// Usage is what the processes of a server have used since the server started.
type Usage struct {
	CPUSeconds float64
	// Switches counts context switches, voluntary and not. Those of a process that ended since it was last read are lost.
	Switches int64
	// ReadBytes and WriteBytes went to or from storage: reads that the page cache did not answer, and pages made dirty.
	// They are absent (HasIO false) where /proc/PID/io may not be read.
	ReadBytes, WriteBytes int64
	HasIO                 bool
	Processes             int // that run now
}

// Minus returns what was used since an earlier reading.
func (u Usage) Minus(earlier Usage) Usage {
	return Usage{
		CPUSeconds: u.CPUSeconds - earlier.CPUSeconds,
		Switches:   u.Switches - earlier.Switches,
		ReadBytes:  u.ReadBytes - earlier.ReadBytes,
		WriteBytes: u.WriteBytes - earlier.WriteBytes,
		HasIO:      u.HasIO && earlier.HasIO,
		Processes:  u.Processes,
	}
}

// Sampler reads the usage of a server: the postmaster and all its children. It is safe for concurrent use.
//
// CPU time comes from /proc/PID/schedstat, in nanoseconds, for those that run, and from what the postmaster has collected
// of those that ended. A control group would give the same sum more cheaply, but putting the server into one of its own
// needs rights that a user does not have.
type Sampler struct {
	mu         sync.Mutex
	postmaster int
	stat       *os.File // of the postmaster; nil when it was gone from the beginning
	io         *os.File // of the postmaster, which includes its children that ended; nil when it may not be read
	children   *os.File
	procs      map[int]*process
	gone       int64 // switches of processes that ended
	last       Usage // what a dead server used
	buf        []byte
}

// process is one running process of the server. The files stay bound to it even when its pid is used again.
type process struct {
	schedstat *os.File
	io        *os.File
	switches  int64
	seen      bool
}

// ServerTree returns a sampler for the server with this postmaster. Call Close at the end.
func ServerTree(postmaster int) *Sampler {
	open := func(name string) *os.File {
		f, err := os.Open(procPath(postmaster, name))
		if err != nil {
			return nil
		}
		return f
	}
	return &Sampler{
		postmaster: postmaster, stat: open("stat"), io: open("io"), children: open("task/" + strconv.Itoa(postmaster) + "/children"),
		procs: map[int]*process{}, buf: make([]byte, 16<<10),
	}
}

func procPath(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// Read returns the usage so far. After the server's end it is the last that was read.
func (s *Sampler) Read() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A child that ends while this reads would be counted twice or not at all, so it is read again then.
	for range 3 {
		before, ok := s.endedChildren()
		if !ok {
			return s.last
		}
		u := s.readAll()
		u.CPUSeconds += before
		s.last = u
		if after, ok := s.endedChildren(); !ok || after == before {
			break
		}
	}
	return s.last
}

// readAll adds up the processes that run.
func (s *Sampler) readAll() Usage {
	var u Usage
	u.HasIO = s.addIO(s.io, &u)
	for _, p := range s.procs {
		p.seen = false
	}
	for _, pid := range s.pids() {
		s.addProcess(pid, &u)
	}
	for pid, p := range s.procs {
		if !p.seen {
			s.forget(pid, p)
		}
	}
	u.Switches += s.gone
	u.Processes = len(s.procs)
	return u
}

// Close releases the files.
func (s *Sampler) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid, p := range s.procs {
		s.forget(pid, p)
	}
	for _, f := range []*os.File{s.stat, s.io, s.children} {
		if f != nil {
			f.Close()
		}
	}
	s.stat, s.io, s.children = nil, nil, nil
}

// endedChildren returns the CPU seconds of the children that the postmaster has waited for.
func (s *Sampler) endedChildren() (float64, bool) {
	fields, ok := statFields(s.read(s.stat))
	if !ok {
		return 0, false
	}
	return float64(fields.number(13)+fields.number(14)) * clockTick, true // cutime, cstime
}

// PIDs are the server's processes that run now.
func (s *Sampler) PIDs() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pids()
}

// pids lists the postmaster and its children. The children file needs a kernel option that nearly all have; without it
// /proc is searched.
func (s *Sampler) pids() []int {
	out := []int{s.postmaster}
	text := s.read(s.children)
	if text == nil {
		return append(out, childrenByParent(s.postmaster)...)
	}
	for _, field := range bytes.Fields(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

func (s *Sampler) addProcess(pid int, u *Usage) {
	p := s.procs[pid]
	if p == nil {
		f, err := os.Open(procPath(pid, "schedstat"))
		if err != nil {
			return
		}
		p = &process{schedstat: f}
		if pid != s.postmaster {
			p.io, _ = os.Open(procPath(pid, "io"))
		}
		s.procs[pid] = p
	}
	fields := bytes.Fields(s.read(p.schedstat))
	if len(fields) < 3 {
		return // it has just ended
	}
	p.seen = true
	u.CPUSeconds += float64(number(fields[0])) / 1e9
	p.switches = number(fields[2])
	u.Switches += p.switches
	if pid != s.postmaster {
		u.HasIO = s.addIO(p.io, u) && u.HasIO
	}
}

// forget keeps the switches of a process that has ended. Its pid may come back as another process.
func (s *Sampler) forget(pid int, p *process) {
	s.gone += p.switches
	p.schedstat.Close()
	if p.io != nil {
		p.io.Close()
	}
	delete(s.procs, pid)
}

func (s *Sampler) addIO(f *os.File, u *Usage) bool {
	text := s.read(f)
	if text == nil {
		return false
	}
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch string(name) {
		case "read_bytes":
			u.ReadBytes += number(bytes.TrimSpace(value))
		case "write_bytes":
			u.WriteBytes += number(bytes.TrimSpace(value))
		}
	}
	return true
}

// read returns what a file of /proc holds now; nil when it cannot be read. The result is valid until the next read.
func (s *Sampler) read(f *os.File) []byte {
	if f == nil {
		return nil
	}
	for {
		n, err := f.ReadAt(s.buf, 0)
		switch {
		case n == len(s.buf): // more than 2,000 children
			s.buf = make([]byte, 2*len(s.buf))
		case n == 0 && !errors.Is(err, io.EOF):
			return nil
		default:
			return s.buf[:n]
		}
	}
}

func number(text []byte) int64 {
	n, _ := strconv.ParseInt(string(text), 10, 64)
	return n
}
