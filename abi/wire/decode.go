package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
)

// ErrDecode is wrapped by all errors of reading a region or a pod record.
var ErrDecode = errors.New("wire: not as SPEC.md says")

func decodeError(rule, format string, args ...any) error {
	return fmt.Errorf("%w (%s): %s", ErrDecode, rule, fmt.Sprintf(format, args...))
}

// Memory is the linear memory of a guest, read by addresses as SPEC.md describes it. It shares
// nothing with the writer. Tests, tools and other hosts use it; it trusts no number in the
// memory.
type Memory []byte

// at returns size bytes at an address.
func (m Memory) at(rule, what string, address, size uint64) ([]byte, error) {
	if end := address + size; end < address || end > uint64(len(m)) {
		return nil, decodeError(rule, "%s: %d bytes at %#x are beyond the memory of %d bytes", what, size, address, len(m))
	}
	return m[address : address+size], nil
}

// record returns a struct at an address that must be a multiple of align.
func (m Memory) record(rule, what string, address uint32, size, align int) ([]byte, error) {
	if address%uint32(align) != 0 {
		return nil, decodeError(rule, "%s at %#x is not aligned to %d", what, address, align)
	}
	return m.at(rule, what, uint64(address), uint64(size))
}

func get16(b []byte, offset int) uint16 { return binary.LittleEndian.Uint16(b[offset:]) }
func get32(b []byte, offset int) uint32 { return binary.LittleEndian.Uint32(b[offset:]) }
func get64(b []byte, offset int) uint64 { return binary.LittleEndian.Uint64(b[offset:]) }

// Snapshot is a snapshot in guest memory (ABI-4). Its columns are views of the memory.
type Snapshot struct {
	Major, Minor            uint16
	Epoch, Generation, Seed uint64
	State, Layout           uint32
	Tables                  []TableView
}

// TableView is a table of a snapshot.
type TableView struct {
	ID                             abi.TableID
	Rows, Capacity, Base, Overlays uint32
	Columns                        []ColumnView
}

// ColumnView is a column of a table.
type ColumnView struct {
	ID   abi.ColumnID
	Arg  uint32
	Type abi.Type
	// Capacity and Length are in elements; Data has Capacity elements.
	Capacity, Length uint32
	Data             []byte
}

// DecodeSnapshot reads the header at an address and all directories. It includes tables with an
// unknown id and omits columns of an unknown type (ABI-4.5).
//
// # Errors
//
// All wrap ErrDecode and name the violated sentence of SPEC.md.
func DecodeSnapshot(m Memory, header uint32) (*Snapshot, error) {
	h, err := m.record("ABI-4.1", "the header", header, 64, 8)
	if err != nil {
		return nil, err
	}
	if magic := get32(h, 0); magic != 0x48545242 {
		return nil, decodeError("ABI-4.1", "magic is %#x", magic)
	}
	s := &Snapshot{
		Major: get16(h, 4), Minor: get16(h, 6), Epoch: get64(h, 8), Generation: get64(h, 16), Seed: get64(h, 24),
		State: get32(h, 32), Layout: get32(h, 44),
	}
	if s.Major != 1 {
		return nil, decodeError("ABI-4.1", "major version %d", s.Major)
	}
	n := get32(h, 36)
	entries, err := m.at("ABI-4.2", "the table directory", uint64(get32(h, 40)), 32*uint64(n))
	if err != nil {
		return nil, err
	}
	rows := uint64(0)
	for ; len(entries) > 0; entries = entries[32:] {
		t, err := m.table(entries)
		if err != nil {
			return nil, err
		}
		if s.Table(t.ID) != nil {
			return nil, decodeError("ABI-4.2", "table %d appears twice", t.ID)
		}
		if rows += uint64(t.Rows) + uint64(t.Overlays); rows > uint64(len(m)) { // tables without columns would have any number of them
			return nil, decodeError("ABI-4.2", "%d rows up to table %d, and a memory of %d bytes", rows, t.ID, len(m))
		}
		s.Tables = append(s.Tables, t)
	}
	return s, nil
}

func (m Memory) table(e []byte) (TableView, error) {
	t := TableView{
		ID: abi.TableID(get32(e, 0)), Rows: get32(e, 4), Capacity: get32(e, 8), Base: get32(e, 12), Overlays: get32(e, 16),
	}
	if t.Rows > t.Capacity {
		return t, decodeError("ABI-4.2", "table %d has %d rows and a capacity of %d", t.ID, t.Rows, t.Capacity)
	}
	n := get32(e, 20)
	entries, err := m.at("ABI-4.3", fmt.Sprintf("the column directory of table %d", t.ID), uint64(get32(e, 24)), 24*uint64(n))
	if err != nil {
		return t, err
	}
	for ; len(entries) > 0; entries = entries[24:] {
		c := ColumnView{
			ID: abi.ColumnID(get32(entries, 0)), Arg: get32(entries, 4), Type: abi.Type(get32(entries, 8)),
			Capacity: get32(entries, 16), Length: get32(entries, 20),
		}
		size := elementSize(c.Type)
		if size == 0 {
			continue // ABI-4.5
		}
		what := fmt.Sprintf("column %d (%d) of table %d", c.ID, c.Arg, t.ID)
		if c.Length > c.Capacity {
			return t, decodeError("ABI-4.3", "%s has a length of %d and a capacity of %d", what, c.Length, c.Capacity)
		}
		address := get32(entries, 12)
		if address%64 != 0 {
			return t, decodeError("ABI-4.3", "%s at %#x is not aligned to 64", what, address)
		}
		if c.Data, err = m.at("ABI-4.3", what, uint64(address), uint64(c.Capacity)*uint64(size)); err != nil {
			return t, err
		}
		if t.Column(c.ID, c.Arg) != nil {
			return t, decodeError("ABI-4.3", "%s appears twice", what)
		}
		t.Columns = append(t.Columns, c)
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		rows := uint64(t.Capacity) + uint64(t.Overlays)
		if !t.arena(c) && (uint64(c.Capacity) != rows || c.Length != t.Rows) {
			return t, decodeError("ABI-4.3", "column %d (%d) of table %d has a capacity of %d and a length of %d, the table %d and %d",
				c.ID, c.Arg, t.ID, c.Capacity, c.Length, rows, t.Rows)
		}
	}
	return t, nil
}

// arena reports whether a column has the elements of a column of spans.
func (t *TableView) arena(c *ColumnView) bool {
	if c.ID < 256 {
		return false
	}
	spans := t.Column(c.ID-256, c.Arg)
	return spans != nil && spans.Type == 7
}

// elementSize is the size of an element, from the table before ABI-4.8.
func elementSize(t abi.Type) uint32 {
	switch t {
	case 1, 12:
		return 1
	case 2:
		return 2
	case 3, 5:
		return 4
	case 4, 6, 7, 8, 10:
		return 8
	case 9:
		return 12
	case 11:
		return 16
	}
	return 0
}

// Table returns a table, nil if there is none.
func (s *Snapshot) Table(id abi.TableID) *TableView {
	for i := range s.Tables {
		if s.Tables[i].ID == id {
			return &s.Tables[i]
		}
	}
	return nil
}

// Column returns a column, nil if there is none.
func (t *TableView) Column(id abi.ColumnID, arg uint32) *ColumnView {
	for i := range t.Columns {
		if c := &t.Columns[i]; c.ID == id && c.Arg == arg {
			return c
		}
	}
	return nil
}

// HasRow reports whether the table has a row number: a row, or an overlay row (ABI-4.4).
func (t *TableView) HasRow(row uint32) bool {
	return row < t.Rows || row >= t.Capacity && uint64(row) < uint64(t.Capacity)+uint64(t.Overlays)
}

// Element returns the bytes of a row's element.
func (c *ColumnView) Element(row uint32) ([]byte, error) {
	if row >= c.Capacity {
		return nil, decodeError("ABI-4.3", "element %d of column %d, which has %d", row, c.ID, c.Capacity)
	}
	size := elementSize(c.Type)
	return c.Data[uint64(row)*uint64(size):][:size:size], nil
}

// List returns the bytes of the elements of a row in a column of spans, and their type
// (ABI-4.8).
func (t *TableView) List(id abi.ColumnID, arg, row uint32) ([]byte, abi.Type, error) {
	spans, arena := t.Column(id, arg), t.Column(id+256, arg)
	if spans == nil || arena == nil || spans.Type != 7 {
		return nil, 0, decodeError("ABI-4.8", "column %d (%d) of table %d has no spans or no arena", id, arg, t.ID)
	}
	span, err := spans.Element(row)
	if err != nil {
		return nil, 0, err
	}
	start, n := uint64(get32(span, 0)), uint64(get32(span, 4))
	if n == 0 {
		return nil, arena.Type, nil
	}
	if start+n > uint64(arena.Length) {
		return nil, 0, decodeError("ABI-4.8", "row %d of column %d spans elements %d to %d of an arena of %d", row, id, start, start+n, arena.Length)
	}
	size := uint64(elementSize(arena.Type))
	return arena.Data[start*size : (start+n)*size], arena.Type, nil
}
