package wire

import (
	"encoding/binary"

	"github.com/berth-scheduler/berth/abi"
)

// PodBuilder builds a pod record (SPEC.md, section 6). Fields must be added in ascending order
// of (id, arg). It can be reused.
type PodBuilder struct {
	fields []podField
	data   []byte
	record []byte
}

type podField struct {
	id         abi.ColumnID
	arg        uint32
	at, length uint32
}

// Reset removes all fields.
func (b *PodBuilder) Reset() { b.fields, b.data = b.fields[:0], b.data[:0] }

// Field begins a field; elements are appended after it.
func (b *PodBuilder) Field(id abi.ColumnID, arg uint32) {
	for len(b.data)%8 != 0 {
		b.data = append(b.data, 0)
	}
	b.fields = append(b.fields, podField{id: id, arg: arg, at: uint32(len(b.data))})
}

// count adds one element to the last field.
func (b *PodBuilder) count() { b.fields[len(b.fields)-1].length++ }

// Text appends the bytes of a string as elements.
func (b *PodBuilder) Text(s string) {
	b.data = append(b.data, s...)
	b.fields[len(b.fields)-1].length += uint32(len(s))
}

// ID appends a string id.
func (b *PodBuilder) ID(id uint32) {
	b.data = binary.LittleEndian.AppendUint32(b.data, id)
	b.count()
}

// I64 appends a number.
func (b *PodBuilder) I64(v int64) {
	b.data = binary.LittleEndian.AppendUint64(b.data, uint64(v))
	b.count()
}

// Pair appends a label.
func (b *PodBuilder) Pair(p Pair) {
	b.data = binary.LittleEndian.AppendUint32(b.data, p.Key)
	b.data = binary.LittleEndian.AppendUint32(b.data, p.Value)
	b.count()
}

// Port appends a host port.
func (b *PodBuilder) Port(p Port) {
	b.data = binary.LittleEndian.AppendUint32(b.data, p.IP)
	b.data = binary.LittleEndian.AppendUint16(b.data, p.Port)
	b.data = append(b.data, byte(p.Protocol), 0)
	b.count()
}

// Toleration is one toleration of the incoming pod.
type Toleration struct {
	Key, Value uint32
	Operator   TolerationOperator
	Effect     Effect // 0 for all
	Seconds    int64  // −1 for none
}

// TolerationOperator is how a toleration matches.
type TolerationOperator uint32

// The operators.
const (
	Equal TolerationOperator = iota + 1
	Exists
)

// Toleration appends a toleration.
func (b *PodBuilder) Toleration(t Toleration) {
	for _, v := range [...]uint32{t.Key, t.Value, uint32(t.Operator), uint32(t.Effect)} {
		b.data = binary.LittleEndian.AppendUint32(b.data, v)
	}
	b.data = binary.LittleEndian.AppendUint64(b.data, uint64(t.Seconds))
	b.count()
}

// RequirementOperator is how a requirement of a node selector matches.
type RequirementOperator uint32

// The operators of core/v1 NodeSelectorRequirement.
const (
	OpIn RequirementOperator = iota + 1
	OpNotIn
	OpExists
	OpDoesNotExist
	OpGt
	OpLt
)

// Requirement is one requirement; First and Count are elements of field abi.PodRequirementIDs.
type Requirement struct {
	Key          uint32
	Op           RequirementOperator
	First, Count uint32
	Number       int64
}

// Requirement appends a requirement.
func (b *PodBuilder) Requirement(r Requirement) {
	for _, v := range [...]uint32{r.Key, uint32(r.Op), r.First, r.Count} {
		b.data = binary.LittleEndian.AppendUint32(b.data, v)
	}
	b.data = binary.LittleEndian.AppendUint64(b.data, uint64(r.Number))
	b.count()
}

// Bits of a term's flags.
const (
	TermUnusable uint32 = 1 << iota
	TermHasFields
)

// Term is one term; First and Count are elements of field abi.PodRequirements.
type Term struct {
	First, Count uint32
	Weight       int32
	Flags        uint32
}

// Term appends a term.
func (b *PodBuilder) Term(t Term) {
	for _, v := range [...]uint32{t.First, t.Count, uint32(t.Weight), t.Flags} {
		b.data = binary.LittleEndian.AppendUint32(b.data, v)
	}
	b.count()
}

// ContainerKind is the role of a container.
type ContainerKind uint32

// The kinds of containers. A sidecar is an init container that runs beside the others (KEP-753).
const (
	AppContainer ContainerKind = iota + 1
	InitContainer
	Sidecar
)

// Container is one container; First is that of its elements of field abi.IncomingContainerAmounts.
type Container struct {
	Name         uint32
	Kind         ContainerKind
	Image, First uint32
}

// Container appends a container.
func (b *PodBuilder) Container(c Container) {
	for _, v := range [...]uint32{c.Name, uint32(c.Kind), c.Image, c.First} {
		b.data = binary.LittleEndian.AppendUint32(b.data, v)
	}
	b.count()
}

// Bytes returns the record, valid until the next Reset.
func (b *PodBuilder) Bytes() []byte {
	start := (abi.PodHeaderSize + abi.PodFieldSize*len(b.fields) + 7) &^ 7
	r := append(b.record[:0], make([]byte, start)...)
	put32(r, abi.PodFieldCount, uint32(len(b.fields)))
	put32(r, abi.PodSize, uint32(start+len(b.data)))
	for i, f := range b.fields {
		e := r[abi.PodHeaderSize+abi.PodFieldSize*i:]
		put32(e, abi.PodFieldID, uint32(f.id))
		put32(e, abi.PodFieldArg, f.arg)
		put32(e, abi.PodFieldOffset, uint32(start)+f.at)
		put32(e, abi.PodFieldLength, f.length)
	}
	b.record = append(r, b.data...)
	return b.record
}
