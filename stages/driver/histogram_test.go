package driver

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// same compares every bucket.
func same(t *testing.T, got, want *hdrhistogram.Histogram) {
	t.Helper()
	if !got.Equals(want) || got.TotalCount() != want.TotalCount() {
		t.Errorf("%d values converted, %d recorded directly, or other buckets", got.TotalCount(), want.TotalCount())
	}
}

// check records values in ours, spread over some clients, and in an HdrHistogram.
func check(t *testing.T, values []int64) {
	t.Helper()
	parts := []*histogram{newHistogram(), newHistogram(), newHistogram()}
	want := hdrhistogram.New(1, histogramMax, histogramDigits)
	for i, v := range values {
		parts[i%len(parts)].record(v)
		if err := want.RecordValue(min(max(v, 0), histogramMax)); err != nil {
			t.Fatal(err)
		}
	}
	got := mergeHistograms(parts)
	if len(values) == 0 {
		if got != nil {
			t.Error("nothing recorded, and a histogram")
		}
		return
	}
	same(t, got, want)
	for _, h := range parts {
		h.reset()
	}
	if mergeHistograms(parts) != nil {
		t.Error("reset left something")
	}
}

func TestHistogramConvertsExactly(t *testing.T) {
	var values []int64
	for shift := range 63 {
		v := int64(1) << shift
		values = append(values, v-1, v, v+1, v+v/2, v+v/3)
	}
	values = append(values, 0, -5, math.MaxInt64, histogramMax, histogramMax+1)
	check(t, values)
	check(t, nil)
	check(t, []int64{2047, 2048, 2049})
}

// FuzzHistogram: whatever is recorded converts to what an HdrHistogram would have recorded itself.
func FuzzHistogram(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 3, 0x46, 0x30, 0xb8, 0xa0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var values []int64
		for ; len(data) >= 8; data = data[8:] {
			values = append(values, int64(binary.BigEndian.Uint64(data)))
		}
		check(t, values)
	})
}

func BenchmarkRecord(b *testing.B) {
	h := newHistogram()
	for i := 0; b.Loop(); i++ {
		h.record(int64(20_000 + i%5000))
	}
}
