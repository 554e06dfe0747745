package driver

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

func TestRandIsReproducible(t *testing.T) {
	a, b := NewRand(1, 2, 3), NewRand(1, 2, 3)
	first := a.Uint64()
	if first != b.Uint64() {
		t.Error("the same seeds give different numbers")
	}
	for _, other := range [][]uint64{{1, 3, 2}, {1, 2}, {1, 2, 4}, {0, 1, 2, 3}} {
		if r := NewRand(other...); r.Uint64() == first {
			t.Errorf("seeds %v give the numbers of 1, 2, 3", other)
		}
	}
	// A change of the generator changes every data set: this value must stay.
	if r := NewRand(42, 1, 1); r.Uint64() != 0x105a035b5021bad5 {
		r := NewRand(42, 1, 1)
		t.Errorf("first number is %#x", r.Uint64())
	}
}

func TestRandIsUniform(t *testing.T) {
	r := NewRand(7)
	const n, draws = 10, 100_000
	var counts [n]float64
	for range draws {
		counts[r.Between(1, n)-1]++
	}
	chi := 0.0
	for _, c := range counts {
		chi += (c - draws/n) * (c - draws/n) / (draws / n)
	}
	if chi > 33.7 { // 9 degrees of freedom, p = 0.0001; the seed is fixed
		t.Errorf("chi square %.1f over %v", chi, counts)
	}
	sum := 0.0
	for range draws {
		f := r.Float()
		if f < 0 || f >= 1 {
			t.Fatalf("Float gives %v", f)
		}
		sum += f
	}
	if mean := sum / draws; math.Abs(mean-0.5) > 0.005 {
		t.Errorf("mean %v", mean)
	}
}

func TestDigitsAreDigits(t *testing.T) {
	r := NewRand(9)
	var counts [10]int
	for size := range 40 {
		b := make([]byte, size)
		for range 500 {
			r.Digits(b)
			for _, d := range b {
				if d < '0' || d > '9' {
					t.Fatalf("%q", b)
				}
				counts[d-'0']++
			}
		}
	}
	for d, c := range counts {
		if c < 38_000 || c > 40_000 {
			t.Errorf("digit %d came %d times of 390000", d, c)
		}
	}
}

// Every number below 10^8 in steps, and both ends.
func TestEightDigits(t *testing.T) {
	for v := uint64(0); v < 100_000_000; v += 9973 {
		bits := (v<<32 + 99_999_999) / 100_000_000 // the smallest that scales to v
		var got [8]byte
		binary.LittleEndian.PutUint64(got[:], eightDigits(bits))
		if want := fmt.Sprintf("%08d", v); string(got[:]) != want {
			t.Fatalf("%d: %s, want %s", v, got, want)
		}
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], eightDigits(1<<32-1))
	if string(last[:]) != "99999999" {
		t.Errorf("last is %s", last)
	}
}

func BenchmarkDigits(b *testing.B) {
	r, dst := NewRand(1), make([]byte, 119)
	for b.Loop() {
		r.Digits(dst)
	}
}
