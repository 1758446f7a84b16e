package mirror

import (
	"cmp"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// noSlot is the snapshot's slot of a number that no pod has.
const noSlot = math.MaxUint32

// slots numbers the pods of a plugin that does not see all of them. The numbers, the size of the
// table and the order of lists depend on these pods alone, so they tell nothing of others. The
// mirrors of a source share them, and a pod keeps its number while the plugin sees it.
type slots struct {
	of   map[types.UID]uint32 // number by pod
	by   map[uint32]uint32    // number by slot of the snapshot
	host []uint32             // slot of the snapshot by number
	uids []types.UID          // by number
	free []uint32             // numbers below len(host), the highest first

	snapshot   *state.Snapshot // that was followed up to a generation
	generation uint64
	// step counts changes of the numbering from 1; touched are the numbers that the last one was about.
	step    uint64
	touched []uint32
}

func newSlots() *slots {
	return &slots{of: make(map[types.UID]uint32), by: make(map[uint32]uint32), step: 1}
}

// follow takes in what changed in the snapshot.
func (s *slots) follow(snap *state.Snapshot, p *Projection) {
	if s.snapshot == snap && s.generation == snap.Generation {
		return
	}
	_, changed, known := snap.Changes(s.generation)
	if known = known && s.snapshot == snap; !known {
		changed = make([]uint32, snap.Pods.Len())
		for slot := range changed {
			changed[slot] = uint32(slot)
		}
	}
	loose := s.loosen(changed, known)
	s.touched = s.touched[:0]
	var fresh []uint32
	for _, slot := range changed {
		pod := placed(snap, slot, p)
		if pod == nil || !p.Sees(pod.Namespace) {
			continue
		}
		if n, ok := s.of[pod.UID]; ok {
			s.put(n, slot)
		} else {
			fresh = append(fresh, slot)
		}
	}
	for _, n := range loose {
		if s.host[n] == noSlot {
			delete(s.of, s.uids[n])
			s.uids[n] = ""
			s.free, s.touched = append(s.free, n), append(s.touched, n)
		}
	}
	slices.SortFunc(s.free, func(a, b uint32) int { return cmp.Compare(b, a) })
	slices.SortFunc(fresh, func(a, b uint32) int { return cmp.Compare(snap.Pods.Pod[a].UID, snap.Pods.Pod[b].UID) })
	for _, slot := range slices.Compact(fresh) {
		s.add(snap.Pods.Pod[slot].UID, slot)
	}
	for len(s.free) > 0 && int(s.free[0]) == len(s.host)-1 {
		s.host, s.uids, s.free = s.host[:len(s.host)-1], s.uids[:len(s.uids)-1], s.free[1:]
	}
	slices.Sort(s.touched) // what is written first lies first
	s.touched = slices.Compact(s.touched)
	s.snapshot, s.generation = snap, snap.Generation
	s.step++
}

// placed returns the pod of a slot; nil if it is empty, belongs to an overlay row, or is nominated and the plugin does not read such pods.
func placed(snap *state.Snapshot, slot uint32, p *Projection) *state.Pod {
	if int(slot) >= snap.Pods.Len() || snap.Pods.Generation(slot) == 0 || snap.Pods.Nominated(slot) && !p.HasNominated() {
		return nil
	}
	return snap.Pods.Pod[slot]
}

// loosen takes the changed slots of the snapshot from their numbers, or all if they are not
// known, and returns these numbers.
func (s *slots) loosen(changed []uint32, known bool) (loose []uint32) {
	if !known {
		clear(s.by)
		for n, slot := range s.host {
			if slot != noSlot {
				s.host[n] = noSlot
				loose = append(loose, uint32(n))
			}
		}
		return loose
	}
	for _, slot := range changed {
		if n, ok := s.by[slot]; ok {
			delete(s.by, slot)
			s.host[n] = noSlot
			loose = append(loose, n)
		}
	}
	return loose
}

// put gives a number a slot of the snapshot.
func (s *slots) put(n, slot uint32) {
	if old := s.host[n]; old != noSlot {
		delete(s.by, old)
	}
	s.host[n], s.by[slot] = slot, n
	s.touched = append(s.touched, n)
}

// add gives a pod the lowest free number.
func (s *slots) add(uid types.UID, slot uint32) {
	n := uint32(len(s.host))
	if last := len(s.free) - 1; last >= 0 {
		n, s.free = s.free[last], s.free[:last]
	} else {
		s.host, s.uids = append(s.host, noSlot), append(s.uids, "")
	}
	s.of[uid], s.uids[n] = n, uid
	s.put(n, slot)
}

// count returns how many slots the plugin's table has.
func (s *Source) count(snap *state.Snapshot) uint32 {
	if s.slots != nil {
		return uint32(len(s.slots.host))
	}
	return uint32(snap.Pods.Len())
}

// hostSlot returns the slot of the snapshot that a slot of the plugin's table shows.
func (s *Source) hostSlot(snap *state.Snapshot, slot uint32) (host uint32, ok bool) {
	if s.slots != nil {
		host = s.slots.host[slot]
		return host, host != noSlot
	}
	return slot, placed(snap, slot, s.projection) != nil
}

// visible returns those of some slots of the snapshot whose pods the plugin sees, and the
// slots that they have in its table. It is valid until the next call.
func (s *Source) visible(snap *state.Snapshot, slots []uint32) []shown {
	out := s.scratch[:0]
	spare := s.count(snap)
	for _, slot := range slots {
		switch {
		case s.slots == nil:
			out = append(out, shown{slot, slot})
		case s.projection.Sees(snap.Pods.Pod[slot].Namespace):
			n, ok := s.slots.by[slot]
			if !ok {
				n = noSlot // only the overlay row has the pod
			}
			out = append(out, shown{slot, n})
		}
	}
	s.scratch = out
	if s.slots == nil {
		return out
	}
	slices.SortFunc(out, func(a, b shown) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(snap.Pods.Pod[a.host].UID, snap.Pods.Pod[b.host].UID))
	})
	for i := range out {
		if out[i].slot == noSlot {
			out[i].slot = spare
			spare++
		}
	}
	return out
}

// shown is a pod's slot of the snapshot, and the one in the plugin's table.
type shown struct{ host, slot uint32 }
