package meter_test

import (
	"encoding/binary"
	"math"
	"slices"
)

// addReads adds accesses of memory, tables and globals that miss the processor's caches.
func addReads(kinds map[string]*mod, all int32) {
	kinds["load, alone in a loop"] = rounds(nil, nil, func(a *asm) { scattered(a, all); a.opN(0x28, 2, 0); a.opN(0x21, wSum) })
	kinds["loads, one after the other"] = rounds(nil, nil, func(a *asm) {
		repeated(200, func(int) { scattered(a, all); a.opN(0x28, 2, 0); a.opN(0x21, wSum) })
	})
	// A pointer that leads to the next one, over pages and lines in a drawn order, costs no instruction but the load.
	follow := func(a *asm) { a.opN(0x20, wAddress); a.opN(0x28, 2, 0); a.opN(0x21, wAddress) }
	kinds["pointers"] = pointers(func(a *asm) { repeated(100, func(int) { follow(a) }) })
	kinds["pointers, alone in a loop"] = pointers(follow)
	// The last bytes of a page and the first of the next.
	kinds["loads over pages"] = rounds(nil, nil, func(a *asm) {
		repeated(100, func(int) {
			scattered(a, 0x3fff000)
			a.opN(0x29, 3, 4092)
			a.op(0xa7)
			a.opN(0x21, wSum)
		})
	})
	kinds["stores"] = rounds(nil, nil, func(a *asm) {
		repeated(100, func(int) { scattered(a, all); a.i64(1); a.opN(0x37, 3, 0) })
	})
	kinds["stores over pages"] = rounds(nil, nil, func(a *asm) {
		repeated(100, func(int) { scattered(a, 0x3ffe000); a.i64(1); a.opN(0x37, 3, 4092) })
	})
	for name, within := range map[string]int32{"v128 loads": 0xe000, "v128 loads over pages": 0x3ffe000} {
		kinds[name] = rounds(nil, nil, func(a *asm) {
			repeated(100, func(int) {
				scattered(a, within)
				a.simd(0)
				a.opN(4, 4089)
				a.op(0xfd, 27, 0) // i32x4.extract_lane
				a.opN(0x21, wSum)
			})
		})
	}
	const elements = 1 << 16
	refs := &mod{tables: []table{{tFuncref, elements, elements}}}
	kinds["table.get"] = rounds(refs, nil, func(a *asm) {
		repeated(100, func(int) { scattered(a, elements-1); a.opN(0x25, 0); a.op(0xd1); a.opN(0x21, wSum) })
	})
	kinds["table.set"] = rounds(&mod{tables: refs.tables}, nil, func(a *asm) {
		repeated(100, func(int) { scattered(a, elements-1); a.op(0xd0, tFuncref); a.opN(0x26, 0) })
	})
	many := &mod{globals: slices.Repeat([]byte{tI64}, 1000)}
	kinds["globals"] = rounds(many, nil, func(a *asm) {
		repeated(100, func(i int) { a.opN(0x23, i*389%1000); a.i64(1); a.op(0x7c); a.opN(0x24, i*389%1000) })
	})
}

// pointers adds a function "setup", which writes into each line of 64 bytes the address of another, all of them in one
// circle that looks drawn: line i leads to 1664525·i + 1013904223 mod 2²⁰ (Hull and Dobell, 1962).
func pointers(body func(a *asm)) *mod {
	const lines, shift = 1 << 20, 6
	m := rounds(nil, nil, body)
	a := &asm{}
	a.op(0x03, empty)
	a.opN(0x20, 0)
	a.i32(shift)
	a.op(0x74)
	a.opN(0x20, 0)
	a.i32(1664525)
	a.op(0x6c)
	a.i32(1013904223)
	a.op(0x6a)
	a.i32(lines - 1)
	a.op(0x71)
	a.i32(shift)
	a.op(0x74)
	a.opN(0x36, 2, 0)
	a.opN(0x20, 0)
	a.i32(1)
	a.op(0x6a)
	a.opN(0x22, 0)
	a.i32(lines)
	a.op(0x49)
	a.opN(0x0d, 0)
	a.op(0x0b)
	m.exports["setup"] = len(m.funcs)
	m.funcs = append(m.funcs, fn{locals: []byte{tI32}, body: a.b})
	return m
}

// addFloats adds arithmetic that goes slowly with very small numbers.
func addFloats(kinds map[string]*mod) {
	tiny := func(a *asm) { a.f64(5e-324 * 1e6); a.opN(0x21, wF64); a.f32(1e-40); a.opN(0x21, wF32) }
	f64 := func(v float64) func(a *asm) { return func(a *asm) { a.f64(v) } }
	f32 := func(v float32) func(a *asm) { return func(a *asm) { a.f32(v) } }
	scalar := func(name string, body func(a *asm)) { kinds[name] = rounds(nil, tiny, body) }
	scalar("f64.mul", chain(wF64, 32, f64(0.9999999), 0xa2))
	scalar("f64.div", chain(wF64, 32, f64(1.0000001), 0xa3))
	scalar("f64.add", chain(wF64, 32, f64(5e-324), 0xa0))
	scalar("f64.sqrt", func(a *asm) {
		repeated(32, func(int) { a.opN(0x20, wF64); a.op(0x9f); a.opN(0x20, wF64); a.op(0xa2); a.opN(0x21, wF64) })
	})
	scalar("f64.min", chain(wF64, 32, f64(1), 0xa4))
	scalar("f64.floor", chain(wF64, 32, nil, 0x9c))
	scalar("f64.lt", func(a *asm) {
		repeated(32, func(int) { a.opN(0x20, wF64); a.f64(5e-324); a.op(0x63); a.opN(0x21, wSum) })
	})
	scalar("f32.mul", chain(wF32, 32, f32(0.999), 0x94))
	scalar("f32.div", chain(wF32, 32, f32(1.001), 0x95))
	scalar("f32 to f64", func(a *asm) {
		repeated(32, func(int) { a.opN(0x20, wF32); a.op(0xbb); a.op(0xb6); a.opN(0x21, wF32) })
	})
	scalar("f64 to f32", func(a *asm) {
		repeated(32, func(int) { a.f64(1e-42); a.op(0xb6); a.op(0xbb); a.opN(0x21, wF64) })
	})
	scalar("i32.trunc_sat", func(a *asm) {
		repeated(32, func(int) { a.opN(0x20, wF64); a.op(0xfc, 3); a.op(0xb8); a.opN(0x21, wF64) })
	})
	scalar("i64.trunc_sat", func(a *asm) {
		repeated(32, func(int) { a.opN(0x20, wF64); a.op(0xfc, 7); a.op(0xba); a.opN(0x21, wF64) })
	})
	vector := func(name string, value []byte, unary bool, op int) {
		splat := func(a *asm) { a.simd(12); a.op(value...) }
		kinds[name] = rounds(nil, func(a *asm) { splat(a); a.opN(0x21, wV128) }, func(a *asm) {
			repeated(32, func(int) {
				a.opN(0x20, wV128)
				if !unary {
					splat(a)
				}
				a.simd(op)
				a.opN(0x21, wV128)
			})
		})
	}
	four := func(v float32) []byte {
		return slices.Repeat(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)), 4)
	}
	two := func(v float64) []byte {
		return slices.Repeat(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)), 2)
	}
	for _, v := range []struct {
		name  string
		value []byte
		unary bool
		op    int
	}{
		{"f32x4.add", four(1e-40), false, 228}, {"f32x4.mul", four(1e-40), false, 230}, {"f32x4.div", four(1e-40), false, 231},
		{"f32x4.sqrt", four(1e-40), true, 227}, {"f32x4.min", four(1e-40), false, 232}, {"f32x4.pmin", four(1e-40), false, 234},
		{"f64x2.add", two(1e-310), false, 240}, {"f64x2.mul", two(1e-310), false, 242}, {"f64x2.div", two(1e-310), false, 243},
		{"f64x2.sqrt", two(1e-310), true, 239}, {"f64x2.min", two(1e-310), false, 244}, {"f64x2.lt", two(1e-310), false, 73},
		{"f32x4.lt", four(1e-40), false, 67},
		{"i32x4.trunc_sat_f32x4_u", four(1e-40), true, 249}, {"i32x4.trunc_sat_f64x2_u", two(1e-310), true, 253},
		{"f32x4.convert_i32x4_u", four(1e-40), true, 251}, {"f32x4.demote", two(1e-310), true, 94}, {"f64x2.promote", four(1e-40), true, 95},
		{"f32x4.nearest", four(1e-40), true, 106}, {"f64x2.nearest", two(1e-310), true, 148},
		{"i8x16.popcnt", two(3), true, 98}, {"i64x2.mul", two(3), false, 213}, {"i8x16.shl", two(3), true, -107},
		{"i16x8.q15mulr", two(3), false, 130}, {"i32x4.dot", two(3), false, 186}, {"i8x16.swizzle", two(3), false, 14},
		{"i16x8.extadd_pairwise", two(3), true, 124}, {"i32x4.extadd_pairwise", two(3), true, 126}, {"i64x2.abs", two(3), true, 192},
		{"i64x2.gt", two(3), false, 217}, {"i64x2.shr_s", two(3), true, -204}, {"i8x16.shr_s", two(3), true, -108},
		{"i64x2.extmul_high", two(3), false, 221}, {"i8x16.narrow", two(3), false, 101}, {"i8x16.sub_sat", two(3), false, 114},
	} {
		if v.op < 0 { // a shift, whose second operand is a number
			kinds[v.name] = rounds(nil, nil, func(a *asm) {
				repeated(32, func(int) { a.opN(0x20, wV128); a.opN(0x20, wRounds); a.simd(-v.op); a.opN(0x21, wV128) })
			})
			continue
		}
		vector(v.name, v.value, v.unary, v.op)
	}
	for name, op := range map[string]int{"i8x16.all_true": 99, "i8x16.bitmask": 100, "v128.any_true": 83, "i64x2.all_true": 195} {
		kinds[name] = rounds(nil, nil, func(a *asm) { repeated(32, func(int) { a.opN(0x20, wV128); a.simd(op); a.opN(0x21, wSum) }) })
	}
}
