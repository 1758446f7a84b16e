package view

import (
	"fmt"
	"strings"

	"github.com/berth-scheduler/berth/abi"
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
		if f.ID == abi.PodRequirements || f.ID == abi.PodRequirementIDs {
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
	switch f.ID {
	case abi.PodName, abi.PodNodeName, abi.IncomingUID:
		return quote(string(f.Data)), nil
	case abi.IncomingNamespace, abi.IncomingOwner, abi.IncomingAnnotations:
		if f.Count != 1 {
			return "", mistake("ABI-6.2", "%d elements, expected one", f.Count)
		}
		return r.String(u32(f.Data))
	case abi.IncomingPriority, abi.IncomingRequests:
		if f.Count != 1 {
			return "", mistake("ABI-6.2", "%d elements, expected one", f.Count)
		}
		return number(i64(f.Data)), nil
	case abi.IncomingNonZero:
		if f.Count != 2 {
			return "", mistake("ABI-6.2", "%d elements, expected two", f.Count)
		}
		return fmt.Sprintf("%d, %d", i64(f.Data), i64(f.Data[8:])), nil
	}
	size := map[abi.ColumnID]int{
		abi.PodHostPorts: 8, abi.PodImages: 4, abi.PodSchedulingGates: 4, abi.IncomingLabels: 8, abi.IncomingNamespaceLabels: 8,
		abi.PodRequiredTerms: abi.TermSize, abi.PodPreferredTerms: abi.TermSize,
		abi.PodNodeSelector: abi.RequirementSize, abi.PodTolerations: abi.TolerationSize,
	}[f.ID]
	if size == 0 {
		return "", mistake("ABI-6.2", "an unknown field")
	}
	var all []string
	for data := f.Data; len(data) > 0; data = data[size:] {
		text, err := r.podElement(p, f.ID, data[:size])
		if err != nil {
			return "", err
		}
		all = append(all, text)
	}
	return list(all), nil
}

func (r *Reader) podElement(p *wire.PodView, id abi.ColumnID, e []byte) (string, error) {
	switch id {
	case abi.PodHostPorts:
		return r.element(abi.TypePort, e)
	case abi.PodImages, abi.PodSchedulingGates:
		return r.String(u32(e))
	case abi.IncomingLabels, abi.IncomingNamespaceLabels:
		return r.element(abi.TypePair, e)
	case abi.PodNodeSelector:
		return r.requirement(p, e)
	case abi.PodTolerations:
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
