package driver

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// message builds one message of the server's side.
func message(kind byte, body string) string {
	b := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))
	return string(b) + body
}

// row is a DataRow with one column.
func row(value string) string {
	b := binary.BigEndian.AppendUint16(nil, 1)
	b = binary.BigEndian.AppendUint32(b, uint32(len(value)))
	return message('D', string(b)+value)
}

func pointResponse() string {
	return message('2', "") + row(strings.Repeat("x", 120)) + message('C', "SELECT 1\x00") + message('Z', "I")
}

func hotResponse() string {
	return message('2', "") + strings.Repeat(row(strings.Repeat("x", 120)), 100) + message('C', "SELECT 100\x00") + message('Z', "I")
}

func failure(code string) string {
	return message('2', "") + message('E', "SFEHLER\x00VERROR\x00C"+code+"\x00Mno luck\x00DKey (id)=(1).\x00\x00") + message('Z', "E")
}

// outcome is all that a response leaves in a parser.
type outcome struct {
	rows, affected int64
	status         byte
	failed         bool
	problem        ServerError
	done           bool
	broken         bool
}

// parse feeds the pieces of a response.
func parse(pieces ...string) (outcome, error) {
	var p parser
	var o outcome
	for _, piece := range pieces {
		done, err := p.feed([]byte(piece))
		if err != nil {
			return outcome{broken: true}, err
		}
		o.done = o.done || done
	}
	o.rows, o.affected, o.status, o.failed, o.problem = p.rows, p.affected, p.status, p.failed, p.problem
	return o, nil
}

func TestParserReadsResponses(t *testing.T) {
	tests := map[string]struct {
		response string
		want     outcome
	}{
		"point query": {pointResponse(), outcome{rows: 1, status: 'I', done: true}},
		"hot points":  {hotResponse(), outcome{rows: 100, status: 'I', done: true}},
		"update in transaction": {message('2', "") + message('C', "UPDATE 3\x00") + message('Z', "T"),
			outcome{affected: 3, status: 'T', done: true}},
		"insert":      {message('C', "INSERT 0 12\x00") + message('Z', "I"), outcome{affected: 12, status: 'I', done: true}},
		"delete none": {message('C', "DELETE 0\x00") + message('Z', "I"), outcome{status: 'I', done: true}},
		"begin":       {message('2', "") + message('C', "BEGIN\x00") + message('Z', "T"), outcome{status: 'T', done: true}},
		"empty query": {message('2', "") + message('I', "") + message('Z', "I"), outcome{status: 'I', done: true}},
		"notice and setting between": {message('N', "SNOTICE\x00\x00") + message('S', "TimeZone\x00UTC\x00") + pointResponse(),
			outcome{rows: 1, status: 'I', done: true}},
		"error": {failure("40P01"), outcome{status: 'E', failed: true, done: true,
			problem: ServerError{Severity: "ERROR", Code: "40P01", Message: "no luck", Detail: "Key (id)=(1)."}}},
		"cut off": {pointResponse()[:40], outcome{rows: 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parse(test.response)
			if err != nil || got != test.want {
				t.Errorf("whole: got %+v, %v; want %+v", got, err, test.want)
			}
			for i := range test.response {
				got, err := parse(test.response[:i], test.response[i:])
				if err != nil || got != test.want {
					t.Fatalf("cut at %d: got %+v, %v; want %+v", i, got, err, test.want)
				}
			}
			if got, err := parse(strings.Split(test.response, "")...); err != nil || got != test.want {
				t.Errorf("byte by byte: got %+v, %v; want %+v", got, err, test.want)
			}
		})
	}
}

func TestParserRefusesWhatIsNotTheProtocol(t *testing.T) {
	for name, response := range map[string]string{
		"length below four":      "D\x00\x00\x00\x03",
		"negative length":        "C\xff\xff\xff\xff",
		"huge command tag":       "C\x01\x00\x00\x00",
		"unknown message":        message('%', ""),
		"long ready for query":   message('Z', "II"),
		"authentication request": message('R', "\x00\x00\x00\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse(response); !errors.Is(err, errProtocol) {
				t.Errorf("whole: %v", err)
			}
			if _, err := parse(strings.Split(response, "")...); !errors.Is(err, errProtocol) {
				t.Errorf("byte by byte: %v", err)
			}
		})
	}
}

func TestParserDoesNotAllocate(t *testing.T) {
	response := []byte(hotResponse())
	p := parser{partial: make([]byte, 0, 64)}
	allocations := testing.AllocsPerRun(100, func() {
		p.reset()
		// Cut within a row and within its header.
		for _, piece := range [][]byte{response[:50], response[50:140], response[140:]} {
			if _, err := p.feed(piece); err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocations != 0 || p.rows != 100 {
		t.Errorf("%v allocations, %d rows", allocations, p.rows)
	}
}

// FuzzParser: no input makes it panic, and where the pieces are cut makes no difference.
func FuzzParser(f *testing.F) {
	for _, seed := range []string{pointResponse(), hotResponse(), failure("23505"), message('C', "COPY 18446744073709551615\x00"), "Z"} {
		f.Add([]byte(seed), uint16(7), uint16(30))
	}
	f.Fuzz(func(t *testing.T, response []byte, a, b uint16) {
		i, j := min(int(a), len(response)), min(int(a)+int(b), len(response))
		whole, _ := parse(string(response))
		cut, _ := parse(string(response[:i]), string(response[i:j]), string(response[j:]))
		if whole != cut {
			t.Errorf("whole %+v, cut at %d and %d %+v", whole, i, j, cut)
		}
	})
}

func BenchmarkParser(b *testing.B) {
	for name, response := range map[string]string{"point-query": pointResponse(), "hot-points": hotResponse()} {
		b.Run(name, func(b *testing.B) {
			var p parser
			bytes := []byte(response)
			b.SetBytes(int64(len(bytes)))
			for b.Loop() {
				p.reset()
				p.feed(bytes)
			}
		})
	}
}
