package dynamicresources

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

// answer is the value of a CEL expression for a device.
type answer uint8

const (
	no answer = iota + 1
	yes
	fails
)

// mostAnswerBytes is how much memory the kept answers may take, before all are forgotten.
const mostAnswerBytes = 64 << 20

// answerOverhead is what a kept answer takes besides its key.
const answerOverhead = 64

// answers keeps the values of CEL expressions for devices. An answer is kept for all devices of which the expression
// reads the same, so that an attribute that no expression reads, such as a serial number, costs nothing.
type answers struct {
	cache       *cel.Cache
	expressions map[string]*expression
	bytes       int
	key         []byte
	programs    int // that were run
}

// expression is a compiled expression, and what it said.
type expression struct {
	compiled cel.CompilationResult
	reads    reads
	kept     map[string]answer
}

// subject is a device about which expressions are asked.
type subject struct {
	cel.Device
	// special are the names of attributes that matter to every expression, sorted: the library parses versions,
	// and fails for values that it does not know, whether they are read or not.
	special []resourcev1.QualifiedName
}

func subjectOf(d cel.Device) subject {
	s := subject{Device: d}
	for name, a := range d.Attributes {
		if a.IntValue == nil && a.BoolValue == nil && a.StringValue == nil {
			s.special = append(s.special, name)
		}
	}
	slices.Sort(s.special)
	return s
}

func aboutDevice(s *resourcev1.ResourceSlice, d *resourcev1.Device) subject {
	return subjectOf(cel.Device{
		Driver: s.Spec.Driver, AllowMultipleAllocations: d.AllowMultipleAllocations, Attributes: d.Attributes, Capacity: d.Capacity,
	})
}

// of returns what an expression says of a device, and nothing if the context ended before. What an answer may cost is
// bounded by the library.
func (a *answers) of(ctx context.Context, text string, s *subject) answer {
	e := a.expressions[text]
	if e == nil {
		if len(a.expressions) >= compiledExpressions {
			a.forget()
		}
		e = &expression{compiled: a.cache.GetOrCompile(text), kept: make(map[string]answer)}
		e.reads = readsOf(&e.compiled)
		a.expressions[text] = e
	}
	if e.compiled.Error != nil {
		return fails
	}
	a.key = e.reads.appendTo(a.key[:0], s)
	if kept := e.kept[string(a.key)]; kept != 0 {
		return kept
	}
	a.programs++
	said := no
	switch ok, _, err := e.compiled.DeviceMatches(ctx, s.Device); {
	case ctx.Err() != nil:
		return 0
	case err != nil:
		said = fails
	case ok:
		said = yes
	}
	if a.bytes += len(a.key) + answerOverhead; a.bytes > mostAnswerBytes {
		a.forget()
		return said
	}
	e.kept[string(a.key)] = said
	return said
}

// all returns yes if all selectors select a device, else the first other answer.
func (a *answers) all(ctx context.Context, selectors []resourcev1.DeviceSelector, s *subject) answer {
	for i := range selectors {
		if selectors[i].CEL == nil {
			continue
		}
		if said := a.of(ctx, selectors[i].CEL.Expression, s); said != yes {
			return said
		}
	}
	return yes
}

func (a *answers) forget() {
	clear(a.expressions)
	a.bytes = 0
}

// appendTo appends what an expression reads of a device.
func (r *reads) appendTo(b []byte, s *subject) []byte {
	b = appendString(b, s.Driver)
	b = append(b, bit(ptr.Deref(s.AllowMultipleAllocations, false)))
	var rest resourcev1.Device
	if r.capacity {
		rest.Capacity = s.Capacity
	}
	if r.all {
		rest.Attributes = s.Attributes
	} else {
		for i := range r.attributes {
			b = appendAttribute(b, s.Driver, s.Attributes, &r.attributes[i])
		}
		for _, name := range s.special {
			b = appendString(b, string(name))
			b = appendValue(b, s.Attributes[name])
		}
	}
	if len(rest.Capacity) == 0 && len(rest.Attributes) == 0 {
		return b
	}
	return appendMessage(b, &rest)
}

// attribute is the name of an attribute in full.
type attribute struct {
	full, domain, id string
}

func attributeOf(full string) attribute {
	domain, id, _ := strings.Cut(full, "/")
	return attribute{full, domain, id}
}

func (a attribute) compare(b attribute) int { return strings.Compare(a.full, b.full) }

// appendAttribute appends the value of an attribute. Devices may leave out the domain if that is their driver's.
func appendAttribute(b []byte, driver string, of map[resourcev1.QualifiedName]resourcev1.DeviceAttribute, a *attribute) []byte {
	for _, name := range [...]string{a.full, a.id} {
		if value, ok := of[resourcev1.QualifiedName(name)]; ok && (name == a.full || driver == a.domain) {
			b = appendValue(b, value)
		} else {
			b = append(b, '-')
		}
	}
	return b
}

func appendValue(b []byte, a resourcev1.DeviceAttribute) []byte {
	switch {
	case a.StringValue != nil:
		return appendString(append(b, 's'), *a.StringValue)
	case a.IntValue != nil:
		return binary.AppendVarint(append(b, 'i'), *a.IntValue)
	case a.BoolValue != nil:
		return append(b, 'b', bit(*a.BoolValue))
	case a.VersionValue != nil:
		return appendString(append(b, 'v'), *a.VersionValue)
	}
	return appendMessage(append(b, 'x'), &a)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendMessage(b []byte, m interface{ Marshal() ([]byte, error) }) []byte {
	data, err := m.Marshal()
	if err != nil {
		panic("BUG: a part of a device or claim cannot be encoded: " + err.Error())
	}
	return append(binary.AppendUvarint(b, uint64(len(data))), data...)
}
