package wasm

import (
	"github.com/berth-scheduler/berth/runtime/state"
)

// syncNamespaces writes the namespaces that changed since a generation, or all of
// them.
func (s *shard) syncNamespaces(snap *state.Snapshot, since uint64, whole bool) error {
	table, t := s.plug.projection.namespacesTable(), &snap.Namespaces
	n := uint32(t.Len())
	if n > s.layout.Tables[table].Capacity {
		return errNoRoom
	}
	grown := uint32(len(s.namespaceGeneration)) != n
	for uint32(len(s.namespaceGeneration)) < n {
		s.namespaceGeneration = append(s.namespaceGeneration, 0)
	}
	for row := n; row < uint32(len(s.namespaceGeneration)); row++ {
		s.clearNamespace(row)
	}
	s.namespaceGeneration = s.namespaceGeneration[:n]
	rows, known := snap.NamespaceChanges(since)
	if whole || !known {
		for row := range n {
			if err := s.writeNamespace(snap, row); err != nil {
				return err
			}
		}
	} else {
		for _, row := range rows {
			if err := s.writeNamespace(snap, row); err != nil {
				return err
			}
		}
	}
	if grown {
		s.layout.SetRows(s.mem, table, n)
	}
	return nil
}

// writeNamespace brings a row up to date: filled if the plugin may see the
// namespace, empty otherwise.
func (s *shard) writeNamespace(snap *state.Snapshot, row uint32) error {
	t, c, d := &snap.Namespaces, s.cols, &s.src.dict
	generation := t.Generation[row]
	if s.namespaceGeneration[row] == generation {
		return nil
	}
	ns := t.Namespace[row]
	if ns == nil || !s.plug.projection.sees(ns.Name) {
		s.clearNamespace(row)
		s.namespaceGeneration[row] = generation
		return nil
	}
	s.u32(c.namespaceName, row, d.of(t.Name[row]))
	for i, column := range c.namespaceLabel {
		s.u32(column, row, s.optional(ns.Labels, s.plug.projection.namespaceLabels[i]))
	}
	if c.namespaceLabels.spans != nil {
		if err := s.writePairs(c.namespaceLabels, &s.namespaceArena, row, t.Labels.Row(row)); err != nil {
			return err
		}
	}
	s.namespaceGeneration[row] = generation
	return nil
}

// clearNamespace empties a row, so that nothing of its namespace stays behind.
func (s *shard) clearNamespace(row uint32) {
	t := &s.layout.Tables[s.plug.projection.namespacesTable()]
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Capacity == 0 {
			size := uint32(c.Type.Size())
			clear(s.mem[c.Data+row*size : c.Data+(row+1)*size])
			s.bytes += uint64(size)
		}
	}
	s.wipe(s.cols.namespaceLabels, &s.namespaceArena, row, 8)
}
