package wire

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

// String returns the string of an id as text: quoted, or - if absent.
func (s *Snapshot) String(id uint32) (string, error) {
	if id == 0 {
		return "-", nil
	}
	t := s.Table(3)
	if t == nil {
		return "", decodeError("ABI-4.12", "there is no strings table")
	}
	if id >= t.Rows {
		return "", decodeError("ABI-4.6", "string id %d of %d", id, t.Rows)
	}
	text, _, err := t.List(192, 0, id)
	return strconv.Quote(string(text)), err
}

// Row returns a row as text, with an entry for each column other than arenas, by id and arg:
// "3.0" for column 3, arg 0. String ids are resolved, lists are in order.
func (s *Snapshot) Row(id abi.TableID, row uint32) (map[string]string, error) {
	t := s.Table(id)
	if t == nil {
		return nil, decodeError("ABI-4.2", "there is no table %d", id)
	}
	if !t.HasRow(row) {
		return nil, decodeError("ABI-4.4", "table %d has no row %d", id, row)
	}
	out := make(map[string]string, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		if t.arena(c) {
			continue
		}
		text, err := s.cell(t, c, row)
		if err != nil {
			return nil, fmt.Errorf("table %d row %d column %d.%d: %w", id, row, c.ID, c.Arg, err)
		}
		out[fmt.Sprintf("%d.%d", c.ID, c.Arg)] = text
	}
	return out, nil
}

func (s *Snapshot) cell(t *TableView, c *ColumnView, row uint32) (string, error) {
	if c.Type == 7 {
		data, kind, err := t.List(c.ID, c.Arg, row)
		if err != nil {
			return "", err
		}
		// The pods of a node, and those nominated to it, are slots, not strings.
		return s.list(data, kind, t.ID == 1 && (c.ID == 12 || c.ID == 167))
	}
	e, err := c.Element(row)
	if err != nil {
		return "", err
	}
	return s.element(e, c.Type, false)
}

// list returns the elements of a type as text.
func (s *Snapshot) list(data []byte, kind abi.Type, plain bool) (string, error) {
	if kind == 12 {
		return strconv.Quote(string(data)), nil
	}
	size := int(elementSize(kind))
	var out []string
	for ; len(data) >= size && size > 0; data = data[size:] {
		text, err := s.element(data[:size], kind, plain)
		if err != nil {
			return "", err
		}
		out = append(out, text)
	}
	return "[" + strings.Join(out, " ") + "]", nil
}

// element returns an element as text. Every u32 is a string id unless plain is true.
func (s *Snapshot) element(e []byte, kind abi.Type, plain bool) (string, error) {
	switch kind {
	case 1:
		return strconv.Itoa(int(e[0])), nil
	case 2:
		return strconv.Itoa(int(get16(e, 0))), nil
	case 3:
		if plain {
			return strconv.FormatUint(uint64(get32(e, 0)), 10), nil
		}
		return s.String(get32(e, 0))
	case 4:
		return strconv.FormatUint(get64(e, 0), 10), nil
	case 5:
		return strconv.Itoa(int(int32(get32(e, 0)))), nil
	case 6:
		return strconv.FormatInt(int64(get64(e, 0)), 10), nil
	case 8:
		return s.join("=", "", get32(e, 0), get32(e, 4))
	case 9:
		effects := [...]string{"?", "NoSchedule", "PreferNoSchedule", "NoExecute"}
		effect := get32(e, 8)
		if effect == 0 || int(effect) >= len(effects) {
			return "", decodeError("ABI-4.7", "taint effect %d", effect)
		}
		return s.join("=", ":"+effects[effect], get32(e, 0), get32(e, 4))
	case 10:
		protocols := [...]string{"?", "TCP", "UDP", "SCTP"}
		protocol := e[6]
		if protocol == 0 || int(protocol) >= len(protocols) || e[7] != 0 {
			return "", decodeError("ABI-4.7", "protocol %d, %d", protocol, e[7])
		}
		return s.join("", fmt.Sprintf(":%d/%s", get16(e, 4), protocols[protocol]), get32(e, 0))
	case 11:
		if get32(e, 4) != 0 {
			return "", decodeError("ABI-4.7", "an image has %d instead of zero", get32(e, 4))
		}
		return s.join("", fmt.Sprintf(":%d", int64(get64(e, 8))), get32(e, 0))
	case 12:
		return strconv.Quote(string(e)), nil
	}
	return "", decodeError("ABI-4.5", "type %d", kind)
}

// join returns strings with a separator between them and text after them.
func (s *Snapshot) join(separator, after string, ids ...uint32) (string, error) {
	var out []string
	for _, id := range ids {
		text, err := s.String(id)
		if err != nil {
			return "", err
		}
		out = append(out, text)
	}
	return strings.Join(out, separator) + after, nil
}
