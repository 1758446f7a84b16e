package mirror

import (
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// syncNamespaces writes the namespaces that changed since a generation, or all of them.
func (m *Mirror) syncNamespaces(snap *state.Snapshot, since uint64, whole bool) error {
	table, t := m.src.projection.namespacesTable(), &snap.Namespaces
	n := uint32(t.Len())
	if n > m.layout.Tables[table].Capacity {
		return ErrNoRoom
	}
	grown := uint32(len(m.namespaceGeneration)) != n
	for uint32(len(m.namespaceGeneration)) < n {
		m.namespaceGeneration, m.sumGeneration = append(m.namespaceGeneration, 0), append(m.sumGeneration, 0)
		m.cellGeneration = append(m.cellGeneration, 0)
	}
	for row := n; row < uint32(len(m.namespaceGeneration)); row++ {
		m.clearNamespace(row)
	}
	m.namespaceGeneration, m.sumGeneration, m.cellGeneration = m.namespaceGeneration[:n], m.sumGeneration[:n], m.cellGeneration[:n]
	rows, known := snap.NamespaceChanges(since)
	if err := eachRow(rows, known && !whole, n, func(row uint32) error { return m.writeNamespace(snap, row) }); err != nil {
		return err
	}
	if len(m.cols.namespaceRequested) > 0 {
		rows, known = snap.SumChanges(since)
		_ = eachRow(rows, known && !whole, n, func(row uint32) error { m.writeSums(snap, row); return nil })
	}
	if len(m.cols.objects) > 0 {
		rows, known = snap.CellChanges(since)
		if err := eachRow(rows, known && !whole, n, func(row uint32) error { return m.writeCells(snap, row) }); err != nil {
			return err
		}
	}
	if grown {
		m.layout.SetRows(m.mem, table, n)
	}
	return nil
}

// eachRow calls f for the rows, or for all n if these are not known.
func eachRow(rows []uint32, known bool, n uint32, f func(row uint32) error) error {
	if known {
		for _, row := range rows {
			if err := f(row); err != nil {
				return err
			}
		}
		return nil
	}
	for row := range n {
		if err := f(row); err != nil {
			return err
		}
	}
	return nil
}

// writeSums updates what the pods of a row's namespace request, after the row's namespace: rows without one that the plugin may see have
// no sums.
func (m *Mirror) writeSums(snap *state.Snapshot, row uint32) {
	t := &snap.Namespaces
	generation := t.RequestedGeneration[row]
	if m.sumGeneration[row] == generation {
		return
	}
	m.sumGeneration[row] = generation
	if ns := t.Namespace[row]; ns == nil || !m.src.projection.Sees(ns.Name) {
		return
	}
	for i, column := range m.cols.namespaceRequested {
		m.u64(column, row, uint64(t.Requested[row].Amount(m.src.projection.resources[i])))
	}
}

// writeCells is writeSums of what objects say of a row's namespace.
func (m *Mirror) writeCells(snap *state.Snapshot, row uint32) error {
	t := &snap.Namespaces
	generation := t.FeedsGeneration[row]
	if m.cellGeneration[row] == generation {
		return nil
	}
	if ns := t.Namespace[row]; ns != nil && m.src.projection.Sees(ns.Name) {
		if err := m.writeViews(wire.JoinNamespace, row, func(feed int) state.Cell { return t.Cell(row, feed) }); err != nil {
			return err
		}
	}
	m.cellGeneration[row] = generation
	return nil
}

// writeNamespace updates a row: it fills it if the plugin may see the namespace, and clears
// it otherwise.
func (m *Mirror) writeNamespace(snap *state.Snapshot, row uint32) error {
	t, c, d := &snap.Namespaces, m.cols, &m.src.dict
	generation := t.Generation[row]
	if m.namespaceGeneration[row] == generation {
		return nil
	}
	ns := t.Namespace[row]
	if ns == nil || !m.src.projection.Sees(ns.Name) {
		m.clearNamespace(row)
		m.namespaceGeneration[row] = generation
		return nil
	}
	m.u32(c.namespaceName, row, d.of(t.Name[row]))
	for i, column := range c.namespaceLabel {
		m.u32(column, row, m.optional(ns.Labels, m.src.projection.namespaceLabels[i]))
	}
	if c.namespaceLabels.spans != nil {
		if err := m.writePairs(c.namespaceLabels, &m.namespaceArena, row, t.Labels.Row(row)); err != nil {
			return err
		}
	}
	m.namespaceGeneration[row] = generation
	return nil
}

// clearNamespace clears a row, so that nothing of its namespace remains.
func (m *Mirror) clearNamespace(row uint32) {
	t := &m.layout.Tables[m.src.projection.namespacesTable()]
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Capacity == 0 {
			size := uint32(c.Type.Size())
			clear(m.mem[c.Data+row*size : c.Data+(row+1)*size])
			m.bytes += uint64(size)
		}
	}
	m.wipe(m.cols.namespaceLabels, &m.namespaceArena, row, 8)
	for arg := range m.src.projection.args(wire.JoinNamespace) {
		if arg < len(m.objectArenas) {
			l := m.cols.objects[arg]
			m.wipe(l, &m.objectArenas[arg], row, uint32(l.arena.Type.Size()))
		}
	}
}
