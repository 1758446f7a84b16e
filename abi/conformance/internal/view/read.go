package view

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Reader reads a snapshot in guest memory (ABI-4).
type Reader struct {
	s       *wire.Snapshot
	entries map[abi.ColumnID]fields.Entry
}

// NewReader returns a reader of a snapshot.
func NewReader(s *wire.Snapshot) *Reader { return &Reader{s, entriesByID()} }

func u16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }
func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func i64(b []byte) int64  { return int64(binary.LittleEndian.Uint64(b)) }

// Snapshot reads the tables of nodes, pods and namespaces.
//
// # Errors
//
// All wrap wire.ErrDecode and name the violated sentence of SPEC.md.
func (r *Reader) Snapshot() (*Snapshot, error) {
	out := &Snapshot{}
	nodes := r.s.Table(abi.TableNodes)
	if nodes == nil {
		return nil, fmt.Errorf("%w (ABI-4.2): there is no nodes table", wire.ErrDecode)
	}
	for row := range nodes.Rows {
		cells, err := r.Row(nodes, row)
		if err != nil {
			return nil, err
		}
		out.Nodes = append(out.Nodes, cells)
	}
	namespaces := r.s.Table(abi.TableNamespaces)
	if out.HasNamespaces = namespaces != nil; !out.HasNamespaces {
		return out, nil
	}
	for row := range namespaces.Rows {
		cells, err := r.Row(namespaces, row)
		if err != nil {
			return nil, err
		}
		if name, named := cells[Key(abi.NamespaceName, 0)]; named && name == absent {
			for key, cell := range cells {
				if !slices.Contains([]string{absent, number(0), list(nil)}, cell) {
					return nil, fmt.Errorf("%w (ABI-4.14): row %d has no namespace, and %s is %s", wire.ErrDecode, row, key, cell)
				}
			}
			continue
		}
		out.Namespaces = append(out.Namespaces, cells)
	}
	return out, nil
}

// Row reads a row of a table. For a row of nodes, the pods are in the cell of column 12.
func (r *Reader) Row(t *wire.TableView, row uint32) (Cells, error) {
	out := Cells{}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.ID >= abi.ArenaOf && t.Column(c.ID-abi.ArenaOf, c.Arg) != nil {
			continue
		}
		text, err := r.cell(t, c, row)
		if err != nil {
			return nil, fmt.Errorf("table %d, row %d, column %d.%d: %w", t.ID, row, c.ID, c.Arg, err)
		}
		out[Key(c.ID, int(c.Arg))] = text
	}
	return out, nil
}

// mistake is an error about a value that no sentence allows.
func mistake(rule, format string, args ...any) error {
	return fmt.Errorf("%w (%s): %s", wire.ErrDecode, rule, fmt.Sprintf(format, args...))
}

func (r *Reader) cell(t *wire.TableView, c *wire.ColumnView, row uint32) (string, error) {
	if e, known := r.entries[c.ID]; known {
		want := e.Type
		if e.Span {
			want = abi.TypeSpan
		}
		if c.Type != want {
			return "", mistake("ABI-4", "the type is %d, expected %d", c.Type, want)
		}
	}
	if c.Type != abi.TypeSpan {
		e, err := c.Element(row)
		if err != nil {
			return "", err
		}
		return r.scalar(c.Type, e)
	}
	data, kind, err := t.List(c.ID, c.Arg, row)
	if err != nil {
		return "", err
	}
	if kind == abi.TypeBytes {
		return quote(string(data)), nil
	}
	var all []string
	size := kind.Size()
	for ; size > 0 && len(data) >= size; data = data[size:] {
		var text string
		switch c.ID {
		case abi.NodePods, abi.NodeNominated:
			text, err = r.placed(u32(data))
		default:
			if r.entries[c.ID].List == fields.ObjectColumns {
				text, err = r.scalar(kind, data)
			} else {
				text, err = r.element(kind, data)
			}
		}
		if err != nil {
			return "", err
		}
		all = append(all, text)
	}
	if e, known := r.entries[c.ID]; known && e.List == fields.ObjectColumns {
		return inOrder(all), nil
	}
	return list(all), nil
}

// placed reads the pod in a slot.
func (r *Reader) placed(slot uint32) (string, error) {
	pods := r.s.Table(abi.TablePods)
	if pods == nil {
		return Cells{}.text(), nil
	}
	if slot >= pods.Rows {
		return "", mistake("ABI-4, column 12", "slot %d of %d", slot, pods.Rows)
	}
	cells, err := r.Row(pods, slot)
	return cells.text(), err
}

func (r *Reader) scalar(kind abi.Type, e []byte) (string, error) {
	switch kind {
	case abi.TypeU8:
		return number(int64(e[0])), nil
	case abi.TypeU32:
		return r.String(u32(e))
	case abi.TypeU64:
		return strconv.FormatUint(uint64(i64(e)), 10), nil
	case abi.TypeI32:
		return number(int64(int32(u32(e)))), nil
	case abi.TypeI64:
		return number(i64(e)), nil
	}
	return "", mistake("ABI-4", "a column of type %d", kind)
}

// element reads an element of an arena.
func (r *Reader) element(kind abi.Type, e []byte) (string, error) {
	first, err := r.String(u32(e))
	if err != nil {
		return "", err
	}
	switch kind {
	case abi.TypePair, abi.TypeTaint:
		second, err := r.String(u32(e[4:]))
		if err != nil || kind == abi.TypePair {
			return first + "=" + second, err
		}
		effects := []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}
		effect := u32(e[8:])
		if effect < 1 || effect > 3 {
			return "", mistake("ABI-4, type 9", "effect %d", effect)
		}
		return first + "=" + second + ":" + effects[effect-1], nil
	case abi.TypePort:
		protocols := []string{"TCP", "UDP", "SCTP"}
		if e[6] < 1 || e[6] > 3 || e[7] != 0 {
			return "", mistake("ABI-4, type 10", "protocol %d and then %d", e[6], e[7])
		}
		return fmt.Sprintf("%s:%d/%s", first, u16(e[4:]), protocols[e[6]-1]), nil
	case abi.TypeImage:
		if u32(e[4:]) != 0 {
			return "", mistake("ABI-4, type 11", "%d instead of zero", u32(e[4:]))
		}
		return fmt.Sprintf("%s:%d", first, i64(e[8:])), nil
	}
	return "", mistake("ABI-4", "an arena of type %d", kind)
}

// String returns the string of an id, quoted, or - if absent (ABI-4.6).
func (r *Reader) String(id uint32) (string, error) {
	text, err := r.s.String(id)
	if err == nil && id == 0 {
		return absent, nil
	}
	return text, err
}

// entriesByID returns the entries that modules can read.
func entriesByID() map[abi.ColumnID]fields.Entry {
	out := map[abi.ColumnID]fields.Entry{}
	for _, e := range fields.All() {
		if !e.Native && !e.Reserved {
			out[e.ID] = e
		}
	}
	return out
}

// Strings checks the strings table: row 0 is empty, and no string has two ids (ABI-4.6,
// ABI-4.13).
func (r *Reader) Strings() error {
	t := r.s.Table(abi.TableStrings)
	if t == nil {
		return mistake("ABI-4.13", "there is no strings table")
	}
	var seen []string
	for row := range t.Rows {
		text, _, err := t.List(abi.StringBytes, 0, row)
		if err != nil {
			return err
		}
		if row == 0 {
			if len(text) > 0 {
				return mistake("ABI-4.13", "row 0 is %q", text)
			}
			continue
		}
		seen = append(seen, string(text))
	}
	slices.Sort(seen)
	if len(slices.Compact(seen)) != int(max(t.Rows, 1))-1 {
		return mistake("ABI-4.6", "a string has two ids")
	}
	return nil
}
