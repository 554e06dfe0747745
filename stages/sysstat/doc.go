// Package sysstat reads what a measurement cost the machine: the CPU time, context switches and disk traffic of a server's
// processes (server.go), the traffic of the block device that holds its data (device.go), and the state of the machine
// that a sample was taken in (machine.go).
//
// Everything is read at the borders of a slice, so it is cheap: files of /proc stay open and are read again in place, one
// read for each process. What cannot be read is absent or an error with the reason, never zero.
//
// Read server.go first. The package is for Linux.
package sysstat
