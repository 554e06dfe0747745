package block

import (
	"fmt"
	"slices"

	"pgpipeline/pipeline/engine"
)

// fullCPU is the share of its CPUs above which a client that has CPUs of its own may be what limits the rate.
const fullCPU = 0.9

// checkClient marks a measurement in which the client, not the server, may have been the bottleneck: its own CPUs were full, or it needed
// more CPU time than the server. Either way a server that became slower shows as less than it is.
func (c *collector) checkClient() {
	server, client, ops := c.m.Cost[engine.CostServerCPU], c.m.Cost[engine.CostClientCPU], c.m.Cost[engine.CostOperations]
	if c.counted <= 0 || ops <= 0 || server <= 0 {
		return
	}
	if busy := client / c.counted / float64(max(1, len(c.block.ClientCPUs))); c.block.ownCPUs() && busy > fullCPU {
		c.m.Warnings = append(c.m.Warnings, fmt.Sprintf("the client may be the bottleneck: its %d CPUs were %.0f %% busy; give it more with `placement`, or ask for fewer clients",
			len(c.block.ClientCPUs), busy*100))
		return
	}
	if client > server {
		c.m.Warnings = append(c.m.Warnings, fmt.Sprintf("the client may be the bottleneck: it took %.1f us of CPU time for each of the %s, the server %.1f us; a slower server shows as less than it is",
			client/ops*1e6, c.m.Unit, server/ops*1e6))
	}
}

// ownCPUs says that the clients have CPUs that no server may use.
func (b *block) ownCPUs() bool {
	if len(b.ClientCPUs) == 0 || len(b.ServerCPUs) == 0 {
		return false
	}
	return !slices.ContainsFunc(b.ClientCPUs, func(cpu int) bool { return slices.Contains(b.ServerCPUs, cpu) })
}
