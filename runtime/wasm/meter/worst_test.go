package meter_test

import (
	"context"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// mostTimesCopied bounds BenchmarkWorst for code that moves many bytes or values, which needs no cache misses to be slow.
const mostTimesCopied = 6

// BenchmarkWorst measures what fuel takes at most, by kinds of instructions: each in the code that makes it slowest. It
// reports the time of a unit in ns, and how many times that of a plain loop it is, and fails above meter.MostTimesPlain. What
// counts is the thread's own time, and the least of several runs, since the machine may do other things.
func BenchmarkWorst(b *testing.B) {
	kinds := worstKinds()
	plain := newWorst(b, kinds["plain loop"])
	for _, name := range sortedKeys(kinds) {
		b.Run(name, func(b *testing.B) {
			w := newWorst(b, kinds[name])
			best, base := math.Inf(1), math.Inf(1)
			for b.Loop() {
				for range 3 {
					base = min(base, plain.nsPerUnit(b))
					best = min(best, w.nsPerUnit(b))
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(w.nsPerRound, "ns/round")
			b.ReportMetric(float64(w.fuelPerRound), "fuel/round")
			b.ReportMetric(best, "ns/unit")
			b.ReportMetric(best/base, "times-plain")
			most := meter.MostTimesPlain
			if name == "v128 loads" || slices.ContainsFunc([]string{"255 ", "memory.copy", "memory.fill", "memory.init"},
				func(part string) bool { return strings.Contains(name, part) }) {
				most = mostTimesCopied
			}
			if best > float64(most)*base {
				b.Errorf("%.2f ns a unit, %.1f times those of a plain loop, want at most %d", best, best/base, most)
			}
		})
	}
}

// worst is an instance of a module whose export "run" takes how many rounds to make.
type worst struct {
	guest        *guest
	run          api.Function
	rounds       uint64
	fuelPerRound int64
	nsPerRound   float64
}

func newWorst(b *testing.B, m *mod) *worst {
	rewritten, info := rewrite(b, m.bytes(), meter.Config{})
	g, err := newHost(b, compiler).guest(rewritten, info)
	if err != nil {
		b.Fatal(err)
	}
	w := &worst{guest: g, run: g.ExportedFunction("run"), rounds: 1, nsPerRound: math.Inf(1)}
	g.grant(math.MaxInt64)
	if f := g.ExportedFunction("setup"); f != nil {
		if _, trap := g.call("setup"); trap != "" {
			b.Fatal(trap)
		}
	}
	for took, _ := w.turn(b); took < 5*time.Millisecond; took, _ = w.turn(b) {
		w.rounds *= 2
	}
	return w
}

// turn makes the rounds, and returns what they took and used.
func (w *worst) turn(b *testing.B) (time.Duration, int64) {
	w.guest.grant(math.MaxInt64)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadTime()
	if err := w.run.CallWithStack(context.Background(), []uint64{w.rounds}); err != nil {
		b.Fatal(err)
	}
	return threadTime() - start, math.MaxInt64 - w.guest.left()
}

func (w *worst) nsPerUnit(b *testing.B) float64 {
	took, used := w.turn(b)
	w.fuelPerRound = used / int64(w.rounds)
	w.nsPerRound = min(w.nsPerRound, float64(took)/float64(w.rounds))
	return float64(took) / float64(used) * meter.Unit
}

// The locals of "run": rounds that are left, a number that looks drawn, an address, and one of each other type.
const (
	wRounds = iota
	wDrawn
	wAddress
	wI64
	wF32
	wF64
	wV128
	wSum
)

// rounds is a module whose "run" does something as often as it is told.
func rounds(m *mod, first, body func(a *asm)) *mod {
	a := &asm{}
	a.i32(12345)
	a.opN(0x21, wDrawn)
	if first != nil {
		first(a)
	}
	a.op(0x03, empty)
	body(a)
	a.opN(0x20, wRounds)
	a.i32(1)
	a.op(0x6b)
	a.opN(0x22, wRounds)
	a.opN(0x0d, 0)
	a.op(0x0b)
	if m == nil {
		m = &mod{}
	}
	if m.memory == nil {
		m.memory = &[2]int{1024, 1024}
	}
	m.exports = map[string]int{"run": m.imports + len(m.funcs)}
	m.funcs = append(m.funcs, fn{sig: sig{params: []byte{tI32}}, locals: []byte{tI32, tI32, tI64, tF32, tF64, tV128, tI32}, body: a.b})
	return m
}

// draw leaves the next number that looks drawn, with its low bits cut off.
func draw(a *asm) {
	a.opN(0x20, wDrawn)
	a.i32(1664525)
	a.op(0x6c)
	a.i32(1013904223)
	a.op(0x6a)
	a.opN(0x22, wDrawn)
}

// scattered leaves a drawn address that depends on what was read last.
func scattered(a *asm, mask int32) {
	draw(a)
	a.opN(0x20, wSum)
	a.op(0x73) // xor
	a.i32(8)
	a.op(0x76)
	a.i32(mask)
	a.op(0x71)
}

// chain writes x = op(x, y) n times for a local.
func chain(local int, n int, operand func(a *asm), op ...byte) func(a *asm) {
	return func(a *asm) {
		for range n {
			a.opN(0x20, local)
			if operand != nil {
				operand(a)
			}
			a.op(op...)
			a.opN(0x21, local)
		}
	}
}

// worstKinds are modules by the kind of instruction that makes them slow.
func worstKinds() map[string]*mod {
	const all = 0x3fffff0 // of the memory's addresses, 16 bytes apart
	kinds := map[string]*mod{
		"plain loop": rounds(nil, nil, func(*asm) {}),
		"i32.mul":    rounds(nil, nil, chain(wDrawn, 64, func(a *asm) { a.i32(77) }, 0x6c)),
		"i64.mul":    rounds(nil, nil, chain(wI64, 64, func(a *asm) { a.i64(77) }, 0x7e)),
		"i32.rem":    rounds(nil, nil, chain(wDrawn, 64, func(a *asm) { a.opN(0x20, wRounds) }, 0x70)),
		"i64.div": rounds(nil, nil, func(a *asm) {
			for range 32 {
				a.i64(math.MaxInt64)
				a.opN(0x20, wI64)
				a.i64(3)
				a.op(0x84) // or
				a.op(0x7f)
				a.opN(0x21, wI64)
			}
		}),
		"i64.popcnt":   rounds(nil, nil, chain(wI64, 64, nil, 0x7b)),
		"i64.rotl":     rounds(nil, nil, chain(wI64, 64, func(a *asm) { a.opN(0x20, wI64) }, 0x89)),
		"memory.size":  rounds(nil, nil, func(a *asm) { repeated(64, func(int) { a.op(0x3f, 0, 0x1a) }) }),
		"memory.grow":  rounds(nil, nil, func(a *asm) { repeated(16, func(int) { a.i32(0); a.op(0x40, 0, 0x1a) }) }),
		"ref.func":     rounds(nil, nil, func(a *asm) { repeated(16, func(int) { a.opN(0xd2, 0); a.op(0x1a) }) }),
		"random bools": rounds(nil, nil, func(a *asm) { repeated(32, func(int) { draw(a); coin(a); a.op(0x04, empty); bump(a); a.op(0x0b) }) }),
		"random select": rounds(nil, nil, func(a *asm) {
			repeated(32, func(int) {
				a.i32(1)
				a.i32(2)
				draw(a)
				coin(a)
				a.op(0x1b)
				a.opN(0x21, wSum)
			})
		}),
	}
	addReads(kinds, all)
	addFloats(kinds)
	addCalls(kinds)
	addBulk(kinds, all)
	return kinds
}

// coin turns a drawn number into its highest bit.
func coin(a *asm) { a.i32(31); a.op(0x76) }

// bump changes wSum.
func bump(a *asm) { a.opN(0x20, wSum); a.i32(1); a.op(0x6a); a.opN(0x21, wSum) }

// repeated does something n times.
func repeated(n int, do func(i int)) {
	for i := range n {
		do(i)
	}
}
