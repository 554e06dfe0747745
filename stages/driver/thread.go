package driver

import (
	"fmt"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var loaded = time.Now()

// now is the monotonic clock in nanoseconds since the package was loaded. It costs about half of time.Now.
func now() int64 { return int64(time.Since(loaded)) }

// The system calls of the hot path are raw: the Go scheduler does not know that the thread may block in them. Told of each call, its
// monitor took the processor away from a waiting client and got it back, thousands of times a second, and woke up every 20 us to do
// so; on a core that client and server share that cost more than the queries. The price: each client thread keeps a processor of
// the runtime (see procs), and a stop of the world waits until every client is back from its call. pollTime bounds that, by an alarm for
// each thread, and the collector rests while something is measured (see holdGC).
const pollTime = 100 * time.Millisecond

// setTimeouts makes blocking calls on the socket return EAGAIN after pollTime, where there is no alarm.
func setTimeouts(fd int) error {
	tv := unix.NsecToTimeval(int64(pollTime))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return err
	}
	return unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv)
}

// send writes all of b to a blocking socket.
func send(fd int, b []byte) error {
	for len(b) > 0 {
		n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
			unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			b = b[n:]
		case syscall.EINTR, syscall.EAGAIN:
			runtime.Gosched()
		default:
			return errno
		}
	}
	return nil
}

// recv waits for some bytes from a blocking socket. It returns 0 without an error when the other side has closed the connection.
func recv(fd int, b []byte) (int, error) {
	for {
		n, errno := recvPinned(fd, b)
		switch errno {
		case 0:
			return n, nil
		case syscall.EINTR, syscall.EAGAIN:
			runtime.Gosched()
		default:
			return 0, errno
		}
	}
}

// recvPinned receives while the goroutine cannot be preempted. The runtime's monitor takes every thread that has run for 10 ms for a busy
// loop and asks it to make room; a client, which has waited nearly all of that time, would go through the scheduler a hundred times a
// second, by way of other threads that have to be woken. A request that comes during the call is dropped at the next function call, while
// the pin still holds. Nothing here blocks in the Go sense, which a pinned goroutine must not do.
func recvPinned(fd int, b []byte) (int, syscall.Errno) {
	procPin()
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
	dropRequest()
	procUnpin()
	return int(n), errno
}

// dropRequest is a function call: its prologue is where the runtime looks for a request to make room.
//
//go:noinline
func dropRequest() { requestsDropped() }

//go:noinline
func requestsDropped() {}

// The runtime keeps these two for packages outside of it (go.dev/issue/67401).

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

// sleepUntil sleeps until the clock of now reaches t, at most pollTime, so that the caller notices when it is told to stop. It
// is the thread's own sleep: a timer of the runtime would need another thread to wake this one.
func sleepUntil(t int64) {
	left := min(t-now(), int64(pollTime))
	if left <= 0 {
		return
	}
	ts := unix.NsecToTimespec(left)
	// Ended early by a signal: the caller looks at the clock again.
	syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// setUpThread gives the calling thread its CPUs and the finest timer slack. The thread must be locked to its goroutine and must not
// be given back.
func setUpThread(cpus []int) error {
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1000, 0, 0, 0) // only makes sleeps coarser when it fails
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("bind client to CPUs %v: %w", cpus, err)
	}
	return nil
}

// threadCPU is the CPU time of the calling thread in seconds, user and system.
func threadCPU() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
