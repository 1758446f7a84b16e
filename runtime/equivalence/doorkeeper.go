package equivalence

import "hash/maphash"

// Doorkeeper remembers when signatures came last, so that nothing is kept for those that never come
// again, or so seldom that they would only take the room of others.
type Doorkeeper struct {
	store *Store
	seed  maphash.Seed
	seen  map[uint64]uint64 // the cycle, by hash
}

// maxSeen is how many signatures are remembered.
const maxSeen = 1 << 12

// Doorkeeper returns an empty Doorkeeper.
func (s *Store) Doorkeeper() *Doorkeeper {
	return &Doorkeeper{store: s, seed: maphash.MakeSeed(), seen: make(map[uint64]uint64)}
}

// Again reports whether a signature came within so many cycles before this one, and there is room
// for it: what would have to go was not used for longer. Now and then all are forgotten.
func (d *Doorkeeper) Again(signature []byte, within uint64) bool {
	h := maphash.Bytes(d.seed, signature)
	if last, ok := d.seen[h]; ok {
		if cycles := d.store.cycle - last; cycles <= within && d.store.room(cycles) {
			delete(d.seen, h)
			return true
		}
	}
	if len(d.seen) == maxSeen {
		clear(d.seen)
	}
	d.seen[h] = d.store.cycle
	return false
}
