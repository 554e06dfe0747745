package driver

import (
	"fmt"
	"os"
)

// HoldLatency keeps the CPUs out of deep sleep until release is called: waking a halted CPU costs more than a short query. The
// kernel holds the request for as long as the device is open. It needs write access to the device, which is usually root's; the error
// says when it is not allowed.
func HoldLatency() (release func() error, err error) {
	f, err := os.OpenFile("/dev/cpu_dma_latency", os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("hold CPU latency: %w", err)
	}
	if _, err := f.Write([]byte{0, 0, 0, 0}); err != nil { // microseconds, 32 bits
		f.Close()
		return nil, fmt.Errorf("hold CPU latency: %w", err)
	}
	return f.Close, nil
}
