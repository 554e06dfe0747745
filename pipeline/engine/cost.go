package engine

// Names of Measurement.Cost: totals over the counted time of a step on one variant. Divided by the operations they are the
// costs per operation that reports show. A name that could not be read is absent, never zero, and a note says why.
const (
	CostServerCPU   = "server_cpu_s" // CPU seconds of the server's processes
	CostClientCPU   = "client_cpu_s" // CPU seconds of the client threads
	CostSwitches    = "ctx_switches" // context switches of the server's processes, voluntary and not
	CostReads       = "read_ops"     // reads of the block device that holds the data
	CostWrites      = "write_ops"    // writes of that device
	CostReadBytes   = "read_bytes"   // bytes read from it
	CostWriteBytes  = "write_bytes"  // bytes written to it
	CostWALBytes    = "wal_bytes"    // write-ahead log generated
	CostWALImages   = "wal_fpi"      // full-page images in it
	CostWALRecords  = "wal_records"  // records in it
	CostBuffersHit  = "buffers_hit"  // pages found in shared_buffers
	CostBuffersRead = "buffers_read" // pages asked of the operating system
	CostCheckpoints = "checkpoints"  // checkpoints completed, timed and requested
	CostTempFiles   = "temp_files"   // temporary files created
	CostTempBytes   = "temp_bytes"   // bytes in them
	CostDeadlocks   = "deadlocks"    // deadlocks that the server resolved
	CostOperations  = "operations"   // operations that the totals belong to, in the step's unit
)

// Costs of the whole machine, where nothing finer was sampled: results of other programs that were imported.
const (
	CostMachineCPU      = "machine_cpu_s"    // CPU seconds, user and system
	CostMachineSwitches = "machine_switches" // context switches
)
