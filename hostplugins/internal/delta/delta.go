// Package delta finds the rows of a snapshot that have changed, for plugins that keep per-row
// data from cycle to cycle.
package delta

import "github.com/berth-scheduler/berth/runtime/state"

// Rows stores the generations of the rows at the last call. It must not be used concurrently.
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

// Update returns the rows whose node or pods have changed since the last call, and the rows
// that have been removed: those from s.Len() up. fresh reports that this is the first call, or
// that the last one was for another snapshot: no kept data applies to this one, and all rows
// count as changed. The slice is valid until the next call.
// Update need not be called for every update of a snapshot. If so many were missed that the
// snapshot does not know their changes, it compares the generations of all rows, two numbers
// per row.
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
