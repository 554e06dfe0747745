package driver

import (
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An alarm makes the blocking system calls of one thread return EINTR every pollTime. A timeout of the socket would do the same, but the
// kernel then starts and stops a timer in each call: 4 % of what a short query costs its client. This timer is one for the whole slice, and
// it does not run in between.
type alarm struct{ id int32 }

// alarmSignal is one that nobody else uses. The runtime has a handler for it, as for all signals, and does nothing in it when the
// program has not asked for them.
const alarmSignal = 50

// Of the kernel's interface; x/sys has none of it.
const (
	notifyThread = 4          // SIGEV_THREAD_ID
	restart      = 0x10000000 // SA_RESTART
	maskSize     = 8
)

type sigevent struct {
	value  uintptr
	signo  int32
	notify int32
	tid    int32
	_      [44]byte
}

type itimerspec struct{ interval, value unix.Timespec }

type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

// newAlarm returns an alarm of the calling thread, which must be locked to its goroutine; it does not run yet.
func newAlarm() (*alarm, error) {
	if err := interrupting(); err != nil {
		return nil, err
	}
	a := &alarm{}
	event := sigevent{signo: alarmSignal, notify: notifyThread, tid: int32(unix.Gettid())}
	_, _, errno := syscall.RawSyscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&a.id)))
	if errno != 0 {
		return nil, fmt.Errorf("create a timer: %w", errno)
	}
	return a, nil
}

// interrupting changes the handling of the signal, once: system calls are not to be restarted after it. The handler stays the runtime's.
var interrupting = sync.OnceValue(func() error {
	var action sigaction
	if _, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, alarmSignal, 0, uintptr(unsafe.Pointer(&action)), maskSize, 0, 0); errno != 0 {
		return fmt.Errorf("signal %d: %w", alarmSignal, errno)
	}
	if action.handler <= 1 { // the default would end the process
		return fmt.Errorf("signal %d has no handler", alarmSignal)
	}
	action.flags &^= restart
	if _, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, alarmSignal, uintptr(unsafe.Pointer(&action)), 0, maskSize, 0, 0); errno != 0 {
		return fmt.Errorf("signal %d: %w", alarmSignal, errno)
	}
	return nil
})

// start has the alarm go off every pollTime; stop ends that. Both do nothing without an alarm.
func (a *alarm) start() { a.set(unix.NsecToTimespec(int64(pollTime))) }

func (a *alarm) stop() { a.set(unix.Timespec{}) }

func (a *alarm) set(every unix.Timespec) {
	if a == nil {
		return
	}
	spec := itimerspec{every, every}
	syscall.RawSyscall6(unix.SYS_TIMER_SETTIME, uintptr(a.id), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}

// end gives the timer back.
func (a *alarm) end() {
	if a != nil {
		syscall.RawSyscall(unix.SYS_TIMER_DELETE, uintptr(a.id), 0, 0)
	}
}
