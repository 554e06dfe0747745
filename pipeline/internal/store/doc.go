// Package store keeps what stages make, and what runs leave behind, on disk. It maps keys to directories and knows nothing
// of stages, experiments or PostgreSQL.
//
// Read store.go first (the layout), then the files in the order of an entry's life:
//
//	entry.go     Lookup: key -> entry or the reason why not; reads only, so that a dry run has no side effects
//	check.go     the files of an entry against its manifest: by size and time before every use, by sha256 on demand
//	create.go    Create: lock the key, wait for whoever makes it already, hand out an empty directory
//	commit.go    Commit: seal, hash, write meta, sync, rename into place
//	seal.go      owners and permissions of a finished entry
//	manifest.go  the list of files of an entry, as text
//	nearest.go   the entry with the most similar recipe, which explains a miss
//	pin.go gc.go what a live run needs, and trimming everything else to a size and an age
//
// Beside the cache:
//
//	machine.go   the lock that gives a measurement the machine to itself
//	runs.go      the records, blocks and logs of runs
//
// The promise: whatever happens, and whenever, an entry is whole or absent. Nothing becomes visible under its key before
// all of it is on disk; any damage found later is a miss with a reason, never an error. All locks are flocks: they die with
// the process that holds them, and no file has to be removed by hand.
package store
