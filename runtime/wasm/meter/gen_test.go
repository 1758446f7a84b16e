package meter_test

import (
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// program is a generated module and calls of its exports. It is valid, terminates
// or not, and traps or not.
type program struct {
	module []byte
	calls  []call
	config meter.Config
	fuel   int64
}

// gen generates a module.
type gen struct {
	t    *rapid.T
	mod  *mod
	sigs []sig // of functions by index, the imported one included
	// declared is how many of them an element segment names.
	declared int
	// Of the function that is generated:
	*asm
	locals []byte // parameters included
	labels []label
	fn     sig
	budget int
	spare  map[byte]int // a local of each type that nothing else uses
	loops  int          // so far; each has a counter behind the other locals
}

// label is an open block: types are what a branch to it takes.
type label struct {
	types []byte
	loop  bool
}

// Functions that every module has, behind the import: canonical NaN, so that NaN
// payloads, which are not the same on both engines, are never seen.
const (
	fnLog = iota
	fnCanon32
	fnCanon64
	fnCanonF32x4
	fnFirst
)

func generate(t *rapid.T) program {
	g := &gen{t: t, mod: &mod{imports: 1, exports: map[string]int{}}}
	g.sigs = []sig{
		{params: []byte{tI32}, results: []byte{tI32}},
		{params: []byte{tF32}, results: []byte{tF32}},
		{params: []byte{tF64}, results: []byte{tF64}},
		{params: []byte{tV128}, results: []byte{tV128}},
	}
	g.mod.funcs = canonical()
	n := g.int("functions", 1, 5)
	for range n {
		g.sigs = append(g.sigs, sig{params: g.types("params", 4), results: g.types("results", 3)})
	}
	g.mod.memory = &[2]int{g.int("min pages", 0, 2), g.int("max pages", 2, 4)}
	g.mod.tables = []table{{tFuncref, 4 + g.int("table", 0, 4), 10_000}, {tExternref, g.int("table", 0, 9_000), 10_000}, {tFuncref, 3, 12}}
	g.mod.globals = []byte{tI32, tI64, tF32, tF64, tV128, tI32, workGlobal: tI64}
	g.segments()
	for i := fnFirst; i < len(g.sigs); i++ {
		g.function(i)
	}
	if rapid.Bool().Draw(t, "start") {
		start := fnFirst + n
		g.sigs = append(g.sigs, sig{})
		g.function(start)
		g.mod.start = &start
	}
	p := program{fuel: rapid.SampledFrom([]int64{100, 5_000, 100_000}).Draw(t, "fuel")}
	p.config = meter.Config{
		Slice:            uint32(g.int("slice", 1, 100)),
		MaxDepth:         rapid.SampledFrom([]uint32{20, 200}).Draw(t, "depth"),
		TableMaxElements: 1 << 20,
	}
	if price := g.int("price", 0, 3); price > 0 { // of the import, for its argument, too
		p.config.Prices = []meter.Price{{
			Module: "env", Name: "log", Fixed: uint32(price), Lengths: []meter.Length{{Param: 0, Shift: uint8(20 + price)}},
		}}
	}
	for i := range g.int("calls", 1, 4) {
		f := fnFirst + g.int("function", 0, n-1)
		name := string(rune('a' + i))
		g.mod.exports[name] = f
		c := call{function: name}
		for _, param := range g.sigs[f].params {
			c.args = append(c.args, g.argument(param)...)
		}
		p.calls = append(p.calls, c)
	}
	p.module = g.mod.bytes()
	return p
}

// canonical returns the functions from fnCanon32 to fnCanonF32x4.
func canonical() []fn {
	var out []fn
	for _, t := range []byte{tF32, tF64} {
		a := &asm{}
		a.opN(0x20, 0)
		if t == tF32 {
			a.op(0x43, 0, 0, 0xc0, 0x7f)
		} else {
			a.op(0x44, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f)
		}
		a.opN(0x20, 0)
		a.opN(0x20, 0)
		a.op(map[byte]byte{tF32: 0x5b, tF64: 0x61}[t], 0x1b) // eq, select
		out = append(out, fn{sig: sig{[]byte{t}, []byte{t}}, body: a.b})
	}
	a := &asm{}
	a.opN(0x20, 0)
	a.simd(12)
	a.op(0, 0, 0xc0, 0x7f, 0, 0, 0xc0, 0x7f, 0, 0, 0xc0, 0x7f, 0, 0, 0xc0, 0x7f)
	a.opN(0x20, 0)
	a.opN(0x20, 0)
	a.simd(65) // f32x4.eq
	a.simd(82) // bitselect
	return append(out, fn{sig: sig{[]byte{tV128}, []byte{tV128}}, body: a.b})
}

func (g *gen) int(label string, low, high int) int { return rapid.IntRange(low, high).Draw(g.t, label) }

func (g *gen) pick(label string, from ...byte) byte { return rapid.SampledFrom(from).Draw(g.t, label) }

func (g *gen) types(label string, most int) []byte {
	return rapid.SliceOfN(rapid.SampledFrom([]byte{tI32, tI32, tI64, tF32, tF64, tV128, tI32, tI64}), 0, most).Draw(g.t, label)
}

// argument returns a value of a type as wazero takes it.
func (g *gen) argument(t byte) []uint64 {
	v := rapid.Uint64().Draw(g.t, "argument")
	switch t {
	case tI32:
		return []uint64{v & 0xffffffff}
	case tF32:
		return []uint64{v & 0x3fffffff} // no NaN
	case tF64:
		return []uint64{v & 0x3fffffffffffffff}
	case tV128:
		return []uint64{v & 0x3fffffff3fffffff, 1}
	}
	return []uint64{v}
}

// segments makes elements and data: active, passive and declarative.
func (g *gen) segments() {
	g.declared = len(g.sigs)
	function := func() byte { return byte(g.int("element", 0, len(g.sigs)-1)) }
	f := []byte{function(), function(), function()}
	const end = 0x0b
	g.mod.elems = [][]byte{
		{0, 0x41, 0, end, 3, f[0], f[1], f[2]},
		{1, 0, 2, f[2], f[0]}, // passive
		{2, 2, 0x41, 0, end, 0, 1, f[1]},
		{5, tFuncref, 3, 0xd0, tFuncref, end, 0xd2, f[1], end, 0xd0, tFuncref, end},
		append([]byte{3, 0, byte(len(g.sigs))}, sequence(len(g.sigs))...), // declares all
	}
	large := make([]byte, 70_000)
	for i := range large {
		large[i] = byte(i * 31 / 7)
	}
	g.mod.data = [][]byte{
		append([]byte{1}, bytesVec([]byte("passive segment"))...),
		append([]byte{1}, bytesVec(large)...),
	}
	if g.mod.memory[0] > 0 {
		g.mod.data = append(g.mod.data, append([]byte{0, 0x41, 8, end}, bytesVec([]byte("active"))...))
	}
	g.mod.customs = map[string][]byte{"berth.test": []byte("kept")}
}

func sequence(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i)
	}
	return out
}

// function generates a function of the signature that is known for it.
func (g *gen) function(index int) {
	g.fn, g.asm, g.budget, g.loops = g.sigs[index], &asm{}, g.int("budget", 5, 80), 0
	extra := g.types("locals", 5)
	g.locals = slices.Concat(g.fn.params, extra)
	g.spare = map[byte]int{}
	for _, t := range []byte{tI32, tI64, tF32, tF64, tV128} {
		g.spare[t] = len(g.locals) + len(g.spare)
		extra = append(extra, t)
	}
	g.labels = []label{{types: g.fn.results}}
	g.statements()
	g.values(g.fn.results)
	for range g.loops {
		extra = append(extra, tI32)
	}
	g.mod.funcs = append(g.mod.funcs, fn{sig: g.fn, locals: extra, body: g.b})
}

// statements generates some.
func (g *gen) statements() {
	for range g.int("statements", 0, 5) {
		g.statement()
	}
}

// values generates one value of each type.
func (g *gen) values(types []byte) {
	for _, t := range types {
		g.value(t)
	}
}
