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
	// Requested is what the pods of the namespace request that have a node, assumed ones included; Pods is their number. Overlay rows
	// change nothing in it. The sums of a row are never written to. RequestedGeneration changes with them.
	Requested           []Resources
	RequestedGeneration []uint64
	// Cells are what objects of the API say of the namespace, by row and by the number of the feed; FeedsGeneration changes with them.
	Cells           [][]Cell
	FeedsGeneration []uint64

	index   map[string]uint32
	scratch pairScratch

	objects, sums, cells rowChanges
}

// rowChanges are the rows that changed in the snapshot's generation at. Before that, nothing has
// changed since before.
type rowChanges struct {
	rows       []uint32
	at, before uint64
}

// newNamespaceTable returns an empty table in a generation of the snapshot. Earlier changes are
// unknown.
func newNamespaceTable(generation uint64) NamespaceTable {
	none := rowChanges{at: generation, before: generation}
	return NamespaceTable{index: make(map[string]uint32), objects: none, sums: none, cells: none}
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
			if t.Generation[info.Row] != info.Generation {
				t.forget(info.Row)
				bytes += t.write(info, strings)
				t.objects.note(info.Row, generation)
			}
		case int(info.Row) < t.Len() && t.Namespace[info.Row] != nil:
			t.forget(info.Row)
			bytes += t.clear(info.Row)
			t.objects.note(info.Row, generation)
		default: // added and removed between two updates
			continue
		}
		if t.RequestedGeneration[info.Row] != info.RequestedGeneration {
			t.Requested[info.Row], t.RequestedGeneration[info.Row] = info.Requested, info.RequestedGeneration
			bytes += sumBytes + 8*len(info.Requested.Scalars)
			t.sums.note(info.Row, generation)
		}
		if t.FeedsGeneration[info.Row] != info.FeedsGeneration {
			t.Cells[info.Row], t.FeedsGeneration[info.Row] = info.Cells, info.FeedsGeneration
			bytes += 8 * len(info.Cells)
			t.cells.note(info.Row, generation)
		}
	}
	return bytes
}

// ensure makes the table have at least n rows.
func (t *NamespaceTable) ensure(n int) {
	for t.Len() < n {
		t.Namespace = append(t.Namespace, nil)
		t.Name = append(t.Name, 0)
		t.Generation = append(t.Generation, 0)
		t.Requested, t.RequestedGeneration = append(t.Requested, Resources{}), append(t.RequestedGeneration, 0)
		t.Cells, t.FeedsGeneration = append(t.Cells, nil), append(t.FeedsGeneration, 0)
	}
	t.Labels.Resize(t.Len())
}

// forget removes a row's namespace from the index, unless the name has another row by now.
func (t *NamespaceTable) forget(row uint32) {
	if old := t.Namespace[row]; old != nil && t.index[old.Name] == row {
		delete(t.index, old.Name)
	}
}

// namespaceBytes is the size of a row without its labels and sums, and sumBytes that of sums without scalars, each with its generation.
const (
	namespaceBytes = 8 + 4 + 8
	sumBytes       = 4*8 + 8
)

func (t *NamespaceTable) write(info *NamespaceInfo, strings *wire.Dict) (bytes int) {
	row, ns := info.Row, info.Namespace
	t.index[ns.Name] = row
	t.Namespace[row], t.Name[row], t.Generation[row] = ns, strings.Intern(ns.Name), info.Generation
	pairs := t.scratch.intern(ns.Labels, strings)
	return namespaceBytes + int(unsafe.Sizeof(wire.Pair{}))*t.Labels.Set(row, pairs)
}

// clear empties a row, but for its sums.
func (t *NamespaceTable) clear(row uint32) (bytes int) {
	t.Namespace[row], t.Name[row], t.Generation[row] = nil, 0, 0
	t.Labels.Set(row, nil)
	return namespaceBytes
}

// note records that a row has changed in a generation of the snapshot.
func (c *rowChanges) note(row uint32, generation uint64) {
	if c.at != generation {
		c.before, c.at = c.at, generation
		c.rows = c.rows[:0]
	}
	c.rows = append(c.rows, row)
}

// since returns the rows that may differ from an earlier generation of a snapshot of the generation now; false if they are unknown.
func (c *rowChanges) since(generation, now uint64) (rows []uint32, known bool) {
	switch {
	case generation > now || generation < c.before:
		return nil, false
	case generation < c.at:
		return c.rows, true
	}
	return nil, true
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
	return s.Namespaces.objects.since(since, s.Generation)
}

// SumChanges is NamespaceChanges of what the pods of namespaces request.
func (s *Snapshot) SumChanges(since uint64) (rows []uint32, known bool) {
	return s.Namespaces.sums.since(since, s.Generation)
}

// CellChanges is NamespaceChanges of what objects of the API say of namespaces.
func (s *Snapshot) CellChanges(since uint64) (rows []uint32, known bool) {
	return s.Namespaces.cells.since(since, s.Generation)
}
