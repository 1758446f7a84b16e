package mirror

import (
	"math"
	"slices"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Sync writes what has changed since the region was last written.
func (m *Mirror) Sync(snap *state.Snapshot) error {
	defer m.Flush()
	n := m.count(uint32(snap.Len()))
	if n > m.layout.Tables[nodesTable].Capacity {
		return ErrNoRoom
	}
	since := m.generation
	rows, slots, known := snap.Changes(since)
	whole := since == 0
	switch {
	case m.snapshot != snap || m.hostStrings != snap.Strings:
		// Generations of different snapshots cannot be compared, and labels and images
		// are in the order of the host's ids.
		m.forget()
		m.snapshot, m.hostStrings, known, whole = snap, snap.Strings, false, true
	case m.generation == snap.Generation:
		rows, slots, known = nil, nil, true
	}
	m.findResources(snap)
	m.clearSpares()
	moved := false // a pod may have moved to or from the mirror with its node's row
	for row := n; row < m.rows; row++ {
		m.clearRow(row)
		moved = true
	}
	if known {
		if m.src.projection.restricted() { // what is written first lies first
			rows = slices.Sorted(slices.Values(rows))
		}
		for _, row := range rows {
			if int(row) < snap.Len() && m.holds(row) {
				local := m.Local(row)
				moved = m.renamed(snap, row, local) || moved
				if err := m.writeRow(snap, row, local); err != nil {
					return err
				}
			}
		}
	} else {
		for local := range n {
			m.renamed(snap, m.host(local), local)
			if err := m.writeRow(snap, m.host(local), local); err != nil {
				return err
			}
		}
	}
	if m.src.projection.HasPods() && !m.rowless {
		if err := m.syncSlots(snap, slots, known && (!moved || m.src.Shards == 1)); err != nil {
			return err
		}
	}
	if n != m.rows {
		m.rows = n
		m.layout.SetRows(m.mem, nodesTable, n)
	}
	if m.src.projection.HasNamespaces() && !m.rowless {
		if err := m.syncNamespaces(snap, since, whole); err != nil {
			return err
		}
	}
	m.generation = snap.Generation
	return m.SyncStrings()
}

// renamed reports whether a local row belonged to another node until now.
func (m *Mirror) renamed(snap *state.Snapshot, row, local uint32) bool {
	if m.src.Shards == 1 || !m.src.projection.HasPods() {
		return false
	}
	for uint32(len(m.nodes)) <= local {
		m.nodes = append(m.nodes, "")
	}
	old, name := m.nodes[local], snap.Name(row)
	m.nodes[local] = name
	return old != name
}

// forget makes the next Sync write everything, in its present place.
func (m *Mirror) forget() {
	clear(m.objectGeneration)
	clear(m.podsGeneration)
	clear(m.feedsGeneration)
	for slot := range m.slotGeneration {
		m.slotGeneration[slot] = math.MaxUint64 // of no pod, and not empty
	}
	for row := range m.namespaceGeneration {
		m.namespaceGeneration[row], m.sumGeneration[row], m.cellGeneration[row] = math.MaxUint64, math.MaxUint64, math.MaxUint64
	}
	m.snapshot, m.strings, m.stringBytes, m.generation, m.step = nil, 0, 0, 0, 0
}

// Overlay writes an overlay row of the snapshot to the first overlay row of the region, with
// the spare slots of its pods. It returns the local row.
func (m *Mirror) Overlay(snap *state.Snapshot, row uint32) (uint32, error) {
	m.src.mu.Lock()
	defer m.src.mu.Unlock()
	defer m.Flush()
	m.findResources(snap)
	m.clearSpares()
	local := m.layout.Tables[nodesTable].Capacity
	if int(local) < len(m.objectGeneration) {
		m.objectGeneration[local] = 0 // so that the row never counts as up to date
	}
	m.overlaying, m.overlaid = true, row
	err := m.writeRow(snap, row, local)
	m.overlaying = false
	if err != nil {
		return 0, err
	}
	return local, m.SyncStrings()
}

// Restore writes the whole region again, in its place, and reports whether it was correct.
// Parts of arenas outside of every span are not checked.
func (m *Mirror) Restore(snap *state.Snapshot) (correct bool, err error) {
	m.src.mu.Lock()
	defer m.src.mu.Unlock()
	if err := m.Sync(snap); err != nil { // new strings of other mirrors
		return false, err
	}
	before := m.Hash()
	m.forget()
	m.layout.WriteDirectories(m.mem, m.base)
	m.layout.SetRows(m.mem, nodesTable, m.rows)
	if m.src.projection.HasPods() {
		m.layout.SetRows(m.mem, podsTable, m.slots)
	}
	if m.src.projection.HasNamespaces() {
		m.layout.SetRows(m.mem, m.src.projection.namespacesTable(), uint32(len(m.namespaceGeneration)))
	}
	m.writePod()
	if err := m.Sync(snap); err != nil {
		return false, err
	}
	return m.Hash() == before, nil
}
