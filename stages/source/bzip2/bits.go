package bzip2

import (
	"encoding/binary"
	"io"
)

// bits reads a stream bit by bit, the most significant one first.
type bits struct {
	from     io.Reader
	buf      []byte
	pos, end int
	acc      uint64 // the next bits, left-aligned; those behind the first n are a preview of buf[pos:]
	n        uint
	eof      bool
	err      error // a read error, or io.ErrUnexpectedEOF when more was taken than there is
}

func newBits(r io.Reader) *bits { return &bits{from: r, buf: make([]byte, 1<<16)} }

// fill makes at least 56 bits available, or all that are left.
func (b *bits) fill() {
	if b.end-b.pos >= 8 {
		b.acc |= binary.BigEndian.Uint64(b.buf[b.pos:]) >> b.n
		b.pos += int((63 - b.n) >> 3)
		b.n |= 56
		return
	}
	b.fillSlowly()
}

func (b *bits) fillSlowly() {
	for b.n <= 56 {
		if b.pos == b.end && !b.more() {
			return
		}
		b.acc |= uint64(b.buf[b.pos]) << (56 - b.n)
		b.pos++
		b.n += 8
	}
}

func (b *bits) more() bool {
	for !b.eof && b.err == nil {
		n, err := b.from.Read(b.buf)
		b.pos, b.end = 0, n
		if err == io.EOF {
			b.eof = true
		} else if err != nil {
			b.err = err
		}
		if n > 0 {
			return true
		}
	}
	return false
}

// take returns the next k bits, k <= 32.
func (b *bits) take(k uint) uint32 {
	if b.n < k {
		b.fill()
	}
	v := uint32(b.acc >> (64 - k))
	b.skip(k)
	return v
}

func (b *bits) skip(k uint) {
	if b.n < k {
		if b.err == nil {
			b.err = io.ErrUnexpectedEOF
		}
		b.n, b.acc = 0, 0
		return
	}
	b.acc <<= k
	b.n -= k
}

func (b *bits) flag() bool { return b.take(1) == 1 }

// align drops the bits up to the next byte and reports whether there is one.
func (b *bits) align() bool {
	b.skip(b.n % 8)
	if b.n == 0 {
		b.fill()
	}
	return b.n > 0
}
