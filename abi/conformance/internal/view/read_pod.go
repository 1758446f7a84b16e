package view

import (
	"fmt"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Pod reads a pod record (ABI-6).
//
// # Errors
//
// All wrap wire.ErrDecode and name the violated sentence of SPEC.md.
func (r *Reader) Pod(record []byte) (Cells, error) {
	p, err := wire.DecodePod(record)
	if err != nil {
		return nil, err
	}
	out := Cells{}
	for i := range p.Fields {
		f := &p.Fields[i]
		if r.entries[f.ID].Refers {
			continue // shown where they are referenced
		}
		text, err := r.field(p, f)
		if err != nil {
			return nil, fmt.Errorf("pod field %d.%d: %w", f.ID, f.Arg, err)
		}
		out[Key(f.ID, int(f.Arg))] = text
	}
	return out, nil
}

func (r *Reader) field(p *wire.PodView, f *wire.FieldView) (string, error) {
	e, known := r.entries[f.ID]
	if !known || e.Table != fields.Record {
		return "", mistake("ABI-6.2", "an unknown field")
	}
	if e.Count > 0 && int(f.Count) != e.Count {
		return "", mistake("ABI-6.2", "%d elements, expected %d", f.Count, e.Count)
	}
	switch {
	case e.Type == abi.TypeBytes:
		return quote(string(f.Data)), nil
	case e.Count == 1 && e.Type == abi.TypeU32:
		return r.String(u32(f.Data))
	case e.Count > 0 && e.Type == abi.TypeI64:
		var all []string
		for data := f.Data; len(data) > 0; data = data[8:] {
			all = append(all, number(i64(data)))
		}
		return strings.Join(all, ", "), nil
	}
	if e.ID == abi.IncomingContainers {
		return r.containers(p, f)
	}
	size := e.ElementSize()
	var all []string
	for data := f.Data; len(data) > 0; data = data[size:] {
		text, err := r.podElement(p, &e, data[:size])
		if err != nil {
			return "", err
		}
		all = append(all, text)
	}
	return list(all), nil
}

func (r *Reader) containers(p *wire.PodView, f *wire.FieldView) (string, error) {
	amounts := p.Field(abi.IncomingContainerAmounts, 0)
	if amounts == nil {
		return "", mistake("ABI-6.8", "containers, but not what they request")
	}
	var all []string
	for data := f.Data; len(data) > 0; data = data[abi.ContainerSize:] {
		name, err := r.String(u32(data))
		if err != nil {
			return "", err
		}
		image, err := r.String(u32(data[8:]))
		if err != nil {
			return "", err
		}
		kind, first := u32(data[4:]), uint64(u32(data[12:]))
		if kind < 1 || kind > 3 {
			return "", mistake("ABI-6.8", "a container of kind %d", kind)
		}
		text := fmt.Sprintf("%s %d %s", name, kind, image)
		for i := range uint64(amounts.Count / f.Count / 2) {
			if first+2*i+2 > uint64(amounts.Count) {
				return "", mistake("ABI-6.8", "a container of amounts from %d on, which do not exist", first)
			}
			of := amounts.Data[8*(first+2*i):]
			text += fmt.Sprintf(" %d/%d", i64(of), i64(of[8:]))
		}
		all = append(all, "("+text+")")
	}
	return strings.Join(all, " "), nil
}

func (r *Reader) podElement(p *wire.PodView, f *fields.Entry, e []byte) (string, error) {
	switch {
	case f.Type == abi.TypeU32:
		return r.String(u32(e))
	case f.Type != 0:
		return r.element(f.Type, e)
	case f.ID == abi.PodNodeSelector:
		return r.requirement(p, e)
	case f.ID == abi.PodTolerations:
		return r.toleration(e)
	}
	return r.term(p, e)
}

func (r *Reader) term(p *wire.PodView, e []byte) (string, error) {
	first, count := uint64(u32(e)), uint64(u32(e[4:]))
	requirements := p.Field(abi.PodRequirements, 0)
	if count > 0 && (requirements == nil || first+count > uint64(requirements.Count)) {
		return "", mistake("ABI-6.3", "a term of requirements %d to %d, which do not exist", first, first+count)
	}
	var all []string
	for i := first; i < first+count; i++ {
		text, err := r.requirement(p, requirements.Data[abi.RequirementSize*i:])
		if err != nil {
			return "", err
		}
		all = append(all, text)
	}
	return fmt.Sprintf("{%s weight=%d flags=%d}", list(all), int32(u32(e[8:])), u32(e[12:])), nil
}

func (r *Reader) requirement(p *wire.PodView, e []byte) (string, error) {
	key, err := r.String(u32(e))
	if err != nil {
		return "", err
	}
	operators := []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}
	op := u32(e[4:])
	if op < 1 || int(op) > len(operators) {
		return "", mistake("ABI-6.3", "operator %d", op)
	}
	operator := operators[op-1]
	if operator == "Gt" || operator == "Lt" {
		return fmt.Sprintf("(%s %s %d)", key, operator, i64(e[16:])), nil
	}
	first, count := uint64(u32(e[8:])), uint64(u32(e[12:]))
	ids := p.Field(abi.PodRequirementIDs, 0)
	if count > 0 && (ids == nil || first+count > uint64(ids.Count)) {
		return "", mistake("ABI-6.3", "a requirement of strings %d to %d, which do not exist", first, first+count)
	}
	var values []string
	for i := first; i < first+count; i++ {
		text, err := r.String(u32(ids.Data[4*i:]))
		if err != nil {
			return "", err
		}
		values = append(values, text)
	}
	return fmt.Sprintf("(%s %s %s)", key, operator, list(values)), nil
}

func (r *Reader) toleration(e []byte) (string, error) {
	key, err := r.String(u32(e))
	if err != nil {
		return "", err
	}
	value, err := r.String(u32(e[4:]))
	if err != nil {
		return "", err
	}
	operators := []string{"Equal", "Exists"}
	effects := []string{"all", "NoSchedule", "PreferNoSchedule", "NoExecute"}
	operator, effect := u32(e[8:]), u32(e[12:])
	if operator < 1 || operator > 2 || effect > 3 {
		return "", mistake("ABI-6.2, field 131", "operator %d, effect %d", operator, effect)
	}
	return strings.Join([]string{"(" + key, operators[operator-1], value, effects[effect], number(i64(e[16:])) + ")"}, " "), nil
}
