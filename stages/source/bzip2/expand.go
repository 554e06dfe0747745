package bzip2

import (
	"hash/crc32"
	mathbits "math/bits"
)

// expand undoes the sorting and the run lengths of the second kind, and compares the checksum. It needs nothing but the
// block, so blocks are expanded in parallel.
func (b *block) expand() {
	b.untangle()
	b.follow()
	b.runs()
	if got := checksum(b.out); got != b.crc {
		b.err = errData("a block's checksum does not fit")
	}
}

// untangle puts above every byte of the last column the row that follows it in the text.
func (b *block) untangle() {
	var place [256]uint32
	sum := uint32(0)
	for i, c := range b.counts {
		place[i] = sum
		sum += c
	}
	tt := b.tt
	for i := range tt {
		v := byte(tt[i])
		tt[place[v]] |= uint32(i) << 8
		place[v]++
	}
}

// Following the rows is one long chain of reads from memory that the processor cannot guess: three quarters of the time when
// it is done naively. But the rows form a circle, so it can be entered anywhere. The circle is cut at many rows, the pieces
// are followed in several lanes at once, so that their waits overlap, and then joined. On a PostgreSQL archive this halves
// the time.
const (
	lanes     = 4
	pieces    = 64
	cutFlag   = 1 << 31 // in tt: a piece begins at this row. Rows take 20 bits above the byte, which leaves it free.
	rowMask   = 1<<20 - 1
	fewPieces = 4 * pieces // blocks below this size are followed in one piece
)

// A lane follows one piece after the other and keeps their bytes.
type lane struct {
	whole []byte // kept for the next block
	buf   []byte // what is left of it
	used  int    // of buf, by the current piece
	piece int    // that it is following
}

// A piece is a stretch of the text.
type piece struct {
	start uint32 // row
	bytes []byte
	next  uint32 // the row that the following piece starts at
}

// follow fills b.text.
func (b *block) follow() {
	tt := b.tt
	list := make([]piece, 1, pieces)
	list[0].start = tt[b.origin] >> 8
	if len(tt) >= fewPieces {
		for i := 1; i < pieces; i++ {
			if row := uint32(i * len(tt) / pieces); row != list[0].start {
				list = append(list, piece{start: row})
			}
		}
	}
	for _, p := range list {
		tt[p.start] |= cutFlag
	}
	for i := range b.lanes {
		l := &b.lanes[i]
		if len(l.whole) < len(tt) {
			l.whole = make([]byte, len(tt))
		}
		l.buf, l.used = l.whole, 0
	}
	b.followPieces(list)
	b.join(list)
}

// followPieces keeps all lanes busy while there are pieces, and ends the last ones one by one.
func (b *block) followPieces(list []piece) {
	var entry [lanes]uint32
	next := 0
	give := func(i int) bool {
		if next == len(list) {
			return false
		}
		b.lanes[i].piece = next
		entry[i] = b.tt[list[next].start]
		next++
		return true
	}
	busy := [lanes]bool{}
	for i := range lanes {
		busy[i] = give(i)
	}
	for busy == [lanes]bool{true, true, true, true} {
		row := b.together(&entry)
		for i := range lanes {
			if entry[i]&cutFlag != 0 {
				b.lanes[i].end(&list[b.lanes[i].piece], row[i])
				busy[i] = give(i)
			} else {
				busy[i] = true
			}
		}
	}
	for i := range lanes {
		if busy[i] {
			b.alone(i, entry[i], &list[b.lanes[i].piece])
		}
	}
}

// together advances all lanes in step until one of them comes to the start of a piece.
func (b *block) together(entry *[lanes]uint32) (row [lanes]uint32) {
	tt := b.tt
	o0, o1 := b.lanes[0].buf[b.lanes[0].used:], b.lanes[1].buf[b.lanes[1].used:]
	o2, o3 := b.lanes[2].buf[b.lanes[2].used:], b.lanes[3].buf[b.lanes[3].used:]
	most := min(len(o0), len(o1), len(o2), len(o3))
	o0, o1, o2, o3 = o0[:most], o1[:most], o2[:most], o3[:most]
	e0, e1, e2, e3 := entry[0]&^cutFlag, entry[1]&^cutFlag, entry[2]&^cutFlag, entry[3]&^cutFlag
	var r0, r1, r2, r3 uint32
	n := 0
	for n < most {
		o0[n], o1[n], o2[n], o3[n] = byte(e0), byte(e1), byte(e2), byte(e3)
		r0, r1, r2, r3 = e0>>8&rowMask, e1>>8&rowMask, e2>>8&rowMask, e3>>8&rowMask
		e0, e1, e2, e3 = tt[r0], tt[r1], tt[r2], tt[r3]
		n++
		if (e0|e1|e2|e3)&cutFlag != 0 {
			break
		}
	}
	*entry = [lanes]uint32{e0, e1, e2, e3}
	for i := range b.lanes {
		b.lanes[i].used += n
	}
	return [lanes]uint32{r0, r1, r2, r3}
}

// alone follows one piece to its end.
func (b *block) alone(i int, entry uint32, p *piece) {
	l := &b.lanes[i]
	for entry &^= cutFlag; ; {
		l.buf[l.used] = byte(entry)
		l.used++
		row := entry >> 8 & rowMask
		if entry = b.tt[row]; entry&cutFlag != 0 {
			l.end(p, row)
			return
		}
	}
}

// end closes the piece that the lane was following: what it has written since the piece before.
func (l *lane) end(p *piece, next uint32) {
	p.next = next
	p.bytes = l.buf[:l.used:l.used]
	l.buf, l.used = l.buf[l.used:], 0
}

// join puts the pieces in order. The rows of a periodic text form several circles; the text then goes round that of its
// origin until the block is full.
func (b *block) join(list []piece) {
	byStart := make(map[uint32]*piece, len(list))
	for i := range list {
		byStart[list[i].start] = &list[i]
	}
	text := b.text[:0]
	if cap(text) < len(b.tt) {
		text = make([]byte, 0, len(b.tt))
	}
	for p := &list[0]; len(text) < len(b.tt); p = byStart[p.next] {
		text = append(text, p.bytes[:min(len(p.bytes), len(b.tt)-len(text))]...)
	}
	b.text = text
}

// runs expands what stands for repeated bytes: four equal ones and a count of further ones.
func (b *block) runs() {
	const most = 256 // one step writes at most that many bytes
	if need := len(b.text) + len(b.text)/4 + most; cap(b.out) < need {
		b.out = make([]byte, need)
	}
	out, w := b.out[:cap(b.out)], 0
	last, equal := byte(0), 0
	for _, v := range b.text {
		if w+most > len(out) {
			bigger := make([]byte, 2*len(out))
			copy(bigger, out[:w])
			out = bigger
		}
		if equal == 4 {
			for i := range int(v) {
				out[w+i] = last
			}
			w += int(v)
			equal = 0
			continue
		}
		out[w] = v
		w++
		if v != last {
			last, equal = v, 1
		} else {
			equal++
		}
	}
	b.out = out[:w]
}

// checksum is the format's CRC: that of IEEE with the bits of every byte the other way round, for which processors have
// instructions when the bytes are turned first.
func checksum(data []byte) uint32 {
	var turned [4096]byte
	var crc uint32
	for len(data) > 0 {
		n := min(len(data), len(turned))
		for i, v := range data[:n] {
			turned[i] = mathbits.Reverse8(v)
		}
		crc = crc32.Update(crc, crc32.IEEETable, turned[:n])
		data = data[n:]
	}
	return mathbits.Reverse32(crc)
}
