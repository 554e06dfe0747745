package driver

import (
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A thread that waits on a socket without a timeout comes back when its alarm goes off, again and again; the runtime's own signals, of
// which there are many, do not interrupt it.
func TestAlarmInterruptsARead(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	done := make(chan []syscall.Errno)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		var got []syscall.Errno
		defer func() { done <- got }()
		bell, err := newAlarm()
		if err != nil {
			t.Error(err)
			return
		}
		bell.start()
		defer bell.end()
		begin := now()
		for range 3 {
			_, errno := recvPinned(pair[0], make([]byte, 10))
			got = append(got, errno)
		}
		if took := now() - begin; took < 2*int64(pollTime) {
			t.Errorf("three alarms in %d ns: something else interrupts", took)
		}
	}()
	for _, errno := range <-done {
		if errno != syscall.EINTR {
			t.Errorf("the read ended with %v", errno)
		}
	}
}
