package driver

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"
)

// conn is a connection that pgx opened and that is ours since: a blocking socket and two buffers.
type conn struct {
	fd      int
	backend uint32 // pid of the server process
	out     []byte // the message being built
	in      []byte
	parser  parser
	stmts   []template
	empty   template // a statement without any text: what a round trip costs when the server has nothing to do
}

// readBufferSize holds any response up to a few hundred rows in one piece; the server sends in pieces of 8 kB anyway.
const readBufferSize = 64 << 10

// dial connects, prepares the statements and takes the connection over.
func dial(ctx context.Context, config *pgconn.Config, statements []Statement) (*conn, error) {
	pg, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err // pgx names host, user and database
	}
	defer pg.Close(context.WithoutCancel(ctx)) // does nothing after the hijack
	c := &conn{in: make([]byte, readBufferSize)}
	for i, s := range statements {
		name := "s" + strconv.Itoa(i)
		if _, err := pg.Prepare(ctx, name, s.SQL, s.Params); err != nil {
			return nil, fmt.Errorf("prepare %q: %w", s.SQL, err)
		}
		c.stmts = append(c.stmts, newTemplate(name, s))
	}
	if _, err := pg.Prepare(ctx, "empty", "", nil); err != nil {
		return nil, fmt.Errorf("prepare an empty statement: %w", err)
	}
	c.empty = newTemplate("empty", Statement{})
	if err := c.takeOver(pg); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *conn) takeOver(pg *pgconn.PgConn) error {
	h, err := pg.Hijack()
	if err != nil {
		return err
	}
	defer h.Conn.Close() // the duplicate stays
	c.backend = h.PID
	sc, ok := h.Conn.(syscall.Conn)
	if _, plain := h.Conn.(interface{ SetWriteBuffer(int) error }); !ok || !plain {
		return fmt.Errorf("connection is a %T; the driver needs a plain socket: use sslmode=disable", h.Conn)
	}
	if c.fd, err = blockingDuplicate(sc); err != nil {
		return fmt.Errorf("take over socket: %w", err)
	}
	if tcp, ok := h.Conn.(*net.TCPConn); ok {
		return tcp.SetNoDelay(true) // pgx's default too; said here because the figures depend on it
	}
	return nil
}

// blockingDuplicate returns a descriptor of the same socket that the runtime's poller does not know.
func blockingDuplicate(sc syscall.Conn) (int, error) {
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0, err
	}
	fd := -1
	var dupErr error
	if err := raw.Control(func(s uintptr) { fd, dupErr = unix.FcntlInt(s, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return 0, err
	}
	if dupErr != nil {
		return 0, dupErr
	}
	return fd, unix.SetNonblock(fd, false)
}

// roundTrip sends what is in out and reads until the server is ready for the next query. It returns an error only when the connection
// is of no more use; errors of the statement are in the parser.
func (c *conn) roundTrip() error {
	c.parser.reset()
	if err := send(c.fd, c.out); err != nil {
		// The server may have said why before it hung up.
		if n, _ := recv(c.fd, c.in); n > 0 {
			c.parser.feed(c.in[:n])
		}
		return err
	}
	for {
		n, err := recv(c.fd, c.in)
		if err != nil {
			return err
		}
		if n == 0 {
			return errHungUp
		}
		done, err := c.parser.feed(c.in[:n])
		if done || err != nil {
			return err
		}
	}
}

// shut ends all reading and writing, also of a thread that is blocked in it.
func (c *conn) shut() { unix.Shutdown(c.fd, unix.SHUT_RDWR) }

// close says goodbye and gives the descriptor back.
func (c *conn) close() error {
	unix.SendmsgN(c.fd, []byte{'X', 0, 0, 0, 4}, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL) // a server that is gone does not mind
	return unix.Close(c.fd)
}

// template holds the parts of a statement's messages that never change: the Bind message up to its parameters, and what follows
// them, with Execute and Sync.
type template struct {
	prefix, suffix []byte
}

func newTemplate(name string, s Statement) template {
	var t template
	p := []byte{'B', 0, 0, 0, 0, 0} // length to be filled in; unnamed portal
	p = append(append(p, name...), 0)
	format := uint16(1)
	if s.TextParams {
		format = 0
	}
	p = binary.BigEndian.AppendUint16(p, 1)
	p = binary.BigEndian.AppendUint16(p, format)
	t.prefix = binary.BigEndian.AppendUint16(p, uint16(len(s.Params)))
	t.suffix = []byte{
		0, 1, 0, 1, // all results in binary format
		'E', 0, 0, 0, 9, 0, 0, 0, 0, 0, // the unnamed portal, all rows
		'S', 0, 0, 0, 4,
	}
	return t
}

// resultFormatSize is the part of the suffix that still belongs to the Bind message.
const resultFormatSize = 4
