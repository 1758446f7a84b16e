// Package image writes clusters into guest memory as SPEC.md says, numbered in any
// order: rows, slots, ids and namespaces are free for a host to choose (ABI-4.7), and
// a guest that minds is wrong.
package image

import (
	"encoding/binary"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/view"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Numbering says what has which number in an instance.
type Numbering struct {
	// Nodes are indices of the cluster's nodes by row; an instance may hold a part.
	Nodes []int
	// Slots are indices of the cluster's pods by slot, −1 for an empty one.
	Slots []int
	// Namespaces are indices of the cluster's namespaces by row, −1 for an empty one.
	Namespaces []int
	// Overlays are hypothetical nodes: row i of them is row_capacity + i.
	Overlays []Overlay
	// Base is where row 0 is in the host's table.
	Base uint32
}

// Overlay is a node with pods that it does not have, or without some of its own.
type Overlay struct {
	Node int
	// Pods are indices of the cluster's pods, whose slots count.
	Pods []int
}

// Content is tables, ready to be written.
type Content struct {
	Tables []Table
}

// Table is the rows of a table.
type Table struct {
	ID             abi.TableID
	Rows, Overlays uint32
	Base           uint32
	Columns        []Column
}

// Column is the elements of a column, of rows and then of overlay rows. A column of
// spans has its arena after it.
type Column struct {
	ID   abi.ColumnID
	Arg  uint32
	Type abi.Type
	// Arena tells that elements are not by row.
	Arena bool
	Data  []byte
}

// Encoder turns objects into columns and records, with ids of a dictionary.
type Encoder struct {
	Reads *view.Reads
	Dict  *wire.Dict
}

// Content encodes what an instance holds of a cluster. The strings table is as of
// the dictionary at the end.
func (e *Encoder) Content(c *cluster.Cluster, n *Numbering) *Content {
	out := &Content{}
	nodes := e.nodes(c, n)
	var pods, namespaces *Table
	if e.Reads.HasNode("pods") {
		pods = e.pods(c, n)
	}
	if e.Reads.NamespacesTable() {
		namespaces = e.namespaces(c, n)
	}
	out.Tables = append(out.Tables, *nodes, Table{ID: abi.TableStrings})
	if pods != nil {
		out.Tables = append(out.Tables, *pods)
	}
	if namespaces != nil {
		out.Tables = append(out.Tables, *namespaces)
	}
	return out
}

// Seal fills in the table of strings, after all ids were given.
func (c *Content) Seal(d *wire.Dict) {
	t := tableOf(abi.TableStrings, uint32(d.Len()), 0)
	texts := t.list(abi.StringBytes, abi.TypeBytes)
	for id := range uint32(d.Len()) {
		texts.text(d.String(id))
	}
	for i := range c.Tables {
		if c.Tables[i].ID == abi.TableStrings {
			c.Tables[i] = t.table()
		}
	}
}

// builder collects the columns of a table.
type builder struct {
	t       Table
	columns []*writer
}

// writer collects the elements of a column.
type writer struct {
	column Column
	arena  *Column // of a column of spans
}

func tableOf(id abi.TableID, rows, overlays uint32) *builder {
	return &builder{t: Table{ID: id, Rows: rows, Overlays: overlays}}
}

func (b *builder) add(id abi.ColumnID, arg uint32, kind abi.Type) *writer {
	w := &writer{column: Column{ID: id, Arg: arg, Type: kind}}
	b.columns = append(b.columns, w)
	return w
}

func (b *builder) list(id abi.ColumnID, kind abi.Type) *writer {
	w := b.add(id, 0, abi.TypeSpan)
	w.arena = &Column{ID: id + abi.ArenaOf, Type: kind, Arena: true}
	return w
}

func (b *builder) table() Table {
	for _, w := range b.columns {
		b.t.Columns = append(b.t.Columns, w.column)
		if w.arena != nil {
			b.t.Columns = append(b.t.Columns, *w.arena)
		}
	}
	return b.t
}

func (w *writer) u8(v uint8) { w.column.Data = append(w.column.Data, v) }

func (w *writer) u32(v uint32) {
	w.column.Data = binary.LittleEndian.AppendUint32(w.column.Data, v)
}

func (w *writer) i64(v int64) {
	w.column.Data = binary.LittleEndian.AppendUint64(w.column.Data, uint64(v))
}

// text is a row of bytes.
func (w *writer) text(s string) { w.span([]byte(s)) }

// span is a row of elements, already encoded.
func (w *writer) span(elements []byte) {
	size := uint32(w.arena.Type.Size())
	w.u32(uint32(len(w.arena.Data)) / size)
	w.u32(uint32(len(elements)) / size)
	w.arena.Data = append(w.arena.Data, elements...)
}

func le(out []byte, values ...uint32) []byte {
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	return out
}
