// Package delta finds the rows of a snapshot that have changed, for plugins that
// keep something of each row from cycle to cycle.
package delta

import "github.com/berth-scheduler/berth/runtime/state"

// Rows remembers the generations of the rows that it has seen. It belongs to one
// goroutine.
type Rows struct {
	// Looked counts the rows whose generations were compared, so that tests can check the cost
	// of Update against the size of a change.
	Looked uint64

	snapshot   *state.Snapshot
	generation uint64
	seen       []generations
	changed    []uint32
}

type generations struct{ object, pods uint64 }

// Update returns the rows whose node or pods differ from what they were at the
// last call, and those that were there then and are not any more: rows from
// s.Len() up. fresh says that another snapshot was seen before, or none: nothing
// that was kept is of this one, and all rows count as changed. The slice is valid
// until the next call.
//
// A reader need not look at every update of a snapshot. If it has missed some,
// the generations of all rows are compared, which is two numbers a row.
func (r *Rows) Update(s *state.Snapshot) (rows []uint32, fresh bool) {
	if fresh = r.snapshot != s; fresh {
		r.snapshot, r.seen = s, r.seen[:0]
	} else if r.generation == s.Generation {
		return nil, false
	}
	r.changed = r.changed[:0]
	n, was := s.Len(), len(r.seen)
	for len(r.seen) < n {
		r.seen = append(r.seen, generations{})
	}
	if dirty, _, known := s.Changes(r.generation); known && !fresh {
		for _, row := range dirty {
			if int(row) < n {
				r.compare(s, row)
			}
		}
	} else {
		for row := range n {
			r.compare(s, uint32(row))
		}
	}
	for row := n; row < was; row++ {
		r.changed = append(r.changed, uint32(row))
	}
	r.seen = r.seen[:n]
	r.generation = s.Generation
	return r.changed, fresh
}

func (r *Rows) compare(s *state.Snapshot, row uint32) {
	r.Looked++
	t := &s.Nodes
	now := generations{object: t.ObjectGeneration[row], pods: t.PodsGeneration[row]}
	if r.seen[row] != now {
		r.seen[row] = now
		r.changed = append(r.changed, row)
	}
}
