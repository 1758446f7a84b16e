package wasm

import "sync"

// changes renumbers the generations of the snapshot for a guest that must not learn how often it
// changed: the first that it sees is 1, and each other one is the next number.
type changes struct {
	mu   sync.Mutex
	last uint64 // of the snapshot
	seen uint64
}

func (c *changes) of(generation uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == 0 || c.last != generation {
		c.last = generation
		c.seen++
	}
	return c.seen
}

// generation returns what the guest is told of the snapshot's generation.
func (c *core) generation(of uint64) uint64 {
	if c.config.HideGeneration {
		return c.changes.of(of)
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
