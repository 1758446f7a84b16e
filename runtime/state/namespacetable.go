package state

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi/wire"
)

// NamespaceTable has the columns of the namespaces table. A namespace keeps its row as long as
// it exists; unused rows are empty. A pod's namespace may not have a row, because its object
// may be unknown.
type NamespaceTable struct {
	// Namespace is the decoded object, nil for an empty row.
	Namespace []*Namespace
	// Name is a string id, the same as in PodTable.Namespace; 0 for an empty row.
	Name []uint32
	// Labels is sorted by key id.
	Labels wire.Ragged[wire.Pair]
	// Generation changes when the namespace does; 0 for an empty row.
	Generation []uint64

	index   map[string]uint32
	scratch pairScratch

	// changed are the rows that changed in the snapshot's generation changedAt. Before that,
	// nothing has changed since changedBefore.
	changed                  []uint32
	changedAt, changedBefore uint64
}

// newNamespaceTable returns an empty table in a generation of the snapshot. Earlier changes are
// unknown.
func newNamespaceTable(generation uint64) NamespaceTable {
	return NamespaceTable{index: make(map[string]uint32), changedAt: generation, changedBefore: generation}
}

// Len returns the number of rows, including empty ones.
func (t *NamespaceTable) Len() int { return len(t.Namespace) }

// update writes changed rows and returns the number of bytes written.
func (t *NamespaceTable) update(infos []NamespaceInfo, strings *wire.Dict, generation uint64) (bytes int) {
	for i := range infos {
		info := &infos[i]
		switch {
		case info.Namespace != nil:
			t.ensure(int(info.Row) + 1)
			t.forget(info.Row)
			bytes += t.write(info, strings)
		case int(info.Row) < t.Len() && t.Namespace[info.Row] != nil:
			t.forget(info.Row)
			bytes += t.clear(info.Row)
		default: // added and removed between two updates
			continue
		}
		t.note(info.Row, generation)
	}
	return bytes
}

// ensure makes the table have at least n rows.
func (t *NamespaceTable) ensure(n int) {
	for t.Len() < n {
		t.Namespace = append(t.Namespace, nil)
		t.Name = append(t.Name, 0)
		t.Generation = append(t.Generation, 0)
	}
	t.Labels.Resize(t.Len())
}

// forget removes a row's namespace from the index, unless the name has another row by now.
func (t *NamespaceTable) forget(row uint32) {
	if old := t.Namespace[row]; old != nil && t.index[old.Name] == row {
		delete(t.index, old.Name)
	}
}

// namespaceBytes is the size of a row without its labels.
const namespaceBytes = 8 + 4 + 8

func (t *NamespaceTable) write(info *NamespaceInfo, strings *wire.Dict) (bytes int) {
	row, ns := info.Row, info.Namespace
	t.index[ns.Name] = row
	t.Namespace[row], t.Name[row], t.Generation[row] = ns, strings.Intern(ns.Name), info.Generation
	pairs := t.scratch.intern(ns.Labels, strings)
	return namespaceBytes + int(unsafe.Sizeof(wire.Pair{}))*t.Labels.Set(row, pairs)
}

// clear empties a row completely.
func (t *NamespaceTable) clear(row uint32) (bytes int) {
	t.Namespace[row], t.Name[row], t.Generation[row] = nil, 0, 0
	t.Labels.Set(row, nil)
	return namespaceBytes
}

// note records that a row has changed in a generation of the snapshot.
func (t *NamespaceTable) note(row uint32, generation uint64) {
	if t.changedAt != generation {
		t.changedBefore, t.changedAt = t.changedAt, generation
		t.changed = t.changed[:0]
	}
	t.changed = append(t.changed, row)
}

// NamespaceRow returns the row of a namespace in the namespaces table; false if its object is
// unknown.
func (s *Snapshot) NamespaceRow(name string) (row uint32, ok bool) {
	row, ok = s.Namespaces.index[name]
	return row, ok
}

// Namespace returns a namespace; nil if its object is unknown.
func (s *Snapshot) Namespace(name string) *Namespace {
	if row, ok := s.NamespaceRow(name); ok {
		return s.Namespaces.Namespace[row]
	}
	return nil
}

// NamespaceChanges returns the rows of the namespaces table, including empty ones, that may
// differ from an earlier generation of this snapshot. Namespaces rarely change, so unlike in
// [Snapshot.Changes] the generation need not be the previous one: known is false only if it is
// before the epoch, or namespaces have changed in more than one generation since.
func (s *Snapshot) NamespaceChanges(since uint64) (rows []uint32, known bool) {
	t := &s.Namespaces
	switch {
	case since > s.Generation || since < t.changedBefore:
		return nil, false
	case since < t.changedAt:
		return t.changed, true
	}
	return nil, true
}
