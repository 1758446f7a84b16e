package mirror

import "github.com/berth-scheduler/berth/runtime/state"

// syncNamespaces writes the namespaces that changed since a generation, or all of them.
func (m *Mirror) syncNamespaces(snap *state.Snapshot, since uint64, whole bool) error {
	table, t := m.src.projection.namespacesTable(), &snap.Namespaces
	n := uint32(t.Len())
	if n > m.layout.Tables[table].Capacity {
		return ErrNoRoom
	}
	grown := uint32(len(m.namespaceGeneration)) != n
	for uint32(len(m.namespaceGeneration)) < n {
		m.namespaceGeneration = append(m.namespaceGeneration, 0)
	}
	for row := n; row < uint32(len(m.namespaceGeneration)); row++ {
		m.clearNamespace(row)
	}
	m.namespaceGeneration = m.namespaceGeneration[:n]
	rows, known := snap.NamespaceChanges(since)
	if whole || !known {
		for row := range n {
			if err := m.writeNamespace(snap, row); err != nil {
				return err
			}
		}
	} else {
		for _, row := range rows {
			if err := m.writeNamespace(snap, row); err != nil {
				return err
			}
		}
	}
	if grown {
		m.layout.SetRows(m.mem, table, n)
	}
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
}
