package bounded_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// pod, meta, spec, container and variable have fields with the tags of Kubernetes' types, and room as theirs have.
type pod struct {
	Meta meta `protobuf:"bytes,1,opt,name=metadata"`
	Spec spec `protobuf:"bytes,2,opt,name=spec"`
}

type meta struct {
	Labels map[string]string `protobuf:"bytes,11,rep,name=labels"`
}

type spec struct {
	Volumes    []variable  `protobuf:"bytes,1,rep,name=volumes"`
	Containers []container `protobuf:"bytes,2,rep,name=containers"`
	Affinity   *spec       `protobuf:"bytes,18,opt,name=affinity"`
}

type container struct {
	Name    string     `protobuf:"bytes,1,opt,name=name"`
	Command []string   `protobuf:"bytes,3,rep,name=command"`
	Env     []variable `protobuf:"bytes,7,rep,name=env"`
	Room    [60]int64
}

type variable struct {
	Name string `protobuf:"bytes,1,opt,name=name"`
	Room [4]int64
}

// field writes a field of a message that has a length.
func field(number uint64, value []byte) []byte {
	out := binary.AppendUvarint(nil, number<<3|2)
	return append(binary.AppendUvarint(out, uint64(len(value))), value...)
}

// TestProtobufBombs: a message whose values take more than the budget is refused, wherever they are.
func TestProtobufBombs(t *testing.T) {
	const most, n = 4 << 20, 100_000
	many := func(value []byte) []byte { return bytes.Repeat(value, n) }
	inSpec := func(value []byte) []byte { return field(2, value) }
	entries := func() (out []byte) {
		for i := range uint64(n) {
			out = append(out, field(11, append(field(1, binary.AppendUvarint(nil, i)), field(2, nil)...))...)
		}
		return out
	}
	for name, message := range map[string][]byte{
		"empty containers":      inSpec(many(field(2, nil))),
		"empty volumes":         inSpec(many(field(1, nil))),
		"empty environments":    inSpec(field(2, many(field(7, nil)))),
		"labels":                field(1, entries()),
		"empty commands":        inSpec(field(2, bytes.Repeat(field(3, nil), 2*n))),
		"pointers":              inSpec(field(18, field(18, field(18, many(field(1, nil)))))),
		"a specification twice": append(inSpec(bytes.Repeat(field(2, nil), n/2)), inSpec(bytes.Repeat(field(2, nil), n/2))...),
	} {
		b := bounded.Budget{Left: most}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := b.Protobuf(message, &pod{})
		runtime.ReadMemStats(&after)
		if !errors.As(err, new(*bounded.TooLarge)) {
			t.Errorf("%s: got %v, want *TooLarge", name, err)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 1<<20 {
			t.Errorf("%s: %d bytes are allocated", name, made)
		}
	}
}

// TestProtobufDamaged: what is no message is an error and nothing else, wherever it ends.
func TestProtobufDamaged(t *testing.T) {
	for name, message := range map[string][]byte{
		"a length beyond the end": {0x12, 0x7f},
		"a length of 2^64 - 1":    append([]byte{0x12}, bytes.Repeat([]byte{0xff}, 9)...),
		"a group":                 {0x13, 0x14},
		"a tag without an end":    bytes.Repeat([]byte{0x80}, 11),
		"half a number":           {0x11, 1, 2, 3},
	} {
		b := bounded.Budget{Left: 1 << 20}
		if err := b.Protobuf(message, &pod{}); err == nil || errors.As(err, new(*bounded.TooLarge)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	var deep []byte
	for range 10_000 {
		deep = field(1, deep)
	}
	b := bounded.Budget{Left: 1 << 20}
	if err := b.Protobuf(deep, &nested{}); err == nil || errors.As(err, new(*bounded.TooLarge)) {
		t.Errorf("10,000 messages in each other: %v", err)
	}
	whole := field(2, field(2, field(1, []byte("name"))))
	for end := 1; end < len(whole); end++ {
		b := bounded.Budget{Left: 1 << 20}
		if err := b.Protobuf(whole[:end], &pod{}); err == nil {
			t.Errorf("%d of %d bytes are a message", end, len(whole))
		}
	}
}

type nested struct {
	More *nested `protobuf:"bytes,1,opt,name=more"`
}
