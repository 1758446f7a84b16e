package wasm

// A guest that must not learn how much others do is told other generations of the snapshot: cycle
// instances count the plugin's own cycles, and aux instances their calls.

// generation returns what the guest is told of the snapshot's generation.
func (c *core) generation(of, counted uint64) uint64 {
	if c.config.HideGeneration {
		return counted
	}
	return of
}

// seed returns what the guest is told of a cycle's seed.
func (c *core) seed(of uint64) uint64 {
	if c.config.HideSeed {
		return 0
	}
	return of
}
