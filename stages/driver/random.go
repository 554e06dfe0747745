package driver

import (
	"encoding/binary"
	"math/bits"
)

// Rand is a small fast generator (SplitMix64, Steele, Lea and Flood 2014). It is not safe for concurrent use: every client has its own.
// Its whole state is one word, so a generator for one row of a table costs nothing to make.
type Rand struct{ state uint64 }

// NewRand returns the generator that belongs to a list of numbers such as (seed, table, row). The same list gives the same
// generator on every machine.
func NewRand(seed ...uint64) Rand {
	state := uint64(0x6a09e667f3bcc908)
	for _, s := range seed {
		state = mix(state ^ mix(s+golden))
	}
	return Rand{state: state}
}

const golden = 0x9e3779b97f4a7c15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uint64 returns 64 random bits.
func (r *Rand) Uint64() uint64 {
	r.state += golden
	return mix(r.state)
}

// Below returns a uniform number in [0, n); n must be positive. The bias is below n/2^64.
func (r *Rand) Below(n int64) int64 {
	hi, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int64(hi)
}

// Between returns a uniform number in [low, high].
func (r *Rand) Between(low, high int64) int64 { return low + r.Below(high-low+1) }

// Float returns a uniform number in [0, 1).
func (r *Rand) Float() float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// Digits fills dst with random decimal digits, eight from each half of a draw (with a bias below 10^8/2^32 for each group of eight).
func (r *Rand) Digits(dst []byte) {
	for len(dst) >= 16 {
		x := r.Uint64()
		binary.LittleEndian.PutUint64(dst, eightDigits(x&0xffffffff))
		binary.LittleEndian.PutUint64(dst[8:], eightDigits(x>>32))
		dst = dst[16:]
	}
	if len(dst) > 0 {
		var last [16]byte
		x := r.Uint64()
		binary.LittleEndian.PutUint64(last[:], eightDigits(x&0xffffffff))
		binary.LittleEndian.PutUint64(last[8:], eightDigits(x>>32))
		copy(dst, last[:])
	}
}

// eightDigits turns 32 random bits into eight characters, the first in the lowest byte. It scales them to a number below 10^8 and
// splits that number in halves three times, in all lanes of a word at once.
func eightDigits(bits uint64) uint64 {
	v := bits * 100_000_000 >> 32
	quads := v/10_000 | v%10_000<<32 // two numbers below 10^4
	// 10486/2^20 is 1/100, exact for numbers below 10^4; 103/2^10 is 1/10, exact below 100.
	hundreds := quads * 10486 >> 20 & 0x7f_0000_007f
	pairs := hundreds | (quads-hundreds*100)<<16 // four numbers below 100
	tens := pairs * 103 >> 10 & 0x000f_000f_000f_000f
	return tens | (pairs-tens*10)<<8 | 0x3030_3030_3030_3030
}
