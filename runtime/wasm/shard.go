package wasm

import (
	"sync"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// blockRows is the number of row numbers of a block (see pipeline.BlockRows): a
// shard holds whole blocks.
const blockRows = 1024

// shard is one cycle instance and the part of the nodes that it holds: every
// count-th block of the host's rows. Local rows are its blocks one after the
// other. The mutex guards all of it; blocks of one shard may come from several
// workers.
type shard struct {
	mu    sync.Mutex
	plug  *Plugin
	index int

	guest Guest // nil after a fault, until the next use
	env   *Env
	base  uint32
	region

	names, labels, taints, ports, images, pods, podLabels arena

	objectGeneration, podsGeneration []uint64 // by local row, as written
	slotGeneration                   []uint64
	rows, slots, strings             uint32
	stringBytes                      uint32
	generation                       uint64 // of the snapshot that the region shows
	pod                              uint64 // number of the pod record in the region
}

// local returns the local row of a host row that the shard holds.
func (s *shard) local(row uint32) uint32 {
	return row/blockRows/uint32(s.plug.shardCount)*blockRows + row%blockRows
}

// holds reports whether the shard holds a host row.
func (s *shard) holds(row uint32) bool {
	return int(row/blockRows)%s.plug.shardCount == s.index
}

// host returns the host row of a local row.
func (s *shard) host(local uint32) uint32 {
	return (local/blockRows*uint32(s.plug.shardCount)+uint32(s.index))*blockRows + local%blockRows
}

// count returns how many of n host rows the shard holds.
func (s *shard) count(n uint32) uint32 {
	shards := uint32(s.plug.shardCount)
	full := n / blockRows / shards * blockRows
	blocks := n / blockRows % shards // whole blocks beyond the full rounds
	switch {
	case uint32(s.index) < blocks:
		return full + blockRows
	case uint32(s.index) == blocks:
		return full + n%blockRows
	}
	return full
}

// overlay writes an overlay row of the snapshot to the first overlay row of the
// region and returns it.
func (s *shard) overlay(snap *state.Snapshot, row uint32) (uint32, error) {
	s.plug.mu.Lock()
	defer s.plug.mu.Unlock()
	local := s.layout.Tables[nodesTable].Capacity
	if int(local) < len(s.objectGeneration) {
		s.objectGeneration[local] = 0
	}
	if err := s.writeRow(snap, row, local); err != nil {
		return 0, err
	}
	s.objectGeneration[local] = 0 // never taken for a row that is up to date
	return local, s.syncStrings()
}

// view fetches the region's bytes anew: memory may have moved.
func (s *shard) view() {
	s.mem = s.guest.Memory()[s.base : s.base+s.layout.Size : s.base+s.layout.Size]
}

// sync writes what has changed since the region was last written.
func (s *shard) sync(snap *state.Snapshot) error {
	s.view()
	rows, slots, known := snap.Changes(s.generation)
	if s.generation == snap.Generation {
		rows, slots, known = nil, nil, true
	}
	n := s.count(uint32(snap.Len()))
	for row := n; row < s.rows; row++ {
		s.clearRow(row)
	}
	if known {
		for _, row := range rows {
			if int(row) < snap.Len() && s.holds(row) {
				if err := s.writeRow(snap, row, s.local(row)); err != nil {
					return err
				}
			}
		}
	} else {
		for local := range n {
			if err := s.writeRow(snap, s.host(local), local); err != nil {
				return err
			}
		}
	}
	if s.plug.projection.hasPods() {
		if err := s.syncSlots(snap, slots, known); err != nil {
			return err
		}
	}
	if n != s.rows {
		s.rows = n
		s.layout.SetRows(s.mem, nodesTable, n)
	}
	s.generation = snap.Generation
	return s.syncStrings()
}

// syncSlots writes the pods that changed, and those that changed their shard
// were written with their row.
func (s *shard) syncSlots(snap *state.Snapshot, slots []uint32, known bool) error {
	n := uint32(snap.Pods.Len())
	if n > s.layout.Tables[podsTable].Capacity {
		return errNoRoom
	}
	for uint32(len(s.slotGeneration)) < n {
		s.slotGeneration = append(s.slotGeneration, 0)
	}
	if known {
		for _, slot := range slots {
			if err := s.writeSlot(snap, slot); err != nil {
				return err
			}
		}
	} else {
		for slot := range n {
			if err := s.writeSlot(snap, slot); err != nil {
				return err
			}
		}
	}
	for slot := n; slot < s.slots; slot++ {
		if int(slot) < len(s.slotGeneration) {
			s.clearSlot(slot) // a spare one of an overlay
		}
	}
	if n != s.slots {
		s.slots = n
		s.layout.SetRows(s.mem, podsTable, n)
	}
	return nil
}

// syncStrings writes the strings that are new in the dictionary.
func (s *shard) syncStrings() error {
	dict := s.plug.dict.Dict
	n := uint32(dict.Len())
	if n == s.strings {
		return nil
	}
	l := s.cols.strings
	if n > l.spans.Elements {
		return errNoRoom
	}
	spans := wire.ColumnLayout{Data: l.spans.Data}
	for id := max(1, s.strings); id < n; id++ {
		text := dict.String(id)
		if uint64(s.stringBytes)+uint64(len(text)) > uint64(l.arena.Elements) {
			return errNoRoom
		}
		s.u32(&spans, 2*id, s.stringBytes)
		s.u32(&spans, 2*id+1, uint32(len(text)))
		copy(s.mem[l.arena.Data+s.stringBytes:], text)
		s.bytes += uint64(len(text))
		s.stringBytes += uint32(len(text))
	}
	s.strings = n
	s.layout.SetRows(s.mem, stringsTable, n)
	s.layout.SetLength(s.mem, l.arena, s.stringBytes)
	return nil
}
