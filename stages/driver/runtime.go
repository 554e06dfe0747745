package driver

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// procs keeps enough of the runtime's processors for all client threads of all sessions: with fewer, a client that returns from a
// system call would have to wait for one that is in use.
type procs struct{ clients int }

var procsState struct {
	sync.Mutex
	base, clients int
}

func raiseProcs(clients int) *procs {
	st := &procsState
	st.Lock()
	defer st.Unlock()
	if st.clients == 0 {
		st.base = runtime.GOMAXPROCS(0)
	}
	st.clients += clients
	runtime.GOMAXPROCS(st.base + st.clients)
	return &procs{clients}
}

func (p *procs) restore() {
	st := &procsState
	st.Lock()
	defer st.Unlock()
	st.clients -= p.clients
	p.clients = 0
	runtime.GOMAXPROCS(st.base + st.clients)
}

// gcHeadroom is how much may be allocated during a slice before the collector runs after all.
const gcHeadroom = 1 << 30

// holdGC keeps the garbage collector from running while something is measured, unless the heap grows a lot. The clients allocate
// nothing; what the rest of the process allocates can wait.
func holdGC() (release func()) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	limit := debug.SetMemoryLimit(int64(m.Sys) + gcHeadroom)
	percent := debug.SetGCPercent(-1)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}
