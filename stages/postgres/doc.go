// Package postgres runs one PostgreSQL server of any version from 11 to 19: it makes a data directory, checks settings,
// starts, watches and stops the server, reads its counters, and copies data directories. It needs no more of an install
// tree than initdb and postgres, because prebuilt trees hold little else.
//
// The flow:
//
//	Open          install.go   an install tree and its version
//	CheckSettings settings.go  are these settings good for this very binary, before any data is loaded
//	InitDB        initdb.go    an empty data directory
//	CopyData      copy.go      a private copy of a loaded one
//	Start, Stop   server.go    a server on a private Unix socket, ready when a real connection works
//	Stats         stats.go     counters, over the views of all versions
//
// # Who may connect
//
// A server listens on nothing but a Unix socket in a directory that only its own account can enter, and authenticates by
// peer: the kernel tells the server who connects, and two users are mapped to the server's superuser, the one that runs
// the tool and the one that runs the server. Passwords were considered and rejected: data directories are cached, so the
// password would have to lie beside them, and it would have to be kept out of logs, reports and the environment of
// external drivers.
//
// # Who runs it
//
// PostgreSQL refuses root. When the tool runs as root, everything here runs as proc.Unprivileged unless the caller says
// otherwise, and directories are handed to that account.
package postgres
