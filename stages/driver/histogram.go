package driver

import (
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// histogram counts nanoseconds in the very buckets of an HdrHistogram with three significant digits from 1 ns to an hour, so that it
// converts without loss. It exists because recording in it is a shift and an addition without checks, and because a client's
// memory is touched only where its latencies fall (the 130 kB of the counts are otherwise never read).
type histogram struct {
	counts    []uint32
	low, high int // range of indexes that are not zero; low > high: empty
	total     int64
	max       int64 // exact
	sum       int64 // ns, of the exact values
}

const (
	histogramMax    = int64(3600e9)
	histogramDigits = 3
	subBucketBits   = 11 // 2048 sub-buckets: the power of two above 2 * 10^3
	subBucketHalf   = 1 << (subBucketBits - 1)
	histogramSize   = 33 * subBucketHalf // 32 buckets reach an hour
)

func newHistogram() *histogram {
	return &histogram{counts: make([]uint32, histogramSize), low: histogramSize, high: -1}
}

// bucketIndex is the position of a value in an HdrHistogram's counts.
func bucketIndex(v int64) int {
	if v < 2*subBucketHalf {
		return int(v)
	}
	shift := bits.Len64(uint64(v)) - subBucketBits
	return shift<<(subBucketBits-1) + int(v>>shift)
}

// record adds one value; values beyond an hour count as an hour.
func (h *histogram) record(ns int64) {
	ns = min(max(ns, 0), histogramMax)
	i := bucketIndex(ns)
	h.counts[i]++
	h.low, h.high = min(h.low, i), max(h.high, i)
	h.total++
	h.sum += ns
	h.max = max(h.max, ns)
}

// reset empties the histogram, touching only what was used.
func (h *histogram) reset() {
	if h.low <= h.high {
		clear(h.counts[h.low : h.high+1])
	}
	h.low, h.high, h.total, h.max, h.sum = histogramSize, -1, 0, 0, 0
}

// mergeHistograms converts and adds up what the clients recorded. It returns nil when nothing was.
func mergeHistograms(parts []*histogram) *hdrhistogram.Histogram {
	counts := make([]int64, histogramSize)
	var total int64
	for _, h := range parts {
		for i := h.low; i <= h.high; i++ {
			counts[i] += int64(h.counts[i])
		}
		total += h.total
	}
	if total == 0 {
		return nil
	}
	return hdrhistogram.Import(&hdrhistogram.Snapshot{
		LowestTrackableValue:  1,
		HighestTrackableValue: histogramMax,
		SignificantFigures:    histogramDigits,
		Counts:                counts,
	})
}
