// Package driver runs clients against a PostgreSQL server and measures them, at a cost per query that is no more than a good
// C client's: a slow client hides what the server does.
//
// The flow, and the order in which to read the files:
//
//  1. program.go: what one client does. A Program lists its statements and has a function that runs one event.
//  2. session.go: Open connects every client and prepares its statements; Slice, Pass, Work and Empty measure for a while with the
//     connections kept open; Close ends it. Between slices the clients sleep in a channel receive.
//  3. loop.go, pace.go: the loop of one client, closed or open, on a thread of its own (thread.go, alarm.go).
//  4. client.go: what an event calls: Bind, parameters, Exec.
//  5. conn.go, parser.go: pgx connects, authenticates and prepares, then the connection is hijacked; from there on a query is one
//     send and one or more receives on a blocking socket, from and into buffers that live as long as the connection.
//  6. histogram.go, tally.go, result.go: what is counted, and how the clients' counts become one Result.
//
// # The protocol that a query takes
//
// One Bind, Execute and Sync message, sent at once; the next statement is sent when the response to this one is complete. Statements
// of a transaction are not pipelined: the established tools make a round trip for each, and so do we. Describe is left out
// (libpq, and so pgbench and sysbench, ask for a RowDescription with each execution): the columns are known since the
// statement was prepared, and what is not asked for does not cover up the work that is measured. Parameters and results are in binary
// format, which costs the server least (sysbench: results binary, parameters text); bpchar and text look the same either way.
//
// # Time
//
// All times are nanoseconds of the monotonic clock since the package was loaded (see now). A client reads the clock once per event:
// the end of an event is the start of the next one in a closed loop.
package driver
