package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Target is the server.
type Target struct {
	ConnString string // with the database; Unix socket or TCP without TLS
	ServerPID  int    // of the postmaster, to tell a death from a dropped connection; 0 when not known
}

// Options of a session.
type Options struct {
	Target  Target
	Clients int // 1 to MaxClients
	// CPUs that every client thread may use; nil: all.
	CPUs []int
	// Seed of all generators: client i has a generator that depends on Seed and i alone.
	Seed    uint64
	Program func(client int) Program
	// Rate in events per second over all clients makes the loop open; 0 is a closed loop.
	Rate float64
	// Think is the pause of a closed loop after each event; it is not part of any latency.
	Think time.Duration
}

// MaxClients is the highest number of clients of a session.
const MaxClients = 512

// Session is a set of connected clients. Its methods must not be called at the same time.
type Session struct {
	options Options
	clients []*Client
	procs   *procs
}

// connectAtOnce limits how many connections are opened at the same time.
const connectAtOnce = 16

// Open connects the clients and prepares their statements.
func Open(ctx context.Context, o Options) (*Session, error) {
	if o.Clients < 1 || o.Clients > MaxClients {
		return nil, fmt.Errorf("clients: %d is not between 1 and %d", o.Clients, MaxClients)
	}
	config, err := pgconn.ParseConfig(o.Target.ConnString)
	if err != nil {
		return nil, err
	}
	s := &Session{options: o, clients: make([]*Client, o.Clients), procs: raiseProcs(o.Clients)}
	if err := s.connect(ctx, config); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for _, c := range s.clients {
		c.orders = make(chan *slice, 1)
		ready := make(chan error)
		go c.work(o.CPUs, ready)
		if err := <-ready; err != nil {
			c.orders = nil
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// connect opens all connections, several at a time.
func (s *Session) connect(ctx context.Context, config *pgconn.Config) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tokens := make(chan struct{}, connectAtOnce)
	var wait sync.WaitGroup
	for i := range s.clients {
		tokens <- struct{}{}
		wait.Go(func() {
			defer func() { <-tokens }()
			c, err := s.newClient(ctx, config, i)
			if err != nil {
				cancel(fmt.Errorf("client %d: %w", i, err)) // the first one wins; the others then fail because of it
				return
			}
			s.clients[i] = c
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

func (s *Session) newClient(ctx context.Context, config *pgconn.Config, i int) (*Client, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o := s.options
	c := &Client{ID: i, Rand: NewRand(o.Seed, uint64(i)), program: o.Program(i), phase: float64(i) / float64(o.Clients)}
	c.rate = c.program.Rate
	if c.rate == 0 {
		c.rate = o.Rate / float64(o.Clients)
	}
	c.pid = o.Target.ServerPID
	conn, err := dial(ctx, config, c.program.Statements)
	if err != nil {
		return nil, err
	}
	c.conn = conn
	c.tally = newTally(len(operationNames(c.program)), c.rate > 0)
	return c, nil
}

// Slice runs all clients for d and counts what happens after the first discard of it. Every client finishes the event that it is in when
// the time is over. The result is filled in also when an error is returned: the context's, or Result.Fatal.
func (s *Session) Slice(ctx context.Context, d, discard time.Duration) (Result, error) {
	return s.timed(ctx, d, discard, false)
}

func (s *Session) timed(ctx context.Context, d, discard time.Duration, empty bool) (Result, error) {
	if discard < 0 || discard >= d {
		return Result{}, fmt.Errorf("slice of %v: cannot discard %v of it", d, discard)
	}
	start := now()
	order := &slice{start: start, from: start + int64(discard), until: start + int64(d), empty: empty}
	if !empty {
		order.think = s.options.Think
	}
	return s.do(ctx, order)
}

// Pass runs one event on every client; Result.Seconds is the time until the last one has finished.
func (s *Session) Pass(ctx context.Context) (Result, error) {
	start := now()
	return s.do(ctx, &slice{start: start, from: start, until: start, pass: true})
}

// Work runs all clients until each has reached the limit of its program, at most for d.
func (s *Session) Work(ctx context.Context, d time.Duration) (Result, error) {
	start := now()
	return s.do(ctx, &slice{start: start, from: start, until: start + int64(d), work: true})
}

// Empty measures an empty statement, through the same messages on the same connections, in a closed loop: the part of a round trip in
// which the server does no work for the query. Clients that only make background load rest: theirs would crowd a machine on which they
// otherwise have little to do.
func (s *Session) Empty(ctx context.Context, d, discard time.Duration) (Result, error) {
	return s.timed(ctx, d, discard, true)
}

func (s *Session) do(ctx context.Context, order *slice) (Result, error) {
	defer holdGC()()
	order.done = make(chan *Client, len(s.clients))
	for _, c := range s.clients {
		c.orders <- order
	}
	s.wait(ctx, order)
	r := merge(order, s.clients)
	if err := context.Cause(ctx); err != nil {
		return r, err
	}
	if r.Fatal == nil && s.over() {
		return r, errors.New("session was stopped before")
	}
	return r, r.Fatal
}

// over says that a client has lost its connection because the session was stopped.
func (s *Session) over() bool {
	return slices.ContainsFunc(s.clients, func(c *Client) bool { return c.broken != nil })
}

// Patience of a session that was told to stop: clients first get the chance to finish their event, then their sockets are
// shut, which wakes a client from a server that hangs.
const (
	stopPatience = 400 * time.Millisecond
	failPatience = 2 * time.Second // after a client's error; the others may wait for locks that it holds
)

// wait returns when all clients are done with the slice.
func (s *Session) wait(ctx context.Context, order *slice) {
	finished := 0
	cancelled := ctx.Done()
	var shut <-chan time.Time
	for finished < len(s.clients) {
		select {
		case c := <-order.done:
			finished++
			if c.broken != nil && shut == nil {
				shut = time.After(failPatience)
			}
		case <-cancelled:
			cancelled = nil
			order.stop.Store(true)
			shut = time.After(stopPatience)
		case <-shut:
			shut = nil
			for _, c := range s.clients {
				c.stopped.Store(true)
				c.conn.shut()
			}
		}
	}
}

// Close ends the clients and their connections.
func (s *Session) Close() error {
	var errs []error
	for _, c := range s.clients {
		if c == nil {
			continue
		}
		if c.orders != nil {
			close(c.orders)
		}
		errs = append(errs, c.conn.close())
	}
	s.clients = nil
	s.procs.restore()
	return errors.Join(errs...)
}
