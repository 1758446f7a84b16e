package cache

import (
	"math"

	"github.com/berth-scheduler/berth/runtime/state"
)

// noSlot is the slot of a pod on a ghost.
const noSlot = math.MaxUint32

// slots allocates slots of the pods table, or rows of the namespaces table. The last freed one
// is used first, so a table is no larger than the maximum number of pods or namespaces.
type slots struct {
	free []uint32
	used uint32 // slots 0 … used-1 have been used
}

func (s *slots) take() uint32 {
	if last := len(s.free) - 1; last >= 0 {
		slot := s.free[last]
		s.free = s.free[:last]
		return slot
	}
	s.used++
	return s.used - 1
}

func (s *slots) give(slot uint32) { s.free = append(s.free, slot) }

// sparse reports whether most slots are free.
func (s *slots) sparse() bool { return len(s.free) > 1024 && len(s.free) > int(s.used)/4*3 }

// release frees the slot of a pod, if it has one.
func (c *Cache) release(p *state.PlacedPod) {
	if p.Slot == noSlot {
		return
	}
	c.slots.give(p.Slot)
	c.freed.add(p.Slot)
	p.Slot = noSlot
}

// renumber gives all pods new slots from 0 on if most slots are free, and reports whether it
// did: the pods table shrinks with the cluster. The snapshot must then be written as a whole.
func (c *Cache) renumber() bool {
	if !c.slots.sparse() {
		return false
	}
	c.slots = slots{}
	for _, n := range c.rows {
		for i := range n.info.Pods {
			n.info.SetSlot(i, c.slots.take())
		}
		for i := range n.info.Nominated {
			n.info.Nominated[i].Slot = c.slots.take()
		}
		c.podsChanged(n)
	}
	return true
}

// marks is a set of small numbers, listed in the order of insertion. Its size depends on the
// largest number only, even if it is never reset.
type marks struct {
	list []uint32
	has  []bool
}

func (m *marks) add(i uint32) {
	for int(i) >= len(m.has) {
		m.has = append(m.has, false)
	}
	if !m.has[i] {
		m.has[i] = true
		m.list = append(m.list, i)
	}
}

func (m *marks) reset() {
	for _, i := range m.list {
		m.has[i] = false
	}
	m.list = m.list[:0]
}
