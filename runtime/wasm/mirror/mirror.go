package mirror

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Mirror keeps the region of one instance up to date with a snapshot. Call Begin first, and
// View before each use, since the memory may have moved. Only one goroutine at a time uses a
// Mirror; Overlay, Restore and WriteOther lock what mirrors of a Source share.
type Mirror struct {
	src   *Source
	index int
	// rowless mirrors have no rows: they are for instances that look at the pod alone
	// (ABI-5.3).
	rowless bool
	region
	arenas

	snapshot                         *state.Snapshot // that the generations belong to
	hostStrings                      *wire.Dict      // its dictionary at that time
	objectGeneration, podsGeneration []uint64        // by local row, as written
	feedsGeneration                  []uint64        // likewise
	slotGeneration                   []uint64
	namespaceGeneration              []uint64
	sumGeneration                    []uint64 // of what the pods of namespaces request
	cellGeneration                   []uint64 // of what objects say of namespaces
	nodes                            []string // names by local row, if several mirrors share rows with pods
	resources                        []int    // indices in the snapshot of the projection's resources
	feeds                            []int    // numbers in the snapshot of the projection's feeds
	objects                          []int    // likewise of its views of objects
	spares                           []uint32 // slots that only the overlay row has
	overlaying                       bool     // the overlay row is being written
	overlaid                         uint32   // row of the snapshot that the overlay row shows; 0 for none
	rows, slots, strings             uint32
	stringBytes                      uint32
	generation                       uint64 // of the snapshot that the region shows
	step                             uint64 // of the numbering of slots that it shows
	pod                              uint64 // number of the pod record in the region
	room                             capacities
	rehearsal                        bool   // no guest reads the region
	podSize                          uint32 // its size
}

// arenas say where the lists of a region are.
type arenas struct {
	names, labels, taints, ports, images, pods, nominated arena
	podLabels, podUIDs, podNames                          arena
	namespaceArena                                        arena
	objectArenas                                          []arena // by arg
}

// Mirror returns the mirror that holds the index-th share of the rows.
func (s *Source) Mirror(index int) *Mirror { return &Mirror{src: s, index: index} }

// Rowless returns a mirror without rows. Its index follows those that share the rows.
func (s *Source) Rowless() *Mirror { return &Mirror{src: s, index: s.Shards, rowless: true} }

// Spec returns what a region made now has room for.
func (m *Mirror) Spec() wire.LayoutSpec {
	room := m.src.room
	if m.rowless {
		room = capacities{rows: 1, namespaces: 1, strings: room.strings, stringBytes: room.stringBytes, podRoom: room.podRoom}
	}
	return m.src.projection.spec(&room)
}

// Begin begins an empty region with a layout, at an address of an instance's memory.
func (m *Mirror) Begin(layout *wire.Layout, base uint32, memory []byte) error {
	fresh := region{layout: layout, base: base, cols: findColumns(layout, m.src.projection.namespacesTable()), bytes: m.bytes}
	if err := fresh.view(memory); err != nil {
		return err
	}
	*m = Mirror{
		src: m.src, index: m.index, rowless: m.rowless, rehearsal: m.rehearsal, region: fresh, resources: m.resources[:0], room: m.src.room,
	}
	clear(m.mem)
	layout.WriteDirectories(m.mem, base)
	return nil
}

// View fetches the memory's bytes again.
//
// # Errors
//
// The memory is smaller than the region needs.
func (m *Mirror) View(memory []byte) error { return m.view(memory) }

// Drop forgets the memory, which was freed.
func (m *Mirror) Drop() { m.memory, m.mem = nil, nil }

// Layout returns where things are in the region.
func (m *Mirror) Layout() *wire.Layout { return m.layout }

// Base returns the address of the region.
func (m *Mirror) Base() uint32 { return m.base }

// Memory returns all of the instance's memory, as of the last View.
func (m *Mirror) Memory() []byte { return m.memory }

// Region returns the region in the memory, as of the last View.
func (m *Mirror) Region() []byte { return m.mem }

// Rows returns how many rows the region shows.
func (m *Mirror) Rows() uint32 { return m.rows }

// ShowsOverlay reports whether the overlay row has pods that no other row has.
func (m *Mirror) ShowsOverlay() bool { return len(m.spares) > 0 }

// HasNode reports whether the snapshot has a node.
func (m *Mirror) HasNode(name string) bool {
	_, ok := m.snapshot.Row(name)
	return ok
}

// Node returns the node that a local row shows; nil if there is none.
func (m *Mirror) Node(row uint32) *state.Node {
	switch {
	case m.snapshot == nil:
		return nil
	case row < m.rows:
		return m.snapshot.Nodes.Node[m.host(row)]
	case row == m.layout.Tables[nodesTable].Capacity && m.overlaid != 0:
		return m.snapshot.Nodes.Node[m.overlaid]
	}
	return nil
}

// SyncPod writes the record of the pod to be placed, unless the region has it already.
func (m *Mirror) SyncPod() {
	if m.pod != m.src.recordNumber {
		m.writePod()
	}
}

// writePod writes the pod record, and clears the rest of a longer one.
func (m *Mirror) writePod() {
	record, room := m.src.record, m.mem[m.layout.Pod:m.layout.Pod+m.layout.PodRoom]
	copy(room, record)
	if size := uint32(len(record)); m.podSize > size {
		clear(room[size:m.podSize])
	}
	m.bytes += uint64(len(record))
	m.pod, m.podSize = m.src.recordNumber, uint32(len(record))
}

// WriteOther writes the pod that add_pod and remove_pod are about, in place of a list of
// pods. After ErrNoRoom, later regions have room for it.
func (m *Mirror) WriteOther(pod *state.Pod) error {
	m.src.Lock()
	defer m.src.Unlock()
	record := m.src.EncodeOther(pod, m.snapshot.Namespace(pod.Namespace))
	b := m.Batch()
	if err := b.Add(record); err != nil {
		m.src.otherRoom = 2 * uint32(len(record))
		return ErrNoRoom
	}
	m.Wrote(uint64(len(record)) + abi.PodEntrySize)
	return m.SyncStrings()
}

// Batch returns a writer of the region's list of pods.
func (m *Mirror) Batch() wire.Batch { return m.layout.NewBatch(m.mem, m.base) }

// WriteRowSet writes the rows of a call: rows of the snapshot in ascending order.
func (m *Mirror) WriteRowSet(rows []uint32) {
	for i, row := range rows {
		binary.LittleEndian.PutUint32(m.mem[m.layout.RowSet+4*uint32(i):], m.Local(row))
	}
}

// WriteCall writes the records of the cycle and of the call.
func (m *Mirror) WriteCall(cycle wire.Cycle, call wire.Call) {
	m.layout.SetCycle(m.mem, cycle)
	m.layout.SetCall(m.mem, m.base, call)
}

// SyncStrings writes new strings of the dictionary.
func (m *Mirror) SyncStrings() error {
	dict := m.src.dict.Dict
	n := uint32(dict.Len())
	if n == m.strings {
		return nil
	}
	l := m.cols.strings
	if n > l.spans.Elements {
		return ErrNoRoom
	}
	for id := max(1, m.strings); id < n; id++ {
		text := dict.String(id)
		if uint64(m.stringBytes)+uint64(len(text)) > uint64(l.arena.Elements) {
			return ErrNoRoom
		}
		m.setSpan(l.spans, id, m.stringBytes, uint32(len(text)))
		copy(m.mem[l.arena.Data+m.stringBytes:], text)
		m.bytes += uint64(len(text))
		m.stringBytes += uint32(len(text))
	}
	m.strings = n
	m.layout.SetRows(m.mem, stringsTable, n)
	m.layout.SetLength(m.mem, l.arena, m.stringBytes)
	return nil
}

// Wrote counts bytes that the caller has written into the region.
func (m *Mirror) Wrote(bytes uint64) { m.bytes += bytes }

// Flush adds the bytes written to the sum of the Source.
func (m *Mirror) Flush() {
	if !m.rehearsal {
		m.src.written.Add(m.bytes)
	}
	m.bytes = 0
}

// Hash returns a hash of what the guest must not write: all but its answers (ABI-3.4).
func (m *Mirror) Hash() uint64 {
	call := m.mem[m.layout.Call : m.layout.Call+abi.CallSize]
	var h maphash.Hash
	h.SetSeed(m.src.seed)
	_, _ = h.Write(call[:abi.CallGuestStart])
	_, _ = h.Write(call[abi.CallAnswersEnd:])
	_, _ = h.Write(m.mem[m.layout.ReadOnly:])
	return h.Sum64()
}
