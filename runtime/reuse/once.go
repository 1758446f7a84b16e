package reuse

import "hash/maphash"

// Once remembers when keys came last, so that nothing is kept for those that never come
// again, or so seldom that they would only take the room of others.
type Once struct {
	store *Store
	seed  maphash.Seed
	seen  map[uint64]uint64 // the cycle, by hash
}

// maxSeen is how many keys are remembered.
const maxSeen = 1 << 12

// Once returns an empty Once.
func (s *Store) Once() *Once {
	return &Once{store: s, seed: maphash.MakeSeed(), seen: make(map[uint64]uint64)}
}

// Again reports whether a key came within so many cycles before this one, and there is room
// for it: what would have to go was not used for longer. Now and then all keys are forgotten.
func (o *Once) Again(key []byte, within uint64) bool {
	h := maphash.Bytes(o.seed, key)
	if last, ok := o.seen[h]; ok {
		if cycles := o.store.cycle - last; cycles <= within && o.store.room(cycles) {
			delete(o.seen, h)
			return true
		}
	}
	if len(o.seen) == maxSeen {
		clear(o.seen)
	}
	o.seen[h] = o.store.cycle
	return false
}
