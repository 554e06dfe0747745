// Package stages holds the stage kinds. A kind is one file (its parameters, defaults, help and Run) and one line in All;
// strict decoding, key, help, JSON Schema and the conformance suite follow from that. What several kinds share is in the
// sub-packages: source, postgres, workload, driver, sysstat, block.
package stages

import "pgpipeline/pipeline/engine"

// All are the stage kinds, in the order in which an experiment usually has them.
var All = []engine.Kind{
	Fetch,
	Build,
	Configuration,
	Load,
	Run,
	Compare,
}
