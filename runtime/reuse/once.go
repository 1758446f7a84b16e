package reuse

import "hash/maphash"

// Once remembers keys that came once, so that nothing is kept for those that never come
// again.
type Once struct {
	seed maphash.Seed
	seen map[uint64]struct{} // hashes
}

// maxSeen is how many keys are remembered.
const maxSeen = 1 << 12

// NewOnce returns an empty Once.
func NewOnce() *Once { return &Once{seed: maphash.MakeSeed(), seen: make(map[uint64]struct{})} }

// Again reports whether a key came before, since it was last true. Now and then all keys are
// forgotten.
func (o *Once) Again(key []byte) bool {
	h := maphash.Bytes(o.seed, key)
	if _, ok := o.seen[h]; ok {
		delete(o.seen, h)
		return true
	}
	if len(o.seen) == maxSeen {
		clear(o.seen)
	}
	o.seen[h] = struct{}{}
	return false
}
