package bzip2

const (
	maxCode   = 20 // longest code of the format
	tableBits = 10 // codes up to this length are decoded by one look-up; longer ones are rare
)

// A code decodes the symbols of one Huffman table.
type code struct {
	table [1 << tableBits]uint16 // symbol<<5 | length; 0 for longer codes
	// first and index are, by length, the first code and its place in symbols; count is how many there are.
	first, index, count [maxCode + 1]uint32
	symbols             [258]uint16 // in the order of their codes
}

// set makes the canonical code with the given lengths, all of which are 1 to maxCode.
func (c *code) set(lengths []uint8) error {
	c.count = [maxCode + 1]uint32{}
	for _, l := range lengths {
		c.count[l]++
	}
	var next, at uint32
	for l := 1; l <= maxCode; l++ {
		next <<= 1
		c.first[l], c.index[l] = next, at
		next += c.count[l]
		at += c.count[l]
		if next > 1<<l {
			return errData("a Huffman table has too many codes")
		}
	}
	place := c.index
	for s, l := range lengths {
		c.symbols[place[l]] = uint16(s)
		place[l]++
	}
	clear(c.table[:])
	for l := uint32(1); l <= tableBits; l++ {
		for i := range c.count[l] {
			entry := c.symbols[c.index[l]+i]<<5 | uint16(l)
			from := (c.first[l] + i) << (tableBits - l)
			for k := range uint32(1) << (tableBits - l) {
				c.table[from+k] = entry
			}
		}
	}
	return nil
}

// long decodes a code that is longer than tableBits; the length is 0 when there is no such code.
func (c *code) long(acc uint64) (symbol, length uint16) {
	for l := tableBits + 1; l <= maxCode; l++ {
		if i := uint32(acc>>(64-l)) - c.first[l]; i < c.count[l] {
			return c.symbols[c.index[l]+i], uint16(l)
		}
	}
	return 0, 0
}
