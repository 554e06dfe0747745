package driver

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// parser reads the server's side of the protocol. It counts rows and notices errors; the rows themselves are skipped where they
// lie. It allocates only for messages that are cut by the end of the buffer, and for errors. The zero value is ready.
type parser struct {
	rows     int64 // rows returned since reset
	affected int64 // rows inserted, updated or deleted since reset
	status   byte  // transaction status of the last ReadyForQuery: 'I', 'T' or 'E'
	failed   bool  // an ErrorResponse came since reset
	problem  ServerError

	skip    int    // bytes of the current message's body still to come, not wanted
	partial []byte // the beginning of a message that is wanted and cut
}

// Limits of a message: of a row, and of the messages whose body is kept (command tags, errors). One that claims more is not PostgreSQL.
const (
	maxRow     = 1<<30 + 5
	maxMessage = 1 << 20
)

var errProtocol = errors.New("response does not follow the PostgreSQL protocol")

// reset forgets the counts of the previous response.
func (p *parser) reset() {
	p.rows, p.affected, p.failed = 0, 0, false
}

// feed takes the next bytes from the server and reports whether they complete a response.
func (p *parser) feed(b []byte) (done bool, err error) {
	if p.skip > 0 {
		n := min(p.skip, len(b))
		p.skip -= n
		b = b[n:]
	}
	if len(p.partial) > 0 {
		if b, done, err = p.complete(b); err != nil {
			return false, err
		}
	}
	for len(b) >= 5 {
		if n := wholeRows(&b); n > 0 {
			p.rows += n
			continue
		}
		size, err := messageSize(b)
		if err != nil {
			return false, err
		}
		if size > len(b) {
			if b[0] == 'D' {
				p.rows++
				p.skip = size - len(b)
				return done, nil
			}
			break
		}
		ready, err := p.message(b[0], b[5:size])
		if err != nil {
			return false, err
		}
		done = done || ready
		b = b[size:]
	}
	p.partial = append(p.partial, b...)
	return done, nil
}

// wholeRows moves past the rows that b begins with and returns their number. It is the loop that large results spend their time in.
func wholeRows(b *[]byte) (n int64) {
	rest := *b
	for len(rest) >= 5 && rest[0] == 'D' {
		size := int(binary.BigEndian.Uint32(rest[1:])) + 1
		if size < 5 || size > len(rest) {
			break
		}
		rest = rest[size:]
		n++
	}
	*b = rest
	return n
}

// messageSize is the size of a message, its type included, from its first five bytes.
func messageSize(head []byte) (int, error) {
	size, limit := int(binary.BigEndian.Uint32(head[1:]))+1, maxMessage
	if head[0] == 'D' {
		limit = maxRow
	}
	if size < 5 || size > limit {
		return 0, fmt.Errorf("%w: a message of type %q has length %d", errProtocol, head[0], size-1)
	}
	return size, nil
}

// complete adds bytes to the message that was cut, and handles it when it is whole. It returns the bytes that follow it.
func (p *parser) complete(b []byte) (rest []byte, done bool, err error) {
	for len(p.partial) < 5 {
		if len(b) == 0 {
			return nil, false, nil
		}
		p.partial = append(p.partial, b[0])
		b = b[1:]
	}
	size, err := messageSize(p.partial)
	if err != nil {
		return nil, false, err
	}
	if p.partial[0] == 'D' {
		p.rows++
		p.partial = p.partial[:0]
		n := min(size-5, len(b))
		p.skip = size - 5 - n
		return b[n:], false, nil
	}
	n := min(size-len(p.partial), len(b))
	p.partial = append(p.partial, b[:n]...)
	if len(p.partial) < size {
		return nil, false, nil
	}
	done, err = p.message(p.partial[0], p.partial[5:])
	p.partial = p.partial[:0]
	return b[n:], done, err
}

// message handles one whole message and reports whether it ends the response.
func (p *parser) message(kind byte, body []byte) (ready bool, err error) {
	switch kind {
	case 'Z': // ReadyForQuery
		if len(body) != 1 {
			return false, fmt.Errorf("%w: ReadyForQuery has %d bytes", errProtocol, len(body))
		}
		p.status = body[0]
		return true, nil
	case 'C': // CommandComplete
		p.affected += tagRows(body)
	case 'E': // ErrorResponse
		p.failed = true
		p.problem = parseError(body)
	case '1', '2', '3', 'I', 'n', 's', 't', 'T', 'N', 'S', 'A', 'K':
		// Completions of Parse, Bind and Close, empty query, no data, suspended portal, descriptions, notices, parameter changes:
		// nothing to count.
	default:
		return false, fmt.Errorf("%w: unexpected message of type %q", errProtocol, kind)
	}
	return false, nil
}

// tagRows returns the number of changed rows that a command tag ("UPDATE 3", "INSERT 0 1") tells; other commands change none.
func tagRows(tag []byte) int64 {
	if len(tag) < 8 || tag[0] != 'U' && tag[0] != 'I' && tag[0] != 'D' && tag[0] != 'M' {
		return 0
	}
	var n, scale int64 = 0, 1
	for i := len(tag) - 2; i >= 0 && tag[i] >= '0' && tag[i] <= '9' && scale < 1e18; i-- {
		n += int64(tag[i]-'0') * scale
		scale *= 10
	}
	return n
}

// parseError takes severity, SQLSTATE and text out of an ErrorResponse; fields that are missing stay empty.
func parseError(body []byte) ServerError {
	var e ServerError
	for len(body) > 1 {
		field, rest := body[0], body[1:]
		end := 0
		for end < len(rest) && rest[end] != 0 {
			end++
		}
		text := string(rest[:end])
		switch field {
		case 'V': // severity that is never translated
			e.Severity = text
		case 'C':
			e.Code = text
		case 'M':
			e.Message = text
		case 'D':
			e.Detail = text
		}
		body = rest[min(end+1, len(rest)):]
	}
	return e
}
