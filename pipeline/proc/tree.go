package proc

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// known are the children that somebody waits for; all other children of other sessions are orphans.
var known = struct {
	sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

func forget(pid int) {
	known.Lock()
	defer known.Unlock()
	delete(known.pids, pid)
}

// entry is one process as /proc shows it.
type entry struct {
	pid, parent, session int
	state                byte
	start                uint64 // clock ticks since boot: with pid, the identity of a process
}

func (e entry) alive() bool { return e.state != 'Z' && e.state != 'X' }

// processes lists all processes of the machine. Those that end meanwhile are left out.
func processes() []entry {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	out := make([]entry, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if e, ok := readEntry(pid); ok {
			out = append(out, e)
		}
	}
	return out
}

// readEntry parses /proc/PID/stat; the command name in it may hold blanks and parentheses.
func readEntry(pid int) (entry, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return entry{}, false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return entry{}, false
	}
	number := func(i int) uint64 {
		n, _ := strconv.ParseUint(string(fields[i]), 10, 64)
		return n
	}
	return entry{
		pid: pid, state: fields[0][0], parent: int(number(1)), session: int(number(3)), start: number(19),
	}, true
}

// StartTime returns when a process started, in clock ticks since boot, and whether it runs. Together with the pid it
// identifies a process: pids are used again.
func StartTime(pid int) (ticks uint64, running bool) {
	e, ok := readEntry(pid)
	return e.start, ok && e.alive()
}

// Descendants returns the pids of all running children of pid, theirs, and so on.
func Descendants(pid int) []int {
	var out []int
	for _, e := range below(pid) {
		out = append(out, e.pid)
	}
	return out
}

// below lists the running processes below root.
func below(root int) []entry {
	all := processes()
	in := map[int]bool{root: true}
	var out []entry
	for grown := true; grown; { // /proc is in order of pid, which is not that of descent
		grown = false
		for _, e := range all {
			if in[e.parent] && !in[e.pid] {
				in[e.pid], grown = true, true
				if e.alive() {
					out = append(out, e)
				}
			}
		}
	}
	return out
}

// same says whether the process still runs.
func (e entry) same() bool {
	now, ok := readEntry(e.pid)
	return ok && now.start == e.start && now.alive()
}

// kill sends SIGKILL when the pid still belongs to the same process.
func (e entry) kill() {
	if e.same() {
		_ = syscall.Kill(e.pid, syscall.SIGKILL)
	}
}

// sweep kills what a dead session leader left behind: its session, and those processes seen below it earlier that have
// since made a session of their own (PostgreSQL's backends do). It waits until they are gone, for a bounded time: a
// process in uninterruptible sleep may take longer to die than anybody wants to wait.
func sweep(session int, seen []entry) {
	for deadline := time.Now().Add(5 * time.Second); ; {
		all, left := processes(), 0
		for _, e := range all {
			if e.session == session && e.pid != session && e.alive() {
				e.kill()
				left++
			}
		}
		for _, e := range seen {
			if e.same() {
				e.kill()
				left++
			}
		}
		reap(all)
		if left == 0 || time.Now().After(deadline) {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// reap collects dead processes that became our children. Children that other code started through os/exec share our
// session and are left to it; all that this package starts, and all below it, do not.
func reap(all []entry) {
	for _, e := range orphansIn(all) {
		if !e.alive() {
			_, _ = unix.Wait4(e.pid, nil, unix.WNOHANG, nil)
		}
	}
}

// orphansIn picks our children, dead or alive, that nobody waits for. A child that was started after the list was made is
// not in it, and one that was started before is known by now.
func orphansIn(all []entry) []entry {
	known.Lock()
	defer known.Unlock()
	self := os.Getpid()
	own, _ := readEntry(self)
	var out []entry
	for _, e := range all {
		if e.parent == self && e.session != own.session && !known.pids[e.pid] {
			out = append(out, e)
		}
	}
	return out
}

// KillOrphans kills and reaps everything that earlier children left running, such as a daemon that made a session of its
// own, and returns how many there were. The tool calls it last, when no child is wanted any more.
func KillOrphans() int {
	killed := 0
	for round := 0; round < 1000; round++ {
		all, left := processes(), 0
		for _, e := range orphansIn(all) {
			if e.alive() {
				e.kill()
				left++
			}
		}
		reap(all)
		if left == 0 {
			break
		}
		killed = max(killed, left)
		time.Sleep(2 * time.Millisecond)
	}
	return killed
}
