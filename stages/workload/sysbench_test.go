package workload

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"regexp"
	"testing"
	"testing/iotest"

	"pgpipeline/stages/driver"
)

// rows reads the rows of a range without header and trailer.
func rows(t *testing.T, seed uint64, table int, first, last int64) []byte {
	t.Helper()
	b, err := io.ReadAll(newRowStream(seed, table, 1000, first, last))
	if err != nil {
		t.Fatal(err)
	}
	b, header := bytes.CutPrefix(b, []byte(copyHeader))
	b, trailer := bytes.CutSuffix(b, []byte{0xff, 0xff})
	if !header || !trailer || len(b) != int(last-first+1)*rowSize {
		t.Fatalf("%d bytes for rows %d to %d", len(b), first, last)
	}
	return b
}

func TestRowsDependOnNothingButSeedTableAndID(t *testing.T) {
	whole := rows(t, 42, 0, 1, 1000)
	parts := append(append(rows(t, 42, 0, 1, 333), rows(t, 42, 0, 334, 334)...), rows(t, 42, 0, 335, 1000)...)
	if !bytes.Equal(whole, parts) {
		t.Error("rows depend on how the table is split")
	}
	if bytes.Equal(whole, rows(t, 43, 0, 1, 1000)) || bytes.Equal(whole, rows(t, 42, 1, 1, 1000)) {
		t.Error("another seed or table gives the same rows")
	}
	// Published loads must come out the same with every version of this program.
	if sum := fmt.Sprintf("%x", sha256.Sum256(whole)); sum != "6fc4cca67afb82cf4b5a49cdfddb17dd510ab98968f7b5aaf6fc6763b120b43f" {
		t.Errorf("rows have the hash %s", sum)
	}
	if err := iotest.TestReader(newRowStream(42, 0, 1000, 1, 50), append(append([]byte(copyHeader), whole[:50*rowSize]...), 0xff, 0xff)); err != nil {
		t.Error(err)
	}
}

func TestGroupsOfDigits(t *testing.T) {
	r := driver.NewRand(1)
	c, pad := make([]byte, cSize), make([]byte, padSize)
	fillGroups(&r, c)
	fillGroups(&r, pad)
	if !regexp.MustCompile(`^(\d{11}-){9}\d{11}$`).Match(c) || !regexp.MustCompile(`^(\d{11}-){4}\d{11}$`).Match(pad) {
		t.Errorf("%s, %s", c, pad)
	}
}

// The frequencies must be those of the definition, i^-s over its sum.
func TestZipf(t *testing.T) {
	for _, n := range []int64{1, 2, 10, 1000} {
		z, r := driver.NewZipf(n, zipfExponent), driver.NewRand(5)
		const draws = 200_000
		counts := make([]float64, n+1)
		for range draws {
			counts[z.Draw(&r)]++
		}
		norm := 0.0
		for i := int64(1); i <= n; i++ {
			norm += math.Pow(float64(i), -zipfExponent)
		}
		chi := 0.0
		for i := int64(1); i <= n; i++ {
			want := draws * math.Pow(float64(i), -zipfExponent) / norm
			chi += (counts[i] - want) * (counts[i] - want) / want
		}
		// Mean n-1, variance 2(n-1): five deviations above; the seed is fixed.
		if limit := float64(n-1) + 5*math.Sqrt(2*float64(n-1)) + 1; chi > limit {
			t.Errorf("n=%d: chi square %.1f, at most %.1f", n, chi, limit)
		}
	}
}

func TestZipfReachesBothEndsOfALargeRange(t *testing.T) {
	const n = 2_000_000_000
	z, r := driver.NewZipf(n, zipfExponent), driver.NewRand(5)
	low, high := int64(n), int64(0)
	for range 200_000 {
		v := z.Draw(&r)
		if v < 1 || v > n {
			t.Fatalf("%d", v)
		}
		low, high = min(low, v), max(high, v)
	}
	if low > 100 || high < n/10*9 {
		t.Errorf("drawn from %d to %d", low, high)
	}
}

func BenchmarkRowStream(b *testing.B) {
	b.SetBytes(rowSize)
	s, row := newRowStream(1, 0, math.MaxInt32, 1, math.MaxInt64), make([]byte, rowSize)
	for b.Loop() {
		if _, err := io.ReadFull(s, row); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkZipf(b *testing.B) {
	z, r := driver.NewZipf(1_000_000, zipfExponent), driver.NewRand(1)
	for b.Loop() {
		z.Draw(&r)
	}
}
