package bzip2

// A block is one unit of compression: up to 900 kB before run-length expansion.
type block struct {
	// tt holds the last column of the sorted rotations in its low bytes and, once untangled, the successors above them.
	tt     []uint32
	counts [256]uint32
	origin uint32 // the row that is the text
	crc    uint32
	lanes  [lanes]lane
	text   []byte // with the sorting undone
	out    []byte // with runs expanded
	err    error
	done   chan struct{}
}

const groupSize = 50 // symbols per selected Huffman table

// An entropy decoder reads the symbols of blocks. What it allocates is used again for the next block.
type entropy struct {
	in        *bits
	codes     [6]code
	selectors []uint8
	move      [256]byte // move-to-front list
	alphabet  int       // symbols in use: two run digits, values, end of block
}

// read fills b with the next block, behind its magic number. size is the most that the stream's header allows.
func (e *entropy) read(b *block, size int) error {
	b.crc = e.in.take(32)
	if e.in.flag() {
		return errData("randomised blocks, which no current program writes")
	}
	b.origin = e.in.take(24)
	if err := e.readTables(); err != nil {
		return err
	}
	if err := e.readSymbols(b, size); err != nil {
		return err
	}
	if e.in.err != nil {
		return e.in.err
	}
	if int(b.origin) >= len(b.tt) {
		return errData("the origin is outside the block")
	}
	return nil
}

func (e *entropy) readTables() error {
	used := e.in.take(16)
	n := 0
	for hi := range uint32(16) {
		if used>>(15-hi)&1 == 0 {
			continue
		}
		low := e.in.take(16)
		for lo := range uint32(16) {
			if low>>(15-lo)&1 == 1 {
				e.move[n] = byte(hi<<4 | lo)
				n++
			}
		}
	}
	if n == 0 {
		return errData("no symbols")
	}
	e.alphabet = n + 2
	tables, count := int(e.in.take(3)), int(e.in.take(15))
	if tables < 2 || tables > 6 || count == 0 {
		return errData("the number of Huffman tables")
	}
	if err := e.readSelectors(tables, count); err != nil {
		return err
	}
	for t := range tables {
		if err := e.readCode(&e.codes[t]); err != nil {
			return err
		}
	}
	return e.in.err
}

// readSelectors reads which table each group of symbols uses, a move-to-front list in unary numbers.
func (e *entropy) readSelectors(tables, count int) error {
	order := [6]uint8{0, 1, 2, 3, 4, 5}
	e.selectors = e.selectors[:0]
	for range count {
		i := 0
		for e.in.flag() {
			if i++; i >= tables {
				return errData("a selector")
			}
		}
		s := order[i]
		copy(order[1:i+1], order[:i])
		order[0] = s
		e.selectors = append(e.selectors, s)
	}
	return e.in.err
}

// readCode reads the lengths of one table, each as a difference to the one before.
func (e *entropy) readCode(c *code) error {
	var lengths [258]uint8
	length := int(e.in.take(5))
	for i := range e.alphabet {
		for {
			if length < 1 || length > maxCode {
				return errData("the length of a code")
			}
			if !e.in.flag() {
				break
			}
			if e.in.flag() {
				length--
			} else {
				length++
			}
		}
		lengths[i] = uint8(length)
	}
	if e.in.err != nil {
		return e.in.err
	}
	return c.set(lengths[:e.alphabet])
}

// readSymbols undoes the Huffman coding, the run lengths of the first kind and the move-to-front coding.
func (e *entropy) readSymbols(b *block, size int) error {
	in, end := e.in, uint16(e.alphabet-1)
	if cap(b.tt) < size {
		b.tt = make([]uint32, size)
	}
	tt, n := b.tt[:size], 0
	b.counts = [256]uint32{}
	run, digit := 0, 1
	for _, s := range e.selectors {
		c := &e.codes[s]
		for range groupSize {
			in.fill()
			entry := c.table[in.acc>>(64-tableBits)]
			symbol, length := entry>>5, entry&31
			if length == 0 {
				if symbol, length = c.long(in.acc); length == 0 {
					return errData("an unknown code")
				}
			}
			if in.n < uint(length) {
				in.skip(uint(length)) // notes the end of the input
				return in.err
			}
			in.acc <<= length
			in.n -= uint(length)
			if symbol <= 1 { // a digit of a run length, base two without zero
				if run += digit << symbol; run > size {
					return errData("a run is longer than the block")
				}
				digit <<= 1
				continue
			}
			if run > 0 {
				if run > size-n {
					return errData("a run is longer than the block")
				}
				v := uint32(e.move[0])
				for i := range run {
					tt[n+i] = v
				}
				b.counts[v] += uint32(run)
				n += run
				run, digit = 0, 1
			}
			if symbol == end {
				b.tt = tt[:n]
				return nil
			}
			if n == size {
				return errData("more than the block may hold")
			}
			v := e.front(int(symbol) - 1)
			tt[n] = uint32(v)
			b.counts[v]++
			n++
		}
	}
	return errData("the selectors end before the block does")
}

// front moves the value at i to the front of the list and returns it.
func (e *entropy) front(i int) byte {
	v := e.move[i]
	if i < 16 {
		for k := i; k > 0; k-- {
			e.move[k] = e.move[k-1]
		}
	} else {
		copy(e.move[1:i+1], e.move[:i])
	}
	e.move[0] = v
	return v
}
