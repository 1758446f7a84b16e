// Package region writes clusters as the tables of a snapshot region (ABI-4), for
// the hosts of package berthtest and of the conformance kit. It writes the numbers of
// SPEC.md itself and shares nothing with the writer of Berth's host in runtime/wasm,
// so that it shares no mistake with it either. Where the tables lie in memory is the
// hosts' own.
package region

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// Element types (ABI-4.7).
const (
	typeU8, typeU32, typeU64, typeI32, typeI64       abi.Type = 1, 3, 4, 5, 6
	typeSpan, typePair, typeTaint, typePort, typeImg abi.Type = 7, 8, 9, 10, 11
	typeBytes                                        abi.Type = 12
)

// Size returns the bytes of an element; 1 for a type that no version has.
func Size(t abi.Type) int {
	sizes := [...]int{typeU8: 1, typeU32: 4, typeU64: 8, typeI32: 4, typeI64: 8, typeSpan: 8, typePair: 8, typeTaint: 12, typePort: 8, typeImg: 16, typeBytes: 1}
	if int(t) < len(sizes) {
		return sizes[t]
	}
	return 1
}

// Table is a table with the data of its columns.
type Table struct {
	ID abi.TableID
	// Rows are those of the table, Overlays those after its capacity.
	Rows, Overlays uint32
	Base           uint32
	Columns        []Column
}

// Column is the elements of a column. A column of spans has its arena after it.
type Column struct {
	ID   abi.ColumnID
	Arg  uint32
	Type abi.Type
	// Arena tells that elements are not by row.
	Arena bool
	Data  []byte
}

// Len returns the number of elements.
func (c *Column) Len() uint32 { return uint32(len(c.Data) / Size(c.Type)) }

// Reads is what a manifest declares: names of columns in the lists, keys otherwise.
type Reads struct {
	Node, Pods, Namespaces                      []string
	Resources                                   []string
	NodeLabels, NodeAnnotations, NodeConditions []string
	Feeds, ObjectColumns                        []string
	Joins                                       map[string]string // by the name of an object: node or namespace
	PodLabels, PodAnnotations                   []string
	NamespaceLabels                             []string
}

// Encoder writes tables. Strings get their ids in the order in which they are met.
type Encoder struct {
	Reads Reads
	// ID returns the id of a string.
	ID func(text string) uint32
	// Order (optional) is an order for n elements that have none of their own: the entries of a list, and the lists of
	// a column.
	Order func(n int) []int
	// Stale begins arenas with entries that no row has, and the spans of empty rows
	// anywhere (ABI-4.8).
	Stale bool
	// Bits are set in all flags, besides those that say something (ABI-4.5).
	Bits uint8
}

// column writes an element for each row; zero where there is none.
func column[R any](t *Table, rows []*R, id abi.ColumnID, arg int, typ abi.Type, one func(b []byte, row *R) []byte) {
	var data []byte
	for _, row := range rows {
		if row == nil {
			data = append(data, make([]byte, Size(typ))...)
		} else {
			data = one(data, row)
		}
	}
	t.Columns = append(t.Columns, Column{ID: id, Arg: uint32(arg), Type: typ, Data: data})
}

// lists writes a span for each row, and the arena that has the elements.
func lists[R any](e *Encoder, t *Table, rows []*R, id abi.ColumnID, typ abi.Type, all func(b []byte, row *R) []byte) {
	keyedLists(e, t, rows, id, 0, typ, all)
}

// keyedLists is lists with an arg.
func keyedLists[R any](e *Encoder, t *Table, rows []*R, id abi.ColumnID, arg int, typ abi.Type, all func(b []byte, row *R) []byte) {
	var spans, arena []byte
	size := uint32(Size(typ))
	if e.Stale {
		arena = slices.Repeat([]byte{0xEE}, int(2*size))
	}
	spans = make([]byte, 8*len(rows))
	for _, i := range e.order(len(rows)) {
		start := uint32(len(arena))
		if rows[i] != nil {
			arena = all(arena, rows[i])
		}
		first, n := start/size, (uint32(len(arena))-start)/size
		if n == 0 && e.Stale {
			first = 0xFFFFFFFF
		}
		u32(spans[8*i:8*i], first, n)
	}
	t.Columns = append(t.Columns, Column{ID: id, Arg: uint32(arg), Type: typeSpan, Data: spans},
		Column{ID: id + 256, Arg: uint32(arg), Type: typ, Arena: true, Data: arena})
}

// keyed writes a column of ids for each declared key.
func keyed[R any](e *Encoder, t *Table, rows []*R, id abi.ColumnID, keys []string, from func(row *R) map[string]string) {
	for i, key := range keys {
		column(t, rows, id, i, typeU32, func(b []byte, row *R) []byte { return u32(b, e.Value(from(row), key)) })
	}
}

// Strings returns the table of strings, by id.
func Strings(texts []string) Table {
	rows := make([]*string, len(texts))
	for i := range texts {
		rows[i] = &texts[i]
	}
	t := Table{ID: 3, Rows: uint32(len(texts))}
	lists(&Encoder{}, &t, rows, 192, typeBytes, func(b []byte, text *string) []byte { return append(b, *text...) })
	return t
}

// Value returns the id of a key's value, 0 without one.
func (e *Encoder) Value(m map[string]string, key string) uint32 {
	if v, ok := m[key]; ok {
		return e.ID(v)
	}
	return 0
}

// Pairs appends keys and values.
func (e *Encoder) Pairs(b []byte, m map[string]string) []byte {
	keys := slices.Sorted(maps.Keys(m))
	for _, i := range e.order(len(keys)) {
		b = u32(b, e.ID(keys[i]), e.ID(m[keys[i]]))
	}
	return b
}

// Port is a host port. An empty IP is 0.0.0.0, an empty protocol TCP.
type Port struct {
	IP       string
	Port     uint16
	Protocol string
}

// Ports appends host ports.
func (e *Encoder) Ports(b []byte, ports []Port) []byte {
	for _, i := range e.order(len(ports)) {
		p := ports[i]
		if p.IP == "" {
			p.IP = "0.0.0.0"
		}
		b = binary.LittleEndian.AppendUint16(u32(b, e.ID(p.IP)), p.Port)
		b = append(b, map[string]byte{"": 1, "TCP": 1, "UDP": 2, "SCTP": 3}[p.Protocol], 0)
	}
	return b
}

// Text returns the id of a string, 0 for an empty one.
func (e *Encoder) Text(s string) uint32 {
	if s == "" {
		return 0
	}
	return e.ID(s)
}

func (e *Encoder) order(n int) []int {
	if e.Order != nil {
		return e.Order(n)
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Effect returns the number of a taint's effect, and whether it is one.
func Effect(name string) (effect uint32, ok bool) {
	effect, ok = map[string]uint32{"": 0, "NoSchedule": 1, "PreferNoSchedule": 2, "NoExecute": 3}[name]
	return effect, ok
}

func u32(b []byte, values ...uint32) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func i64(b []byte, v int64) []byte { return binary.LittleEndian.AppendUint64(b, uint64(v)) }

// flags writes bits, the lowest first; above them are those that say nothing.
func (e *Encoder) flags(b []byte, set ...bool) []byte {
	bits, known := uint8(0), uint8(1)<<len(set)-1
	for i, is := range set {
		if is {
			bits |= 1 << i
		}
	}
	return append(b, bits|e.Bits&^known)
}
