// Package tally counts the placed pods of a snapshot by topology domain, and updates the counts
// from one snapshot to the next from the changes alone.
// Pods that no selector can tell apart form a group. The index knows which counts cover a
// group, so a pod that is added or removed changes only the counts of its group; a count is
// evaluated against groups, not pods, and only when one of the two is new. What a node
// contributes depends on its domain and on whether it is eligible, which a scope stores for
// each row.
// With G groups, R rows and P pods per row, updating an index costs what changed: a few additions for each
// changed pod, a copy of P numbers for its row, and P comparisons for a row that has another node. A new count costs O(G) selector evaluations and one addition for each matching pod; a
// new scope O(R).
package tally

import (
	"slices"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Config configures an index; the zero value is valid.
type Config struct {
	// Affinity makes pods of different affinity terms different groups.
	Affinity bool
	// Joined is called with each new group before any of its pods is counted, Left with each
	// group that has lost its last pod, and Reset when the index has dropped everything. All are
	// optional.
	Joined, Left func(*Group)
	Reset        func()
	// MaxCells is roughly the number of four-byte numbers that counts and scopes may hold
	// together before the least recently used are dropped; 0 means 8 Mi.
	MaxCells int
	// FewDomains is the number of domains up to which counts are arrays from the start; 0 means
	// 64.
	FewDomains int
}

// Work counts the operations of an index, so that tests can check the cost of an update against
// the size of the change.
type Work struct {
	// Rows is the number of rows visited because they changed or a scope is new.
	Rows uint64
	// Pods is the number of pods compared on such rows, or added to or removed from a count.
	Pods uint64
	// Matches is the number of evaluations of a count's selector on a group.
	Matches uint64
}

// Index follows one snapshot. It belongs to the goroutine that runs cycles: Update and the
// methods that create counts and scopes modify it; reading counts does not. When it gets
// another snapshot, or another epoch, it starts from scratch, and what was obtained from it
// before stays unchanged.
type Index struct {
	config Config
	work   Work

	snapshot          *state.Snapshot
	epoch, generation uint64
	uses              uint64 // calls of Update

	rows       []row
	slots      []slot
	marks      []uint64 // by slot: the row's mark, during a comparison
	mark       uint64
	groups     map[string]*Group
	members    map[string][]*Group // by namespace
	namespaces []string            // by row of the namespaces table; "" for none
	key        []byte              // scratch

	topologies map[string]*Topology
	byRow      *Topology
	scopes     map[string]*Scope
	counts     map[string]*Count
	buckets    map[Bucket][]*Count
	wide       []*Count // counts of several namespaces
	made       int      // counts, scopes and topologies since the last call of evict
}

// row is what the index stores for a row.
type row struct {
	node           *state.Node
	object, placed uint64 // generations
	slots          []uint32
}

// slot is what the index stores for a slot of the pods table. The slots of a group form a
// linked list; ends are noSlot.
type slot struct {
	group      *Group // nil for a slot that is not counted
	generation uint64
	row        uint32
	next, prev uint32
}

const noSlot = ^uint32(0)

// New returns an empty index.
func New(config Config) *Index {
	if config.MaxCells == 0 {
		config.MaxCells = 8 << 20
	}
	if config.FewDomains == 0 {
		config.FewDomains = 64
	}
	x := &Index{config: config}
	x.clear()
	return x
}

// clear drops everything but the work counters. It allocates everything anew, because a cycle
// may still read what it was given.
func (x *Index) clear() {
	*x = Index{
		config: x.config, work: x.work, uses: x.uses,
		groups: make(map[string]*Group), members: make(map[string][]*Group),
		topologies: make(map[string]*Topology), scopes: make(map[string]*Scope),
		counts: make(map[string]*Count), buckets: make(map[Bucket][]*Count),
	}
	if x.config.Reset != nil {
		x.config.Reset()
	}
}

// Work returns the work done since the index was created.
func (x *Index) Work() Work { return x.work }

// Update brings the index up to date with a snapshot, before counts are read. Calling it again
// for the same generation costs nothing.
func (x *Index) Update(s *state.Snapshot) {
	x.uses++
	if s != x.snapshot || s.Epoch != x.epoch {
		x.clear()
		x.snapshot, x.epoch = s, s.Epoch
		x.nameNamespaces()
		x.apply(nil, nil, true)
		x.generation = s.Generation
		return
	}
	if s.Generation == x.generation {
		return
	}
	// Before the pods, because new groups read the current labels.
	x.updateNamespaces()
	rows, slots, known := s.Changes(x.generation)
	x.apply(rows, slots, !known)
	x.generation = s.Generation
}

// apply brings rows up to date. Without lists of what changed, all rows are compared by their generations,
// which is a pass over two columns of numbers, and the pods of rows that differ are compared one by one. With
// lists, that is only necessary for a row that has another node.
// Pods are first removed from all rows and then added, because a slot that one row gives up may
// be in use by another; in between, the rows get their new domains.
func (x *Index) apply(rows, slots []uint32, all bool) {
	n := x.snapshot.Len()
	for r := n; r < len(x.rows); r++ {
		x.leave(uint32(r))
	}
	x.rows = grow(x.rows, n)[:n]
	if all {
		rows = rows[:0:0]
		for r := range x.rows {
			rows = append(rows, uint32(r))
		}
	}
	t := &x.snapshot.Nodes
	stale := make([]uint32, 0, 4)
	for _, r := range rows {
		if int(r) >= n {
			continue
		}
		known := &x.rows[r]
		if known.object != t.ObjectGeneration[r] || known.placed != t.PodsGeneration[r] {
			stale = append(stale, r)
		}
	}
	if !all { // a row may come several times
		slices.Sort(stale)
		stale = slices.Compact(stale)
	}
	x.work.Rows += uint64(len(stale))
	other := make([]bool, len(stale)) // rows whose pods are compared
	for i, r := range stale {
		node := x.rows[r].node
		other[i] = x.rows[r].placed != t.PodsGeneration[r] && (all || node == nil || node.Name != t.Node[r].Name)
		if other[i] {
			x.unlinkGone(r)
		}
	}
	x.unlinkChanged(slots)
	for _, r := range stale {
		x.relocate(r)
	}
	for i, r := range stale {
		if x.rows[r].placed == t.PodsGeneration[r] {
			continue
		}
		known := &x.rows[r]
		known.slots = append(known.slots[:0], t.Pods.Row(r)...)
		known.placed = t.PodsGeneration[r]
		if other[i] {
			x.linkNew(r)
		}
	}
	x.linkChanged(slots)
}

// leave empties a row that has no node any more.
func (x *Index) leave(r uint32) {
	for _, at := range x.rows[r].slots {
		if p := &x.slots[at]; p.group != nil && p.row == r {
			x.unlink(at)
		}
	}
	x.rows[r] = row{}
	x.work.Rows++
	for _, scope := range x.scopes {
		scope.drop(r)
	}
	for _, t := range x.topologies {
		t.drop(r)
	}
}

// grow returns s with at least n elements.
func grow[T any](s []T, n int) []T {
	if n > len(s) {
		s = append(s, make([]T, n-len(s))...)
	}
	return s
}
