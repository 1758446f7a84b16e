package wasm

import (
	"fmt"
	"math"
	"sync"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// blockRows is the number of row numbers of a block (see pipeline.BlockRows): a
// shard holds whole blocks.
const blockRows = 1024

// shard is one instance: a cycle instance and the part of the nodes that it holds: every
// count-th block of the host's rows. Local rows are its blocks one after the
// other. The mutex guards all of it during a cycle, since blocks of one shard may
// come from several workers; who begins a cycle has the plugin to itself.
type shard struct {
	mu    sync.Mutex
	plug  *Plugin
	src   *source
	index int
	// rowless is a cycle instance that holds no rows: it is for a pre_filter that
	// looks at the pod alone (ABI-5.3).
	rowless bool
	aux     bool // it is for points outside of cycles

	guest Guest // nil after a fault, until the next use
	env   *Env
	base  uint32
	calls int // into this shard, whatever the instance
	region

	arenas

	snapshot                         *state.Snapshot // that generations are of
	hostStrings                      *wire.Dict      // its dictionary then
	objectGeneration, podsGeneration []uint64        // by local row, as written
	slotGeneration                   []uint64
	namespaceGeneration              []uint64
	nodes                            []string // names by local row; of a sharded plugin with pods
	resources                        []int    // indices in the snapshot of the projection's resources
	spares                           []uint32 // slots that only the overlay row has
	overlaying                       bool     // the overlay row is being written
	overlaid                         uint32   // row of the snapshot that the overlay row shows; 0 for none
	rows, slots, strings             uint32
	stringBytes                      uint32
	generation                       uint64 // of the snapshot that the region shows
	pod                              uint64 // number of the pod record in the region
	podSize                          uint32 // its size

	numbers []uint16 // scratch: reason set of the guest → reason of the verdicts
}

// arenas are where the lists of an instance lie.
type arenas struct {
	names, labels, taints, ports, images, pods arena
	podLabels, podUIDs, podNames               arena
	namespaceArena                             arena
}

// local returns the local row of a host row that the shard holds.
func (s *shard) local(row uint32) uint32 {
	return row/blockRows/uint32(s.src.shardCount)*blockRows + row%blockRows
}

// holds reports whether the shard holds a host row.
func (s *shard) holds(row uint32) bool {
	return !s.rowless && int(row/blockRows)%s.src.shardCount == s.index
}

// host returns the host row of a local row.
func (s *shard) host(local uint32) uint32 {
	return (local/blockRows*uint32(s.src.shardCount)+uint32(s.index))*blockRows + local%blockRows
}

// count returns how many of n host rows the shard holds.
func (s *shard) count(n uint32) uint32 {
	if s.rowless {
		return 0
	}
	shards := uint32(s.src.shardCount)
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

// view fetches the memory's bytes anew: they may have moved. It fails if there
// are fewer of them than there were.
func (s *shard) view() error {
	memory := s.guest.Memory()
	end := uint64(s.base) + uint64(s.layout.Size)
	if end > uint64(len(memory)) {
		return fmt.Errorf("the memory has %d bytes, and the region ends at %d", len(memory), end)
	}
	s.memory, s.mem = memory, memory[s.base:end:end]
	return nil
}

// flush adds what was written to the plugin's sum.
func (s *shard) flush() {
	s.plug.written.Add(s.bytes)
	s.bytes = 0
}

// sync writes what has changed since the region was last written.
func (s *shard) sync(snap *state.Snapshot) error {
	defer s.flush()
	n := s.count(uint32(snap.Len()))
	if n > s.layout.Tables[nodesTable].Capacity {
		return errNoRoom
	}
	since := s.generation
	rows, slots, known := snap.Changes(since)
	whole := since == 0
	switch {
	case s.snapshot != snap || s.hostStrings != snap.Strings:
		// Generations of another snapshot may mean something else, and with other
		// ids of the host the order of labels and images is another one.
		s.forget()
		s.snapshot, s.hostStrings, known, whole = snap, snap.Strings, false, true
	case s.generation == snap.Generation:
		rows, slots, known = nil, nil, true
	}
	s.findResources(snap)
	s.clearSpares()
	moved := false // a pod may have come to or left the shard with its node's row
	for row := n; row < s.rows; row++ {
		s.clearRow(row)
		moved = true
	}
	if known {
		for _, row := range rows {
			if int(row) < snap.Len() && s.holds(row) {
				local := s.local(row)
				moved = s.renamed(snap, row, local) || moved
				if err := s.writeRow(snap, row, local); err != nil {
					return err
				}
			}
		}
	} else {
		for local := range n {
			s.renamed(snap, s.host(local), local)
			if err := s.writeRow(snap, s.host(local), local); err != nil {
				return err
			}
		}
	}
	if s.plug.projection.hasPods() && !s.rowless {
		if err := s.syncSlots(snap, slots, known && (!moved || s.src.shardCount == 1)); err != nil {
			return err
		}
	}
	if n != s.rows {
		s.rows = n
		s.layout.SetRows(s.mem, nodesTable, n)
	}
	if s.plug.projection.hasNamespaces() && !s.rowless {
		if err := s.syncNamespaces(snap, since, whole); err != nil {
			return err
		}
	}
	s.generation = snap.Generation
	return s.syncStrings()
}

// renamed reports whether a local row was another node's until now.
func (s *shard) renamed(snap *state.Snapshot, row, local uint32) bool {
	if s.src.shardCount == 1 || !s.plug.projection.hasPods() {
		return false
	}
	for uint32(len(s.nodes)) <= local {
		s.nodes = append(s.nodes, "")
	}
	old, name := s.nodes[local], snap.Name(row)
	s.nodes[local] = name
	return old != name
}

// forget makes the next sync write everything, in its place.
func (s *shard) forget() {
	clear(s.objectGeneration)
	clear(s.podsGeneration)
	for slot := range s.slotGeneration {
		s.slotGeneration[slot] = math.MaxUint64 // of no pod, and not empty
	}
	for row := range s.namespaceGeneration {
		s.namespaceGeneration[row] = math.MaxUint64
	}
	s.snapshot, s.strings, s.stringBytes, s.generation = nil, 0, 0, 0
}

// syncStrings writes the strings that are new in the dictionary.
func (s *shard) syncStrings() error {
	dict := s.src.dict.Dict
	n := uint32(dict.Len())
	if n == s.strings {
		return nil
	}
	l := s.cols.strings
	if n > l.spans.Elements {
		return errNoRoom
	}
	for id := max(1, s.strings); id < n; id++ {
		text := dict.String(id)
		if uint64(s.stringBytes)+uint64(len(text)) > uint64(l.arena.Elements) {
			return errNoRoom
		}
		s.setSpan(l.spans, id, s.stringBytes, uint32(len(text)))
		copy(s.mem[l.arena.Data+s.stringBytes:], text)
		s.bytes += uint64(len(text))
		s.stringBytes += uint32(len(text))
	}
	s.strings = n
	s.layout.SetRows(s.mem, stringsTable, n)
	s.layout.SetLength(s.mem, l.arena, s.stringBytes)
	return nil
}

// overlay writes an overlay row of the snapshot to the first overlay row of the
// region, with the spare slots of its pods, and returns it.
func (s *shard) overlay(snap *state.Snapshot, row uint32) (uint32, error) {
	s.src.mu.Lock()
	defer s.src.mu.Unlock()
	defer s.flush()
	s.findResources(snap)
	s.clearSpares()
	if n := uint32(snap.Pods.Len()); s.plug.projection.hasPods() && n > s.slots {
		if n > s.layout.Tables[podsTable].Capacity {
			return 0, errNoRoom
		}
		s.slots = n
		s.layout.SetRows(s.mem, podsTable, n)
	}
	local := s.layout.Tables[nodesTable].Capacity
	if int(local) < len(s.objectGeneration) {
		s.objectGeneration[local] = 0
	}
	s.overlaying, s.overlaid = true, row
	err := s.writeRow(snap, row, local)
	s.overlaying = false
	if err != nil {
		return 0, err
	}
	s.objectGeneration[local] = 0 // never taken for a row that is up to date
	return local, s.syncStrings()
}

// restored writes the whole region anew, in its place, and reports whether it was
// what it should be. What no span of an arena covers is left out.
func (s *shard) restored(snap *state.Snapshot) (asItWas bool, err error) {
	s.src.mu.Lock()
	defer s.src.mu.Unlock()
	if err := s.sync(snap); err != nil { // strings that others added
		return false, err
	}
	before := s.hash()
	s.forget()
	s.layout.WriteDirectories(s.mem, s.base)
	s.layout.SetRows(s.mem, nodesTable, s.rows)
	if s.plug.projection.hasPods() {
		s.layout.SetRows(s.mem, podsTable, s.slots)
	}
	if s.plug.projection.hasNamespaces() {
		s.layout.SetRows(s.mem, s.plug.projection.namespacesTable(), uint32(len(s.namespaceGeneration)))
	}
	s.writePod()
	if err := s.sync(snap); err != nil {
		return false, err
	}
	return s.hash() == before, nil
}

// writePod writes the pod record, and nothing of the one before stays behind it.
func (s *shard) writePod() {
	record, room := s.src.record, s.mem[s.layout.Pod:s.layout.Pod+s.layout.PodRoom]
	copy(room, record)
	if size := uint32(len(record)); s.podSize > size {
		clear(room[size:s.podSize])
	}
	s.bytes += uint64(len(record))
	s.pod, s.podSize = s.src.recordNumber, uint32(len(record))
}

// sampled reports whether the columns are to be checked around the call that is
// about to be made.
func (s *shard) sampled() bool {
	s.calls++
	every := s.plug.config.VerifyEvery
	return every > 0 && s.calls%every == 0
}

// nodeScoped reports whether an answer of a point may depend on a row alone.
func (p *Plugin) nodeScoped(point abi.Point) bool {
	switch point {
	case abi.PreFilter:
		return p.sharded
	case abi.Filter:
		return p.info.FilterScope == abi.ScopeNode
	case abi.Score:
		return p.info.ScoreScope == abi.ScopeNode
	}
	return false
}
