package tally

import (
	"cmp"
	"slices"
)

// evictEvery is the number of new counts, scopes and topologies after which the index checks
// whether it holds too much.
const evictEvery = 64

// cells is roughly the memory that the count holds, besides itself and its key.
func (c *Count) cells() int { return 256 + cap(c.dense) + 6*len(c.sparse) }

func (s *Scope) cells() int { return 32 + cap(s.at) + cap(s.rows) }

func (t *Topology) cells() int { return 32 + cap(t.of) + 6*len(t.domains) }

// evict drops the least recently used counts and scopes when there are too many. What cycles
// hold stays unchanged, and is created again when it is next requested.
func (x *Index) evict() {
	if x.made < min(evictEvery, x.config.MaxCells) {
		return
	}
	x.made = 0
	cells := 0
	for _, t := range x.topologies {
		cells += t.cells()
	}
	for _, scope := range x.scopes {
		cells += scope.cells()
	}
	counts := make([]*Count, 0, len(x.counts))
	for _, c := range x.counts {
		counts = append(counts, c)
		cells += c.cells()
	}
	if cells <= x.config.MaxCells {
		return
	}
	slices.SortFunc(counts, func(a, b *Count) int {
		return cmp.Or(cmp.Compare(a.used, b.used), cmp.Compare(a.key, b.key))
	})
	gone := make(map[*Count]bool)
	for _, c := range counts {
		if cells <= x.config.MaxCells/2 || c.used == x.uses {
			break
		}
		gone[c] = true
		cells -= c.cells()
		delete(x.counts, c.key)
		if c.scope.counts--; c.scope.counts == 0 {
			cells -= c.scope.cells()
		}
	}
	isGone := func(c *Count) bool { return gone[c] }
	for _, g := range x.groups {
		g.counts = slices.DeleteFunc(g.counts, isGone)
	}
	x.wide = slices.DeleteFunc(x.wide, isGone)
	for b, list := range x.buckets {
		if x.buckets[b] = slices.DeleteFunc(list, isGone); len(x.buckets[b]) == 0 {
			delete(x.buckets, b)
		}
	}
	inUse := make(map[*Topology]bool)
	for key, scope := range x.scopes {
		if scope.counts == 0 && scope.used != x.uses {
			delete(x.scopes, key)
		} else {
			inUse[scope.topology] = true
		}
	}
	for key, t := range x.topologies {
		if !inUse[t] && t.used != x.uses {
			delete(x.topologies, key)
		}
	}
}
