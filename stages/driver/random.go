package driver

import "math/bits"

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

// Digits fills dst with random decimal digits.
func (r *Rand) Digits(dst []byte) {
	for len(dst) > 0 {
		// 16 digits are taken from one draw, two at a time: 100 divides the range of 32 bits with a bias below 1e-7.
		x := r.Uint64()
		for i := 0; i < 2 && len(dst) > 0; i++ {
			f := x >> (32 * i) & 0xffffffff
			for j := 0; j < 4 && len(dst) > 0; j++ {
				f *= 100
				pair := f >> 32
				f &= 0xffffffff
				dst = putPair(dst, pair)
			}
		}
	}
}

func putPair(dst []byte, pair uint64) []byte {
	dst[0] = '0' + byte(pair/10)
	if len(dst) == 1 {
		return dst[1:]
	}
	dst[1] = '0' + byte(pair%10)
	return dst[2:]
}
