package meter_test

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Value types.
const (
	tI32       byte = 0x7f
	tI64       byte = 0x7e
	tF32       byte = 0x7d
	tF64       byte = 0x7c
	tV128      byte = 0x7b
	tFuncref   byte = 0x70
	tExternref byte = 0x6f
)

// empty is the type of a block without results.
const empty = 0x40

// asm writes instructions. It is for generated and broken modules; those that people
// read are .wat files.
type asm struct{ b []byte }

func (a *asm) op(ops ...byte) { a.b = append(a.b, ops...) }
func (a *asm) u32(v int)      { a.b = binary.AppendUvarint(a.b, uint64(v)) }
func (a *asm) opN(op byte, values ...int) {
	a.op(op)
	for _, v := range values {
		a.u32(v)
	}
}
func (a *asm) sleb(v int64) {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			a.op(b)
			return
		}
		a.op(b | 0x80)
	}
}
func (a *asm) i32(v int32) { a.op(0x41); a.sleb(int64(v)) }
func (a *asm) i64(v int64) { a.op(0x42); a.sleb(v) }
func (a *asm) f32(v float32) {
	a.op(0x43)
	a.b = binary.LittleEndian.AppendUint32(a.b, math.Float32bits(v))
}
func (a *asm) f64(v float64) {
	a.op(0x44)
	a.b = binary.LittleEndian.AppendUint64(a.b, math.Float64bits(v))
}

// misc writes an instruction behind 0xfc, simd one behind 0xfd.
func (a *asm) misc(second byte, values ...int) {
	a.op(0xfc)
	a.opN(second, values...)
}
func (a *asm) simd(second int) {
	a.op(0xfd)
	a.u32(second)
}

// vec encodes a list of which each element is encoded.
func vec(elements ...[]byte) []byte {
	out := binary.AppendUvarint(nil, uint64(len(elements)))
	for _, e := range elements {
		out = append(out, e...)
	}
	return out
}

func bytesVec(b []byte) []byte { return append(binary.AppendUvarint(nil, uint64(len(b))), b...) }

// sig is the type of a function.
type sig struct{ params, results []byte }

// fn is a function of a module.
type fn struct {
	sig
	locals []byte
	body   []byte // without the final end
}

// table is a table of a module; max < 0 for none.
type table struct {
	elem     byte
	min, max int
}

// mod is a module that is put together. Imports are of env.log, (i32) → i32.
type mod struct {
	imports int
	types   []sig // the first are those of blocks; those of functions are found
	funcs   []fn
	tables  []table
	memory  *[2]int // nil for none; a maximum < 0 for none
	globals []byte  // types; all mutable, begin with 0, exported as g0 …
	exports map[string]int
	start   *int
	elems   [][]byte // encoded
	data    [][]byte
	customs map[string][]byte
}

func (m *mod) typeIndex(s sig) int {
	for i, t := range m.types {
		if string(t.params) == string(s.params) && string(t.results) == string(s.results) {
			return i
		}
	}
	m.types = append(m.types, s)
	return len(m.types) - 1
}

func limits(minimum, maximum int) []byte {
	a := &asm{}
	if maximum < 0 {
		a.opN(0, minimum)
	} else {
		a.opN(1, minimum, maximum)
	}
	return a.b
}

// bytes encodes the module.
func (m *mod) bytes() []byte {
	var imports, funcs, tables, globals, exports, code [][]byte
	for range m.imports {
		a := &asm{}
		a.b = append(bytesVec([]byte("env")), bytesVec([]byte("log"))...)
		a.opN(0, m.typeIndex(sig{params: []byte{tI32}, results: []byte{tI32}}))
		imports = append(imports, a.b)
	}
	for _, f := range m.funcs {
		a := &asm{}
		a.u32(m.typeIndex(f.sig))
		funcs = append(funcs, a.b)
		a = &asm{}
		a.u32(len(f.locals))
		for _, t := range f.locals {
			a.op(1, t)
		}
		a.b = append(append(a.b, f.body...), 0x0b)
		code = append(code, bytesVec(a.b))
	}
	for _, t := range m.tables {
		tables = append(tables, append([]byte{t.elem}, limits(t.min, t.max)...))
	}
	export := func(name string, kind byte, index int) {
		a := &asm{b: bytesVec([]byte(name))}
		a.opN(kind, index)
		exports = append(exports, a.b)
	}
	name := func(i int) string { return fmt.Sprint("g", i) }
	for i, t := range m.globals {
		a := &asm{}
		a.op(t, 1)
		zero(a, t)
		a.op(0x0b)
		globals = append(globals, a.b)
		if t != tV128 && t != tFuncref && t != tExternref {
			export(name(i), 3, i)
		}
	}
	if m.memory != nil {
		export("memory", 2, 0)
	}
	for _, name := range sortedKeys(m.exports) {
		export(name, 0, m.exports[name])
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, payload []byte) {
		out = append(append(out, id), bytesVec(payload)...)
	}
	list := func(id byte, elements [][]byte) {
		if len(elements) > 0 {
			section(id, vec(elements...))
		}
	}
	var types [][]byte
	for _, t := range m.types {
		types = append(types, append(append([]byte{0x60}, bytesVec(t.params)...), bytesVec(t.results)...))
	}
	list(1, types)
	list(2, imports)
	list(3, funcs)
	list(4, tables)
	if m.memory != nil {
		list(5, [][]byte{limits(m.memory[0], m.memory[1])})
	}
	list(6, globals)
	list(7, exports)
	if m.start != nil {
		section(8, binary.AppendUvarint(nil, uint64(*m.start)))
	}
	list(9, m.elems)
	if len(m.data) > 0 {
		section(12, binary.AppendUvarint(nil, uint64(len(m.data))))
	}
	list(10, code)
	list(11, m.data)
	for _, name := range sortedKeys(m.customs) {
		section(0, append(bytesVec([]byte(name)), m.customs[name]...))
	}
	return out
}

// zero writes the zero of a type.
func zero(a *asm, t byte) {
	switch t {
	case tI32:
		a.i32(0)
	case tI64:
		a.i64(0)
	case tF32:
		a.f32(0)
	case tF64:
		a.f64(0)
	case tV128:
		a.simd(12)
		a.op(make([]byte, 16)...)
	default:
		a.op(0xd0, t)
	}
}
