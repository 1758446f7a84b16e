package mirror

import (
	"errors"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Room is what regions have room for.
type Room struct{ capacities }

// Room returns what a region made now has room for.
func (s *Source) Room() Room { return Room{s.room} }

// SetRoom sets what later regions have room for.
func (s *Source) SetRoom(r Room) { s.room = r.capacities }

// Widen keeps the room of present regions, after Measure. What they lack grows by half at least, so that regions
// are seldom made again however their contents grow, and not at all if they stay below a bound.
func (s *Source) Widen(had Room) {
	keep := func(now *uint32, had uint32) {
		if *now <= had {
			*now = had
		} else {
			*now = max(*now, half(uint64(had), 0))
		}
	}
	now, h := &s.room, &had.capacities
	keep(&now.rows, h.rows)
	keep(&now.overlays, h.overlays)
	keep(&now.slots, h.slots)
	keep(&now.names, h.names)
	keep(&now.labels, h.labels)
	keep(&now.taints, h.taints)
	keep(&now.ports, h.ports)
	keep(&now.images, h.images)
	keep(&now.pods, h.pods)
	for arg := range now.objects {
		keep(&now.objects[arg], h.objects[arg])
	}
	keep(&now.podLabels, h.podLabels)
	keep(&now.strings, h.strings)
	keep(&now.stringBytes, h.stringBytes)
	keep(&now.podRoom, h.podRoom)
	keep(&now.podUIDs, h.podUIDs)
	keep(&now.podNames, h.podNames)
	keep(&now.namespaces, h.namespaces)
	keep(&now.namespaceLabels, h.namespaceLabels)
	keep(&now.batch, h.batch)
	keep(&now.records, h.records)
}

// Room returns what the region has room for.
func (m *Mirror) Room() Room { return Room{m.room} }

// PodFits reports whether the region has room for the record of the pod to be placed.
func (m *Mirror) PodFits() bool { return m.src.PodSize() <= m.layout.PodRoom }

// Renew empties the region, so that the next Sync writes all of it: in a new epoch, or to use the parts of arenas
// that no list uses any more. memory is that of the instance, which goes on.
func (m *Mirror) Renew(memory []byte) error {
	room := m.room
	err := m.Begin(m.layout, m.base, memory)
	m.room = room
	return err
}

// largestRehearsal is how large a region may be that Rehearse writes, in bytes.
const largestRehearsal = 16 << 20

// Rehearse writes the regions of all mirrors into memory of the host, so that strings are known before a guest has
// started in a region that is too small for them.
//
// # Errors
//
// ErrNoRoom, if a region lacks room for strings that are known now: measure again.
func (s *Source) Rehearse(snap *state.Snapshot) error {
	var memory []byte
	lacks := false
	for index := range s.Shards {
		m := s.Mirror(index)
		m.rehearsal = true
		layout, err := wire.NewLayout(m.Spec())
		if err != nil || layout.Size > largestRehearsal {
			return err
		}
		if memory == nil {
			memory = make([]byte, layout.Size)
		}
		if err := m.Begin(layout, 0, memory); err != nil {
			return err
		}
		if err := m.Sync(snap); errors.Is(err, ErrNoRoom) {
			lacks = true // the strings of the others are needed, too
		} else if err != nil {
			return err
		}
	}
	if lacks {
		return ErrNoRoom
	}
	return nil
}

// Settled reports whether something has been written in this epoch.
func (s *Source) Settled() bool { return s.dict.live > 0 }
