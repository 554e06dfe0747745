package engine

// Judge decides when a facet has been measured enough. gate implements it; main hands it to the engine.
type Judge interface {
	// Wanted says, before each block, which steps still need blocks to decide their assertions, and says in words where the
	// verdicts stand. A step that no assertion mentions is absent from the map; one that is decided is false. Blocks are all
	// complete blocks of the facet's current series, in the order they were measured.
	Wanted(facet Facet, blocks []BlockRecord) (steps map[string]bool, state string)
}
