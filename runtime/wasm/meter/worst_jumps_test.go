package meter_test

import (
	"math/rand/v2"
	"slices"
)

// addCalls adds jumps and calls whose target the processor can neither guess nor have in its caches.
func addCalls(kinds map[string]*mod) {
	leaf := func(*asm) {}
	kinds["calls of a leaf"] = rounds(&mod{funcs: []fn{{}}}, nil, func(a *asm) { repeated(64, func(int) { a.opN(0x10, 0) }) })
	deep := &asm{}
	deep.opN(0x20, 0)
	deep.op(0x04, empty)
	deep.opN(0x20, 0)
	deep.i32(1)
	deep.op(0x6b)
	deep.opN(0x10, 0)
	deep.op(0x0b)
	kinds["recursion"] = rounds(&mod{funcs: []fn{{sig: sig{params: []byte{tI32}}, body: deep.b}}}, nil, func(a *asm) { a.i32(5000); a.opN(0x10, 0) })
	many := slices.Repeat([]byte{tI64}, 60)
	wide := &asm{}
	for range many {
		wide.i64(0)
	}
	kinds["many results"] = rounds(&mod{funcs: []fn{{sig: sig{params: many, results: many}, body: wide.b}}}, nil, func(a *asm) {
		repeated(8, func(int) {
			repeated(len(many), func(int) { a.i64(1) })
			a.opN(0x10, 0)
			repeated(len(many), func(int) { a.op(0x1a) })
		})
	})
	addValues(kinds)
	const functions = 60_000
	body := func(size int, more func(a *asm)) []fn {
		a := &asm{}
		more(a)
		for i := range size {
			a.opN(0x20, 0)
			a.i32(int32(i*77 + 1))
			a.op(0x6a)
			a.opN(0x21, 0)
		}
		return slices.Repeat([]fn{{sig: sig{params: []byte{tI32}}, body: a.b}}, functions)
	}
	for name, size := range map[string]int{"functions far apart": 24, "small functions far apart": 0} {
		m := &mod{funcs: body(size, leaf), tables: []table{{tFuncref, functions, functions}}}
		elements := &asm{}
		elements.opN(0) // of table 0
		elements.i32(0)
		elements.op(0x0b)
		elements.u32(functions)
		for i := range functions {
			elements.u32(i)
		}
		m.elems = [][]byte{elements.b}
		kinds["call_indirect of "+name] = rounds(m, nil, func(a *asm) {
			repeated(16, func(int) {
				a.i32(0)
				draw(a)
				a.i32(8)
				a.op(0x76)
				a.i32(functions)
				a.op(0x70)
				a.opN(0x11, m.typeIndex(sig{params: []byte{tI32}}), 0)
			})
		})
		order := rand.New(rand.NewPCG(1, 1)).Perm(functions)
		kinds["calls of "+name] = rounds(&mod{funcs: body(size, leaf)}, nil, func(a *asm) {
			for _, f := range order[:20_000] {
				a.i32(0)
				a.opN(0x10, f)
			}
		})
	}
	kinds["br_table"] = rounds(nil, nil, func(a *asm) { jumps(a, 4000, 0) })
	kinds["br_table far"] = rounds(nil, nil, func(a *asm) { jumps(a, 4000, 20) })
	kinds["decisions"] = rounds(nil, nil, func(a *asm) { decisions(a, 11, 0) })
	kinds["decisions far"] = rounds(nil, nil, func(a *asm) { decisions(a, 11, 25) })
}

// addValues adds calls that pass as many values as there may be: from one function to the next, without an instruction for
// each, and in a recursion whose stack no cache has.
func addValues(kinds map[string]*mod) {
	const most = 255
	for name, typ := range map[string]byte{"i64": tI64, "v128": tV128} {
		values, local := slices.Repeat([]byte{typ}, most), map[byte]int{tI64: wI64, tV128: wV128}[typ]
		kinds["255 parameters of "+name] = rounds(&mod{funcs: []fn{{sig: sig{params: values}}}}, nil, func(a *asm) {
			repeated(8, func(int) { repeated(most, func(int) { a.opN(0x20, local) }); a.opN(0x10, 0) })
		})
		give, deep := &asm{}, &asm{}
		for range most {
			zero(give, typ)
		}
		m := &mod{funcs: []fn{{sig: sig{results: values}, body: give.b}, {sig: sig{params: values}}}}
		for i := range 16 {
			next := &asm{}
			next.opN(0x10, []int{0, i + 1}[min(i, 1)])
			m.funcs = append(m.funcs, fn{sig: sig{results: values}, body: next.b})
		}
		kinds["255 results of "+name+", passed on"] = rounds(m, nil, func(a *asm) { repeated(8, func(int) { a.opN(0x10, 17); a.opN(0x10, 1) }) })
		deep.opN(0x20, 0)
		deep.op(0x04, empty)
		deep.opN(0x20, 0)
		deep.i32(1)
		deep.op(0x6b)
		for i := range most - 1 {
			deep.opN(0x20, i+1)
		}
		deep.opN(0x10, 0)
		deep.op(0x0b)
		kinds["recursion with 255 parameters of "+name] = rounds(&mod{funcs: []fn{{sig: sig{params: append([]byte{tI32}, values[1:]...)},
			body: deep.b}}}, nil, func(a *asm) {
			a.i32(100)
			repeated(most-1, func(int) { a.opN(0x20, local) })
			a.opN(0x10, 0)
		})
	}
}

// jumps writes a br_table over n blocks with so many instructions.
func jumps(a *asm, n, size int) {
	a.op(0x02, empty)
	repeated(n, func(int) { a.op(0x02, empty) })
	draw(a)
	a.i32(8)
	a.op(0x76)
	a.i32(int32(n))
	a.op(0x70)
	a.op(0x0e)
	a.u32(n)
	for i := range n + 1 {
		a.u32(i)
	}
	repeated(n, func(i int) {
		a.op(0x0b)
		bump(a)
		a.opN(0x0c, n-1-i)
		repeated(size, func(int) { bump(a) })
	})
	a.op(0x0b)
}

// decisions writes a tree of ifs over the bits of a drawn number, with so many instructions between them.
func decisions(a *asm, depth, size int) {
	draw(a)
	a.opN(0x21, wSum)
	var tree func(bit int)
	tree = func(bit int) {
		if bit == 31-depth {
			return
		}
		a.opN(0x20, wSum)
		a.i32(int32(1) << bit)
		a.op(0x71)
		a.op(0x04, empty)
		repeated(size, func(int) { a.opN(0x20, wAddress); a.i32(1); a.op(0x6a); a.opN(0x21, wAddress) })
		tree(bit - 1)
		a.op(0x05)
		repeated(size, func(int) { a.opN(0x20, wAddress); a.i32(3); a.op(0x6a); a.opN(0x21, wAddress) })
		tree(bit - 1)
		a.op(0x0b)
	}
	tree(30)
}

// addBulk adds bulk instructions, short and long, at addresses that miss the caches.
func addBulk(kinds map[string]*mod, all int32) {
	bulk := func(length func(a *asm), second func(a *asm), op byte, more ...int) func(a *asm) {
		return func(a *asm) {
			repeated(8, func(int) {
				scattered(a, all>>1)
				second(a)
				length(a)
				a.misc(op, more...)
				scattered(a, all>>1)
				a.opN(0x28, 2, 0)
				a.opN(0x21, wSum)
			})
		}
	}
	from := func(a *asm) { scattered(a, all>>1) }
	constant := func(n int32) func(a *asm) { return func(a *asm) { a.i32(n) } }
	unknown := func(n int32) func(a *asm) { // a length that is not a constant
		return func(a *asm) { a.i32(n); a.opN(0x20, wAddress); a.op(0x6a) }
	}
	for name, length := range map[string]func(a *asm){
		"0 bytes": unknown(0), "1 byte": unknown(1), "a constant byte": constant(1), "256 bytes": unknown(256), "2 KiB": constant(2048),
		"64 KiB": unknown(64 << 10), "a constant 64 KiB": constant(64 << 10), "16 MiB": unknown(16 << 20),
	} {
		kinds["memory.copy of "+name] = rounds(nil, nil, bulk(length, from, 10, 0, 0))
		kinds["memory.fill of "+name] = rounds(nil, nil, bulk(length, func(a *asm) { a.i32(7) }, 11, 0))
	}
	segment := append([]byte{1}, bytesVec(make([]byte, 4<<20))...)
	for name, length := range map[string]func(a *asm){"1 byte": unknown(1), "4 MiB": unknown(4 << 20)} {
		kinds["memory.init of "+name] = rounds(&mod{data: [][]byte{segment}}, nil, func(a *asm) {
			repeated(8, func(int) { scattered(a, all>>1); a.i32(0); length(a); a.misc(8, 0, 0) })
		})
	}
	kinds["data.drop"] = rounds(&mod{data: [][]byte{segment}}, nil, func(a *asm) { repeated(64, func(int) { a.misc(9, 0) }) })
	const elements = 1 << 15 // each; tables may have twice as many together
	refs := []table{{tFuncref, elements, elements}, {tFuncref, elements, elements}}
	for name, n := range map[string]int32{"0": 0, "1": 1, "32,768": elements} {
		kinds["table.fill of "+name] = rounds(&mod{tables: refs}, nil, func(a *asm) {
			repeated(8, func(int) { a.i32(0); a.op(0xd0, tFuncref); unknown(n)(a); a.misc(17, 0) })
		})
		kinds["table.copy of "+name] = rounds(&mod{tables: refs}, nil, func(a *asm) {
			repeated(8, func(int) { a.i32(0); a.i32(0); unknown(n)(a); a.misc(14, 0, 1) })
		})
	}
	kinds["table.grow"] = rounds(&mod{tables: refs}, nil, func(a *asm) {
		repeated(8, func(int) { a.op(0xd0, tFuncref); a.i32(0); a.misc(15, 0); a.op(0x1a) })
	})
	kinds["table.size"] = rounds(&mod{tables: refs}, nil, func(a *asm) { repeated(64, func(int) { a.misc(16, 0); a.op(0x1a) }) })
}
