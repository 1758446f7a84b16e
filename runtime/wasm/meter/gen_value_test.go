package meter_test

import "pgregory.net/rapid"

// value generates a value of a type.
func (g *gen) value(t byte) {
	g.budget--
	if g.budget < 0 || g.int("leaf", 0, 2) == 0 {
		g.leaf(t)
		return
	}
	if kind := g.int("value", 0, 9); kind < 4 && g.common(t, kind) {
		return
	}
	switch t {
	case tI32:
		g.valueI32()
	case tI64:
		g.valueI64()
	case tF32:
		g.float(t, 0x91, 0x92, 0x98, fnCanon32, []byte{0xb2, tI32, 0xb3, tI32, 0xb4, tI64, 0xb5, tI64, 0xb6, tF64})
	case tF64:
		g.float(t, 0x9f, 0xa0, 0xa6, fnCanon64, []byte{0xb7, tI32, 0xb8, tI32, 0xb9, tI64, 0xba, tI64, 0xbb, tF32})
	case tV128:
		g.vector()
	}
}

func (g *gen) leaf(t byte) {
	var of []int
	for i, local := range g.locals {
		if local == t {
			of = append(of, i)
		}
	}
	if len(of) > 0 && g.int("constant", 0, 2) > 0 {
		g.opN(0x20, rapid.SampledFrom(of).Draw(g.t, "local"))
		return
	}
	switch t {
	case tI32:
		g.i32(rapid.Int32().Draw(g.t, "i32"))
	case tI64:
		g.i64(rapid.Int64().Draw(g.t, "i64"))
	case tF32:
		g.f32(float32(g.int("f32", -9, 9)) / 4)
	case tF64:
		g.f64(float64(g.int("f64", -9, 9)) / 4)
	default:
		g.simd(12)
		g.b = append(g.b, rapid.SliceOfN(rapid.ByteRange(0, 0x7e), 16, 16).Draw(g.t, "v128")...)
	}
}

// common are ways that work for all types.
func (g *gen) common(t byte, kind int) bool {
	switch kind {
	case 0: // if
		g.value(tI32)
		g.op(0x04, t)
		g.labels = append(g.labels, label{types: []byte{t}})
		g.statements()
		g.value(t)
		g.op(0x05)
		g.value(t)
		g.close()
	case 1: // select
		g.value(t)
		g.value(t)
		g.value(tI32)
		if g.int("typed", 0, 1) == 0 {
			g.op(0x1b)
		} else {
			g.op(0x1c, 1, t)
		}
	case 2: // call of a function with this result
		for i := range g.sigs {
			if string(g.sigs[i].results) == string([]byte{t}) && g.int("this", 0, 1) == 0 {
				g.values(g.sigs[i].params)
				g.opN(0x10, i)
				return true
			}
		}
		return false
	case 3: // global, or a local that is set
		for i, global := range g.mod.globals {
			if global == t {
				g.opN(0x23, i)
				break
			}
		}
		g.opN(0x22, g.spare[t])
	}
	return true
}

func (g *gen) load(t byte) {
	loads := map[byte][]byte{
		tI32: {0x28, 2, 0x2c, 0, 0x2d, 0, 0x2e, 1, 0x2f, 1},
		tI64: {0x29, 3, 0x30, 0, 0x33, 1, 0x34, 2, 0x35, 2},
		tF32: {0x2a, 2}, tF64: {0x2b, 3},
	}[t]
	g.address()
	i := 2 * g.int("load", 0, len(loads)/2-1)
	g.opN(loads[i], int(loads[i+1]), g.int("offset", 0, 70_000))
	switch t {
	case tF32:
		g.opN(0x10, fnCanon32)
	case tF64:
		g.opN(0x10, fnCanon64)
	}
}

func (g *gen) unary(of byte, op byte) {
	g.value(of)
	g.op(op)
}

func (g *gen) binary(of byte, op byte) {
	g.value(of)
	g.value(of)
	g.op(op)
}

func (g *gen) valueI32() {
	between := func(low, high int) byte { return byte(g.int("op", low, high)) }
	switch g.int("i32", 0, 11) {
	case 0, 1:
		g.load(tI32)
	case 2, 3:
		g.binary(tI32, between(0x46, 0x4f))
	case 4:
		g.binary(tI32, between(0x6a, 0x78))
	case 5:
		g.unary(tI32, g.pick("unary", 0x45, 0x67, 0x68, 0x69, 0xc0, 0xc1))
	case 6:
		g.binary(g.pick("compare", tI64, tI64), between(0x51, 0x5a))
	case 7:
		if g.int("compare", 0, 1) == 0 {
			g.binary(tF32, between(0x5b, 0x60))
		} else {
			g.binary(tF64, between(0x61, 0x66))
		}
	case 8:
		ops := []byte{0x50, tI64, 0xa7, tI64, 0xa8, tF32, 0xa9, tF32, 0xaa, tF64, 0xab, tF64, 0xbc, tF32}
		i := 2 * g.int("convert", 0, len(ops)/2-1)
		g.unary(ops[i+1], ops[i])
	case 9:
		i := g.int("saturating", 0, 3)
		g.value([]byte{tF32, tF32, tF64, tF64}[i])
		g.misc(byte(i))
	case 10:
		switch g.int("size", 0, 4) {
		case 0:
			g.op(0x3f, 0) // memory.size
		case 1:
			g.i32(int32(g.int("pages", -1, 3)))
			g.op(0x40, 0) // memory.grow
		case 2:
			g.misc(16, g.int("table", 0, 2)) // table.size
		case 3:
			g.i32(int32(g.int("entry", 0, 8)))
			g.opN(0x25, g.int("table", 0, 2)) // table.get
			g.op(0xd1)                        // ref.is_null
		case 4:
			g.reference(tFuncref)
			g.op(0xd1)
		}
	case 11:
		g.value(tV128)
		switch g.int("lanes", 0, 3) {
		case 0:
			g.simd(27)
			g.op(g.pick("lane", 0, 1, 2, 3))
		case 1:
			g.simd(int(g.pick("test", 83, 99, 100, 131, 132, 163, 164, 195, 196)))
		default:
			g.simd(21)
			g.op(g.pick("lane", 0, 7, 15))
		}
	}
}

func (g *gen) valueI64() {
	between := func(low, high int) byte { return byte(g.int("op", low, high)) }
	switch g.int("i64", 0, 6) {
	case 0, 1:
		g.load(tI64)
	case 2, 3:
		g.binary(tI64, between(0x7c, 0x8a))
	case 4:
		g.unary(tI64, g.pick("unary", 0x79, 0x7a, 0x7b, 0xc2, 0xc3, 0xc4))
	case 5:
		ops := []byte{0xac, tI32, 0xad, tI32, 0xae, tF32, 0xaf, tF32, 0xb0, tF64, 0xb1, tF64, 0xbd, tF64}
		i := 2 * g.int("convert", 0, len(ops)/2-1)
		g.unary(ops[i+1], ops[i])
	case 6:
		i := g.int("saturating", 0, 3)
		g.value([]byte{tF32, tF32, tF64, tF64}[i])
		g.misc(byte(4 + i))
	}
}

// float generates f32 or f64: sqrt is the last unary instruction, from low to high
// are the binary ones, the last of which copies the sign.
func (g *gen) float(t, sqrt, low, high byte, canon int, converts []byte) {
	switch g.int("float", 0, 4) {
	case 0:
		g.load(t)
		return
	case 1:
		g.unary(t, sqrt-byte(g.int("unary", 0, 6)))
	case 2, 3:
		g.binary(t, byte(g.int("binary", int(low), int(high))))
	case 4:
		i := 2 * g.int("convert", 0, len(converts)/2-1)
		g.unary(converts[i+1], converts[i])
	}
	g.opN(0x10, canon)
}

// vector generates v128 from instructions on integers, and some on f32 lanes.
func (g *gen) vector() {
	switch g.int("vector", 0, 7) {
	case 0:
		g.address()
		op := g.int("load", 0, 10)
		g.simd(op)
		g.opN(0, g.int("offset", 0, 70_000))
	case 1, 2:
		g.value(tV128)
		g.value(tV128)
		g.simd(int(rapid.SampledFrom([]byte{
			14, 35, 40, 50, 60, 78, 79, 80, 81, 101, 110, 111, 115, 118, 123, 130, 133, 142, 149, 155, 156, 174, 177, 181, 186,
			188, 206, 209, 213, 214, 220,
		}).Draw(g.t, "binary")))
	case 3:
		g.value(tV128)
		g.simd(int(rapid.SampledFrom([]byte{77, 96, 97, 98, 124, 128, 135, 160, 167, 192, 199}).Draw(g.t, "unary")))
	case 4:
		g.value(tV128)
		g.value(tI32)
		g.simd(int(g.pick("shift", 107, 108, 109, 139, 171, 203, 204, 205)))
	case 5:
		g.value(g.pick("splat of", tI32, tI32))
		g.simd(int(g.pick("splat", 15, 16, 17)))
	case 6:
		g.value(tV128)
		g.value(tV128)
		g.simd(int(g.pick("f32x4", 228, 229, 230, 231)))
		g.opN(0x10, fnCanonF32x4)
	case 7:
		g.value(tV128)
		g.value(tV128)
		if g.int("shuffle", 0, 1) == 0 {
			g.simd(13)
			g.b = append(g.b, rapid.SliceOfN(rapid.ByteRange(0, 31), 16, 16).Draw(g.t, "lanes")...)
			return
		}
		g.value(tV128)
		g.simd(82)
	}
}
