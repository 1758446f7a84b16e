package berth

import "github.com/berth-scheduler/berth/abi"

// columns has the columns of a snapshot as slices. They cover the whole capacity, including
// overlay rows, so they change only with the layout.
type columns struct {
	core                 *core
	header               *header
	layout               uint32 // of the slices
	nodes, pods, strings *tableEntry
	namespaces           *tableEntry

	columnsByRow
	columnsByKey
	texts     []span
	textBytes []byte
}

// refresh remakes the slices if the layout has changed.
func (c *columns) refresh(address uint32) {
	m := &c.core.mem
	h := at[header](m, address)
	if c.header == h && c.layout == h.layout {
		return
	}
	if h.magic != abi.Magic || h.major != abi.Major {
		panic("berth: the host's snapshot is of another ABI")
	}
	c.header, c.layout = h, h.layout
	c.forget()
	tables := view[tableEntry](m, h.tables, h.nTables)
	for i := range tables {
		t := &tables[i]
		switch t.id {
		case abi.TableNodes:
			c.nodes = t
		case abi.TablePods:
			c.pods = t
		case abi.TableStrings:
			c.strings = t
		case abi.TableNamespaces:
			c.namespaces = t
		default:
			continue
		}
		for _, e := range view[columnEntry](m, t.columns, t.nColumns) {
			c.setNode(m, &e)
		}
	}
}

// forget drops all slices.
func (c *columns) forget() {
	c.nodes, c.pods, c.strings, c.namespaces = nil, nil, nil, nil
	c.columnsByRow = columnsByRow{}
	c.columnsByKey.forget()
	c.texts, c.textBytes = nil, nil
}

// setStrings makes the slice of a column of strings. It skips unknown columns and types.
func (c *columns) setStrings(m *memory, e *columnEntry) {
	switch e.id {
	case abi.StringBytes:
		column(m, e, abi.TypeSpan, &c.texts)
	case abi.StringBytes + abi.ArenaOf:
		column(m, e, abi.TypeBytes, &c.textBytes)
	}
}

func column[T any](m *memory, e *columnEntry, typ abi.Type, to *[]T) {
	if e.typ == typ {
		*to = view[T](m, e.address, e.capacity)
	}
}

func keyed[T any](m *memory, e *columnEntry, typ abi.Type, to [][]T) {
	if e.typ == typ && uint64(e.arg) < uint64(len(to)) {
		to[e.arg] = view[T](m, e.address, e.capacity)
	}
}

// text returns the string of an id.
func (c *columns) text(id ID) string {
	if id == Absent {
		return ""
	}
	return str(of(c.texts, c.textBytes, uint32(id)))
}
