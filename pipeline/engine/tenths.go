package engine

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"

	"pgpipeline/pipeline/stat"
)

// Tenths is how many events ended in each tenth of a second of the counted time, in order. In a record it is one string: the
// differences from one count to the next as signed varints, deflated, in base64; an hour of a busy step takes some 50 kB, where a list of
// numbers would take five times that.
type Tenths []uint32

// maxTenths bounds what a damaged record may unpack to: a week.
const maxTenths = 7 * 24 * 3600 * 10

// MarshalText implements encoding.TextMarshaler.
func (t Tenths) MarshalText() ([]byte, error) {
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	var one []byte
	last := int64(0)
	for _, n := range t {
		one = binary.AppendVarint(one[:0], int64(n)-last)
		last = int64(n)
		if _, err := w.Write(one); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return base64.StdEncoding.AppendEncode(nil, packed.Bytes()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Tenths) UnmarshalText(text []byte) error {
	packed, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("counts per tenth of a second: %w", err)
	}
	const limit = maxTenths * binary.MaxVarintLen64
	data, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), limit+1))
	if err != nil {
		return fmt.Errorf("counts per tenth of a second: %w", err)
	}
	*t = (*t)[:0]
	last := int64(0)
	for len(data) > 0 {
		step, size := binary.Varint(data)
		last += step
		if size <= 0 || last < 0 || last > 1<<32-1 || len(*t) == maxTenths {
			return fmt.Errorf("counts per tenth of a second: damaged after %d", len(*t))
		}
		*t = append(*t, uint32(last))
		data = data[size:]
	}
	return nil
}

// Stalls finds the stretches of a step in which an operation was done at less than a share of its typical rate. The operation "" is all of
// them together. ok is false when there is nothing to find them in, or too few events to tell. Where a load generator or an imported result
// tells no more than the rate of each second, whole seconds are found.
func (m *Measurement) Stalls(operation string, below float64) (found []stat.Stall, ok bool) {
	if len(m.Tenths) == 0 {
		return stat.Stalls(m.PerSecond(operation), 1, below, 0)
	}
	var counts []float64
	for name, list := range m.Tenths {
		if name != operation && operation != "" {
			continue
		}
		if more := len(list) - len(counts); more > 0 {
			counts = append(counts, make([]float64, more)...)
		}
		for i, n := range list {
			counts[i] += float64(n)
		}
	}
	least := float64(stat.RandomEvents)
	if m.Ops[operation].Response != "" && len(m.Outputs) == 0 { // our own schedule spaces events evenly; others draw the distances
		least = stat.PacedEvents
	}
	return stat.Stalls(counts, 0.1, below, least)
}

// PerSecond is the rate of an operation in each second of the series; of all together for "".
func (m *Measurement) PerSecond(operation string) []float64 {
	var rates []float64
	for _, s := range m.Series {
		v := s.Ops.At(operation)
		if operation == "" {
			v = s.Ops.Sum()
		}
		rates = append(rates, v)
	}
	return rates
}
