package workload

import (
	"encoding/binary"
	"io"
	"math"
	"strconv"
	"time"

	"pgpipeline/stages/driver"
)

// Ranges of the columns' values.
const (
	registers = 1000
	customers = 100_000
	products  = 10_000
	prices    = 500
)

// rowsPerTick is how many rows of a client or table have the same timestamp, a whole second.
const rowsPerTick = 1000

var firstTime = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// saleTime is the timestamp of a row, counted from 0, of a step that begins on a day.
func saleTime(day int, row int64) time.Time {
	return firstTime.AddDate(0, 0, day).Add(time.Duration(row/rowsPerTick) * time.Second)
}

// sale is one row without its id and time.
type sale struct {
	register, customer, product int32
	cents                       int64 // price in hundredths
	data                        [20]byte
	size                        int // of data
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// draw fills the row. Data is 10 to 20 characters, three eighths of them random, behind a run of the letter a.
func (s *sale) draw(r *driver.Rand, schema string) {
	s.register, s.customer, s.product = int32(r.Below(registers)), int32(r.Below(customers)), int32(r.Below(products))
	s.cents = r.Below(prices)
	if schema == Schema2023 {
		s.cents += int64(s.customer)
	} else {
		s.cents *= 100
	}
	s.size = int(r.Between(10, 20))
	random := s.size * 3 / 8
	for i := range s.size - random {
		s.data[i] = 'a'
	}
	bits := r.Uint64()
	for i := s.size - random; i < s.size; i++ {
		s.data[i] = base64Digits[bits&63]
		bits >>= 6
	}
}

// appendText adds the row as the values of an INSERT. The price has two decimals whatever its column's type.
func (s *sale) appendText(to, stamp []byte) []byte {
	to = append(append(append(to, "('"...), stamp...), "',"...)
	to = append(strconv.AppendInt(to, int64(s.register), 10), ',')
	to = append(strconv.AppendInt(to, int64(s.customer), 10), ',')
	to = append(strconv.AppendInt(to, int64(s.product), 10), ',')
	to = append(strconv.AppendInt(to, s.cents/100, 10), '.', byte('0'+s.cents/10%10), byte('0'+s.cents%10))
	to = append(append(to, ",'"...), s.data[:s.size]...)
	return append(to, "')"...)
}

// saleStream is the rows of a table in COPY's binary format. Every row depends on seed, table and id alone.
type saleStream struct {
	seed, table uint64
	schema      string
	next, last  int64
	buffer      []byte // what was made and not read yet
	made        []byte // the memory behind buffer
	ended       bool
	progress    func(rows int64)
}

const saleColumns = "transactionid, dateandtime, cashregisterid, customerid, productid, price, data"

func newSaleStream(seed uint64, table int, schema string, rows int64) *saleStream {
	return &saleStream{seed: seed, table: uint64(table), schema: schema, next: 1, last: rows, buffer: []byte(copyHeader), progress: func(int64) {}}
}

func (s *saleStream) Read(p []byte) (int, error) {
	if len(s.buffer) == 0 {
		if s.ended {
			return 0, io.EOF
		}
		s.refill()
	}
	n := copy(p, s.buffer)
	s.buffer = s.buffer[n:]
	return n, nil
}

// refill makes some rows, or the trailer after the last one.
func (s *saleStream) refill() {
	const portion = 500
	first := s.next
	s.made = s.made[:0]
	for ; s.next <= s.last && s.next < first+portion; s.next++ {
		s.made = s.appendRow(s.made, s.next)
	}
	if s.next > s.last {
		s.ended = true
		s.made = append(s.made, 0xff, 0xff)
	}
	s.progress(s.next - first)
	s.buffer = s.made
}

// epoch2000 is where the server's timestamps count from.
var epoch2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (s *saleStream) appendRow(b []byte, id int64) []byte {
	r := driver.NewRand(s.seed, s.table, uint64(id))
	var row sale
	row.draw(&r, s.schema)
	price := uint32(row.cents / 100)
	if s.schema == Schema2023 {
		price = math.Float32bits(float32(row.cents) / 100)
	}
	order := binary.BigEndian
	b = order.AppendUint16(b, 7)
	b = order.AppendUint64(order.AppendUint32(b, 8), uint64(id))
	b = order.AppendUint64(order.AppendUint32(b, 8), uint64(saleTime(0, id-1).Sub(epoch2000).Microseconds()))
	for _, v := range [4]uint32{uint32(row.register), uint32(row.customer), uint32(row.product), price} {
		b = order.AppendUint32(order.AppendUint32(b, 4), v)
	}
	return append(order.AppendUint32(b, uint32(row.size)), row.data[:row.size]...)
}
