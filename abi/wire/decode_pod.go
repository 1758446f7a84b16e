package wire

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
)

// PodView is a pod record (ABI-6).
type PodView struct{ Fields []FieldView }

// FieldView is a field of a pod record.
type FieldView struct {
	ID    abi.ColumnID
	Arg   uint32
	Count uint32
	// Data has Count elements; nil for an unknown id.
	Data []byte
}

// recordField returns the entry of a field; nil for an unknown id.
func recordField(id abi.ColumnID) *fields.Entry {
	e := fields.Of(id)
	if e == nil || id >= abi.ArenaOf || e.Table != fields.Record || e.Native {
		return nil
	}
	return e
}

// DecodePod reads a pod record, which may be followed by other bytes.
//
// # Errors
//
// All wrap ErrDecode and name the violated sentence of SPEC.md.
func DecodePod(record []byte) (*PodView, error) {
	if len(record) < 8 {
		return nil, decodeError("ABI-6.1", "%d bytes", len(record))
	}
	n, size := uint64(get32(record, 0)), uint64(get32(record, 4))
	if size > uint64(len(record)) || 8+16*n > size {
		return nil, decodeError("ABI-6.1", "%d fields and a size of %d in %d bytes", n, size, len(record))
	}
	p := &PodView{Fields: make([]FieldView, 0, n)}
	for i := range n {
		e := record[8+16*i:]
		f := FieldView{ID: abi.ColumnID(get32(e, 0)), Arg: get32(e, 4), Count: get32(e, 12)}
		if i > 0 {
			last := &p.Fields[i-1]
			if f.ID < last.ID || f.ID == last.ID && f.Arg <= last.Arg {
				return nil, decodeError("ABI-6.2", "field %d.%d after %d.%d", f.ID, f.Arg, last.ID, last.Arg)
			}
		}
		if known := recordField(f.ID); known != nil {
			offset := uint64(get32(e, 8))
			end := offset + uint64(f.Count)*uint64(known.ElementSize())
			if offset%8 != 0 || offset < 8+16*n || end > size {
				return nil, decodeError("ABI-6.2", "field %d.%d from %d to %d of %d", f.ID, f.Arg, offset, end, size)
			}
			f.Data = record[offset:end]
		}
		p.Fields = append(p.Fields, f)
	}
	return p, nil
}

// Field returns a field, nil if there is none.
func (p *PodView) Field(id abi.ColumnID, arg uint32) *FieldView {
	for i := range p.Fields {
		if f := &p.Fields[i]; f.ID == id && f.Arg == arg {
			return f
		}
	}
	return nil
}

// Text returns the fields as text by id and arg, with strings of the snapshot. It omits fields
// 148 and 149, which are written where they are used.
func (p *PodView) Text(s *Snapshot) (map[string]string, error) {
	out := make(map[string]string, len(p.Fields))
	for i := range p.Fields {
		f := &p.Fields[i]
		if known := recordField(f.ID); f.Data == nil && f.Count > 0 || known != nil && known.Refers {
			continue
		}
		text, err := p.field(s, f)
		if err != nil {
			return nil, fmt.Errorf("pod field %d.%d: %w", f.ID, f.Arg, err)
		}
		out[fmt.Sprintf("%d.%d", f.ID, f.Arg)] = text
	}
	return out, nil
}

func (p *PodView) field(s *Snapshot, f *FieldView) (string, error) {
	known := recordField(f.ID)
	if known == nil {
		return "[]", nil
	}
	if known.Type != 0 {
		return s.list(f.Data, known.Type, false)
	}
	var out []string
	size := known.ElementSize()
	for data := f.Data; len(data) > 0; data = data[size:] {
		text, err := p.element(s, f.ID, data[:size])
		if err != nil {
			return "", err
		}
		out = append(out, text)
	}
	return "[" + strings.Join(out, " ") + "]", nil
}

func (p *PodView) element(s *Snapshot, id abi.ColumnID, e []byte) (string, error) {
	switch id {
	case 130:
		return p.requirement(s, e)
	case 131:
		operator, effect := get32(e, 8), get32(e, 12)
		if operator < 1 || operator > 2 || effect > 3 {
			return "", decodeError("ABI-6.2", "a toleration of operator %d and effect %d", operator, effect)
		}
		return s.join("=", fmt.Sprintf("/%d/%d/%d", operator, effect, int64(get64(e, 16))), get32(e, 0), get32(e, 4))
	}
	if id == abi.IncomingContainers {
		return p.container(s, e)
	}
	first, count := uint64(get32(e, 0)), uint64(get32(e, 4))
	requirements := p.Field(148, 0)
	if count > 0 && (requirements == nil || first+count > uint64(requirements.Count)) {
		return "", decodeError("ABI-6.3", "a term refers to requirements %d to %d, which do not exist", first, first+count)
	}
	var out []string
	for i := first; i < first+count; i++ {
		text, err := p.requirement(s, requirements.Data[24*i:])
		if err != nil {
			return "", err
		}
		out = append(out, text)
	}
	return fmt.Sprintf("{%s weight=%d flags=%d}", strings.Join(out, ","), int32(get32(e, 8)), get32(e, 12)), nil
}

// container returns name, kind and image, and then what it requests and its limit of each resource.
func (p *PodView) container(s *Snapshot, e []byte) (string, error) {
	containers, amounts := p.Field(abi.IncomingContainers, 0), p.Field(abi.IncomingContainerAmounts, 0)
	kind, first := get32(e, 4), uint64(get32(e, 12))
	each := uint64(0)
	if amounts != nil {
		each = uint64(amounts.Count / containers.Count)
	}
	if kind < 1 || kind > 3 || each > 0 && first+each > uint64(amounts.Count) {
		return "", decodeError("ABI-6.8", "a container of kind %d with amounts from %d on", kind, first)
	}
	text := ""
	for i := range each {
		text += fmt.Sprintf("/%d", int64(get64(amounts.Data, int(8*(first+i)))))
	}
	return s.join(fmt.Sprintf("/%d/", kind), text, get32(e, 0), get32(e, 8))
}

func (p *PodView) requirement(s *Snapshot, e []byte) (string, error) {
	key, err := s.String(get32(e, 0))
	if err != nil {
		return "", err
	}
	operators := [...]string{"?", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}
	operator := get32(e, 4)
	if int(operator) >= len(operators) {
		return "", decodeError("ABI-6.3", "operator %d", operator)
	}
	first, count := uint64(get32(e, 8)), uint64(get32(e, 12))
	ids := p.Field(149, 0)
	if count > 0 && (ids == nil || first+count > uint64(ids.Count)) {
		return "", decodeError("ABI-6.3", "a requirement refers to strings %d to %d, which do not exist", first, first+count)
	}
	var values []string
	for i := first; i < first+count; i++ {
		text, err := s.String(get32(ids.Data, int(4*i)))
		if err != nil {
			return "", err
		}
		values = append(values, text)
	}
	return fmt.Sprintf("%s %s (%s) %s", key, operators[operator], strings.Join(values, " "), strconv.FormatInt(int64(get64(e, 16)), 10)), nil
}
