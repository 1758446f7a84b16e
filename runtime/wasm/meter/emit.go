package meter

import (
	"encoding/binary"

	"github.com/berth-scheduler/berth/abi/wire"
)

// empty is the type of a block without parameters and results.
const empty = 0x40

func appendU32(out []byte, v uint32) []byte { return binary.AppendUvarint(out, uint64(v)) }

func appendSigned(out []byte, v int64) []byte {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// appendName appends the length of a name, or of bytes, and then the name.
func appendName(out []byte, name string) []byte {
	return append(appendU32(out, uint32(len(name))), name...)
}

func appendLimits(out []byte, l wire.Limits) []byte {
	flag := byte(0)
	if l.HasMax {
		flag = 1
	}
	out = appendU32(append(out, flag), l.Min)
	if l.HasMax {
		out = appendU32(out, l.Max)
	}
	return out
}

// code is a sequence of instructions.
type code []byte

func (c *code) op(ops ...byte) { *c = append(*c, ops...) }

// indexed writes an instruction with an index.
func (c *code) indexed(op byte, index int) { *c = appendU32(append(*c, op), uint32(index)) }

func (c *code) i32(v int32) { *c = appendSigned(append(*c, opI32Const), int64(v)) }

func (c *code) i64(v int64) { *c = appendSigned(append(*c, opI64Const), v) }

// typeTable is the type section. Types can be added to it.
type typeTable struct {
	index map[string]int
	added []byte
	n     int
}

func newTypeTable(types []wire.FuncType) typeTable {
	t := typeTable{index: make(map[string]int, len(types)), n: len(types)}
	for i := range types {
		key := string(encodeType(types[i]))
		if _, there := t.index[key]; !there {
			t.index[key] = i
		}
	}
	return t
}

// find returns the index of a type. It adds a missing type.
func (t *typeTable) find(f wire.FuncType) int {
	key := encodeType(f)
	i, there := t.index[string(key)]
	if !there {
		i = t.n
		t.n++
		t.index[string(key)] = i
		t.added = append(t.added, key...)
	}
	return i
}

func encodeType(f wire.FuncType) []byte {
	out := []byte{0x60}
	for _, list := range [][]wire.ValType{f.Params, f.Results} {
		out = appendU32(out, uint32(len(list)))
		for _, t := range list {
			out = append(out, byte(t))
		}
	}
	return out
}

// blockType returns the encoding of a block's type without parameters.
func (t *typeTable) blockType(results []wire.ValType) []byte {
	switch len(results) {
	case 0:
		return []byte{empty}
	case 1:
		return []byte{byte(results[0])}
	}
	return appendSigned(nil, int64(t.find(wire.FuncType{Results: results})))
}
