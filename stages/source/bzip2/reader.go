// Package bzip2 decompresses bzip2 streams on several processors.
//
// The standard library's decoder takes ten seconds of CPU time for a PostgreSQL source archive (23 MB, 156 MB unpacked) and
// the bzip2 program seven, both on one processor. This one takes half of the program's and spreads it: one goroutine
// reads the Huffman codes, which have to be read in order (bits.go, huffman.go, entropy in block.go); the rest of the work,
// undoing the sorting of each block, is independent and done by others (block.expand). Blocks come out in order.
//
// Rejected: looking for the magic numbers of blocks to read the codes in parallel too, as lbzip2 does. They can turn up
// inside a block by chance or by intent, and the codes are a quarter of the work.
//
// Read reader.go first.
package bzip2

import (
	"errors"
	"fmt"
	"io"
	mathbits "math/bits"
	"runtime"
	"sync"
)

// ErrFormat is in the chain of every error about the data itself.
var ErrFormat = errors.New("bzip2: damaged data")

func errData(what string) error { return fmt.Errorf("%w: %s", ErrFormat, what) }

// maxWorkers bounds memory: a block may become 46 MB when it is all runs.
const maxWorkers = 4

const (
	blockMagic = 0x314159265359
	endMagic   = 0x177245385090
)

// Reader decompresses. It must be closed.
type Reader struct {
	in      *bits
	workers int
	start   sync.Once
	order   chan *block // in the order of the text; the last one has err set
	work    chan *block
	quit    chan struct{}
	stopped sync.Once
	running sync.WaitGroup
	free    sync.Pool
	current *block
	rest    []byte
	err     error
}

// NewReader returns a reader of the decompressed content of r. Several streams one after the other are one.
func NewReader(r io.Reader) *Reader {
	workers := min(runtime.GOMAXPROCS(0), maxWorkers)
	z := &Reader{in: newBits(r), workers: workers, order: make(chan *block, workers), work: make(chan *block, workers), quit: make(chan struct{})}
	z.free.New = func() any { return new(block) }
	return z
}

// Read implements io.Reader. Nothing of a block is returned before its checksum has been compared.
func (z *Reader) Read(p []byte) (int, error) {
	z.start.Do(z.run)
	for len(z.rest) == 0 {
		if z.err == nil {
			z.err = z.next()
		}
		if z.err != nil {
			return 0, z.err
		}
	}
	n := copy(p, z.rest)
	z.rest = z.rest[n:]
	return n, nil
}

// next waits for the next block.
func (z *Reader) next() error {
	if z.current != nil {
		z.free.Put(z.current)
		z.current = nil
	}
	b, ok := <-z.order
	if !ok {
		return io.ErrClosedPipe
	}
	if b.done != nil {
		<-b.done
	}
	if b.err != nil {
		return b.err
	}
	z.current, z.rest = b, b.out
	return nil
}

// Close stops what is still going on. The reader below is not used any more when it returns.
func (z *Reader) Close() error {
	z.stopped.Do(func() { close(z.quit) })
	z.running.Wait()
	return nil
}

func (z *Reader) run() {
	z.running.Add(1 + z.workers)
	for range z.workers {
		go func() {
			defer z.running.Done()
			for b := range z.work {
				b.expand()
				close(b.done)
			}
		}()
	}
	go func() {
		defer z.running.Done()
		defer close(z.work)
		err := z.streams()
		select {
		case z.order <- &block{err: err}:
		case <-z.quit:
		}
		close(z.order)
	}()
}

// streams reads one stream after the other and returns io.EOF at a clean end.
func (z *Reader) streams() error {
	e := &entropy{in: z.in}
	for first := true; ; first = false {
		if !z.in.align() {
			if first || z.in.err != nil {
				return ended(z.in.err)
			}
			return io.EOF
		}
		if err := z.stream(e); err != nil {
			return err
		}
	}
}

func ended(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (z *Reader) stream(e *entropy) error {
	if magic := z.in.take(24); magic != 'B'<<16|'Z'<<8|'h' {
		return z.or(errData("no bzip2 stream begins here"))
	}
	level := int(z.in.take(8)) - '0'
	if level < 1 || level > 9 {
		return z.or(errData("the block size"))
	}
	var combined uint32
	for {
		magic := uint64(z.in.take(24))<<24 | uint64(z.in.take(24))
		if z.in.err != nil {
			return z.in.err
		}
		switch magic {
		case blockMagic:
			b, err := z.block(e, level*100_000)
			if err != nil {
				return err
			}
			combined = mathbits.RotateLeft32(combined, 1) ^ b
		case endMagic:
			if crc := z.in.take(32); z.in.err == nil && crc != combined {
				return errData("the stream's checksum does not fit")
			}
			return z.in.err
		default:
			return errData("no block begins here")
		}
	}
}

// or prefers the error of the input: what follows from a missing end is not the cause.
func (z *Reader) or(err error) error {
	if z.in.err != nil {
		return z.in.err
	}
	return err
}

// block reads one block, hands it on, and returns its checksum.
func (z *Reader) block(e *entropy, size int) (crc uint32, err error) {
	b := z.free.Get().(*block)
	b.err, b.done = nil, make(chan struct{})
	if err := e.read(b, size); err != nil {
		return 0, z.or(err)
	}
	crc = b.crc
	for _, ch := range []chan *block{z.order, z.work} {
		select {
		case ch <- b:
		case <-z.quit:
			return 0, io.ErrClosedPipe
		}
	}
	return crc, nil
}
