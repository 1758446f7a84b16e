package meter_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// bulkModule has an exported function for each bulk instruction, with the
// instruction's parameters, and some to look at tables.
func bulkModule() []byte {
	const segment = 200_000 // bytes of data, and elements
	m := &mod{exports: map[string]int{}, memory: &[2]int{8, 8}}
	m.tables = []table{{tFuncref, 30_000, 40_000}, {tFuncref, 30_000, 30_000}, {tFuncref, 100, 100}}
	data := make([]byte, segment)
	for i := range data {
		data[i] = byte(i*7/5 + i>>9)
	}
	m.data = [][]byte{append([]byte{1}, bytesVec(data)...), append([]byte{1}, bytesVec(data[:100])...)}
	add := func(name string, s sig, body func(a *asm)) {
		a := &asm{}
		for i := range s.params {
			a.opN(0x20, i)
		}
		body(a)
		m.exports[name] = len(m.funcs)
		m.funcs = append(m.funcs, fn{sig: s, body: a.b})
	}
	three := sig{params: []byte{tI32, tI32, tI32}}
	bulk := map[string][]byte{
		"memory.init": {8, 0, 0}, "memory.init small": {8, 1, 0}, "memory.copy": {10, 0, 0}, "memory.fill": {11, 0},
		"table.init": {12, 0, 0}, "table.init small": {12, 1, 0}, "table.copy": {14, 0, 0}, "table.copy to other": {14, 1, 0},
		"table.copy small": {14, 2, 2},
	}
	for _, name := range sortedKeys(bulk) {
		add(name, three, func(a *asm) { a.op(append([]byte{0xfc}, bulk[name]...)...) })
	}
	add("data.drop", sig{}, func(a *asm) { a.misc(9, 0) })
	add("elem.drop", sig{}, func(a *asm) { a.misc(13, 0) })
	// Functions give their number, so that a table can be read by calling.
	for i := range 7 {
		add(fmt.Sprint("f", i), sig{results: []byte{tI32}}, func(a *asm) { a.i32(int32(i)) })
	}
	elements := &asm{}
	elements.opN(1, 0, 20_000)
	for i := range 20_000 {
		elements.u32(m.exports[fmt.Sprint("f", i*i%7)])
	}
	m.elems = [][]byte{elements.b, {1, 0, 2, byte(m.exports["f1"]), byte(m.exports["f2"])}}
	for t := range m.tables {
		// What is in the table, written to memory: the function's number, or 9.
		name := fmt.Sprint("dump", t)
		a := &asm{}
		a.op(0x03, empty)
		a.opN(0x20, 0)
		a.opN(0x20, 0)
		a.opN(0x25, t)
		a.op(0xd1, 0x04, tI32) // ref.is_null, if
		a.i32(9)
		a.op(0x05)
		a.opN(0x20, 0)
		a.opN(0x11, m.typeIndex(sig{results: []byte{tI32}}), t)
		a.op(0x0b)
		a.opN(0x3a, 0, 0) // i32.store8
		a.opN(0x20, 0)
		a.i32(1)
		a.op(0x6a)
		a.opN(0x22, 0)
		a.misc(16, t) // table.size
		a.op(0x49)    // lt_u
		a.opN(0x0d, 0)
		a.op(0x0b)
		m.exports[name] = len(m.funcs)
		m.funcs = append(m.funcs, fn{locals: []byte{tI32}, body: a.b})
	}
	add("table.fill", three, func(a *asm) {
		a.b = a.b[:0]
		a.opN(0x20, 0)
		a.op(0xd0, tFuncref)
		a.opN(0x20, 2)
		a.misc(17, 0)
	})
	add("table.grow", sig{params: []byte{tI32}, results: []byte{tI32}}, func(a *asm) {
		a.b = a.b[:0]
		a.op(0xd0, tFuncref)
		a.opN(0x20, 0)
		a.misc(15, 0)
	})
	return m.bytes()
}

// TestBulk: bulk instructions do what they did, with all lengths around a step,
// overlapping either way, out of bounds on either side, and with segments that
// were dropped. What is out of bounds changes nothing.
func TestBulk(t *testing.T) {
	module := bulkModule()
	const (
		step   = 64 << 10
		memory = 8 * step
		slots  = 30_000
	)
	offsets := []uint64{0, 1, step - 1, step, step + 5, 3 * step}
	lengths := []uint64{0, 1, step - 1, step, step + 1, 2*step - 1, 3*step + 7, memory, 1<<32 - 1}
	edge := []uint64{0, 1, 8191, 8192, 9000, slots - 1, slots}
	entries := []uint64{0, 1, 8191, 8192, 8193, 16_385, 20_000, slots, 1<<32 - 1}
	rewritten, info := rewrite(t, module, meter.Config{})
	for _, e := range engines() {
		t.Run(string(e), func(t *testing.T) {
			pair := &bulkPair{t: t}
			for i, m := range [][]byte{module, rewritten} {
				g, err := newHost(t, e).guest(m, map[int]*meter.Info{1: info}[i])
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close(context.Background())
				g.grant(1 << 50)
				pair.guests[i] = g
			}
			pair.call("memory.init", 0, 0, 200_000)
			for _, to := range offsets {
				for _, from := range offsets {
					for _, n := range lengths {
						pair.call("memory.copy", to, from, n)
					}
					pair.call("memory.init", to, from, 200_000-from)
					pair.call("memory.init", to, from, 200_001-from)
					pair.call("memory.init small", to, from, 60)
					pair.call("memory.fill", to, from, lengths[from%8])
					pair.same()
				}
			}
			pair.tables(edge, entries)
			pair.call("data.drop")
			for _, n := range lengths {
				pair.call("memory.init", 0, 0, n)
				pair.call("memory.init", 0, 1, n)
			}
			pair.same()
		})
	}
}

// tables tests the instructions for tables in the same way.
func (p *bulkPair) tables(edge, entries []uint64) {
	p.call("table.init", 0, 0, 20_000)
	p.call("table.init", 10_000, 0, 20_000)
	for _, to := range edge {
		for _, from := range edge {
			for _, n := range entries {
				p.call("table.copy", to, from, n)
				p.call("table.copy to other", to, from, n)
			}
			p.call("table.copy small", to, from, 10)
			p.call("table.init", to, from, 20_000-min(from, 20_000))
			p.call("table.init small", to, 0, 2)
			p.call("table.fill", to, 0, entries[from%8]/3)
		}
		p.dump()
	}
	for _, n := range []uint64{0, 1, 5000, 10_000, 1 << 31, 1<<32 - 1} {
		p.call("table.grow", n)
	}
	p.call("elem.drop")
	for _, n := range entries {
		p.call("table.init", 0, 0, n)
	}
	p.dump()
}

// bulkPair is an original and its rewritten copy.
type bulkPair struct {
	t      *testing.T
	guests [2]*guest
}

func (p *bulkPair) call(function string, args ...uint64) {
	p.t.Helper()
	want, trapped := p.guests[0].call(function, args...)
	got, trap := p.guests[1].call(function, args...)
	if fmt.Sprint(got, trap) != fmt.Sprint(want, trapped) {
		p.t.Errorf("%s%v: got %x %s, want %x %s", function, args, got, trap, want, trapped)
	}
}

// same compares memories.
func (p *bulkPair) same() {
	p.t.Helper()
	var views [2][]byte
	for i, g := range p.guests {
		views[i], _ = g.ExportedMemory("memory").Read(0, g.ExportedMemory("memory").Size())
	}
	if !bytes.Equal(views[0], views[1]) {
		p.t.Fatal("memories differ")
	}
}

// dump compares tables.
func (p *bulkPair) dump() {
	p.t.Helper()
	for t := range 3 {
		p.call(fmt.Sprint("dump", t))
		p.same()
	}
}
