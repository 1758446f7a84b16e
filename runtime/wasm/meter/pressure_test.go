package meter_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// TestPressure: what needs more registers than there are gives the same on both engines, rewritten or not. Checks are calls,
// which take values out of registers, so that rewriting brings such faults of a compiler out. wazero 1.12.0 lost quotients
// of remainders on arm64 (wazero issue 2508), and operands of selects of floats and vectors on amd64 (issue 2534).
func TestPressure(t *testing.T) {
	first := seeded.Rand(t).Uint64()
	for _, width := range []byte{tI32, tI64, tF32, tF64, tV128} {
		hosts := map[engine]*host{}
		for _, e := range engines() {
			hosts[e] = newHost(t, e)
		}
		for n := range uint64(25) {
			seed := first + n
			module := pressure(rand.New(rand.NewPCG(seed, 0)), width)
			rewritten, info := rewrite(t, module, meter.Config{})
			for which := range uint64(4) {
				var want []uint64
				for _, e := range []engine{interpreter, compiler} {
					for form, i := range map[string]*meter.Info{"original": nil, "rewritten": info} {
						m := module
						if i != nil {
							m = rewritten
						}
						got := pressed(t, hosts[e], m, i, width, which)
						if want == nil {
							want = got
						}
						if !slices.Equal(got, want) {
							t.Errorf("type %#x, seed %d, %s, %s: %#x, want %#x", width, seed, e, form, got, want)
						}
					}
				}
			}
		}
	}
}

// pressed calls a function that pressure made.
func pressed(t *testing.T, h *host, module []byte, info *meter.Info, width byte, which uint64) []uint64 {
	t.Helper()
	g, err := h.guest(module, info)
	if err != nil {
		t.Fatal(err)
	}
	g.grant(1 << 40)
	args := map[byte][]uint64{
		tF32: {0x40000001, 0x40000003, 0x40000007}, tV128: {1, 2, 3, 4, 5, 6},
		tF64: {0x4000000000000001, 0x4000000000700000, 0x4000700000000000},
	}[width]
	if args == nil {
		args = []uint64{1_000_003, 7_919, 104_729}
	}
	got, trap := g.call("run", append([]uint64{which}, args...)...)
	if trap != "" {
		t.Fatal(trap)
	}
	if err := g.Close(context.Background()); err != nil {
		t.Error(err)
	}
	return got
}

// pressure returns a module whose function has many locals of a type, all of which are alive to its end. It gives each, in
// some order, the remainder of others, or of floats and vectors one of two others, or what a call returns.
func pressure(r *rand.Rand, width byte) []byte {
	plain := func(ops ...byte) func(*asm) { return func(a *asm) { a.op(ops...) } }
	add := map[byte]func(*asm){
		tI32: plain(0x6a), tI64: plain(0x7c), tF32: plain(0x92), tF64: plain(0xa0), tV128: func(a *asm) { a.simd(174) },
	}[width]
	locals := 5 + r.IntN(50)
	a := &asm{}
	some := func() { a.opN(0x20, 1+r.IntN(locals)) }
	const rounds = 3
	counter := 1 + locals
	a.op(0x03, empty)
	for range 10 + r.IntN(90) {
		sometimes := r.IntN(5) == 0
		if sometimes {
			a.opN(0x20, counter)
			a.i32(1)
			a.op(0x71, 0x04, empty) // and, if
		}
		some()
		some()
		switch {
		case r.IntN(3) == 0:
			a.opN(0x10, 1)
		case width == tI32:
			a.op(0x41, 1, 0x72, 0x6f+byte(r.IntN(2))) // or 1, rem_s or rem_u
			a.opN(0x22, 1+r.IntN(locals))
			a.i32(r.Int32())
			some()
			a.op(0x73, 0x6a) // xor, add
		case width == tI64:
			a.op(0x42, 1, 0x84, 0x81+byte(r.IntN(2)))
			a.opN(0x22, 1+r.IntN(locals))
			a.i64(r.Int64())
			some()
			a.op(0x85, 0x7c)
		default:
			a.opN(0x20, 0)
			a.i32(1 << r.IntN(2))
			a.op(0x71, 0x1b) // and, select
		}
		a.opN(0x21, 1+r.IntN(locals))
		if sometimes {
			a.op(0x0b)
		}
	}
	a.opN(0x20, counter)
	a.op(0x41, 1, 0x6a) // add
	a.opN(0x22, counter)
	a.op(0x41, rounds, 0x48) // lt_s
	a.opN(0x0d, 0)
	a.op(0x0b)
	a.opN(0x20, 1)
	for i := range locals - 1 {
		a.opN(0x20, 2+i)
		add(a)
	}
	sum := &asm{}
	sum.opN(0x20, 0)
	sum.opN(0x20, 1)
	add(sum)
	const params = 3
	m := &mod{exports: map[string]int{"run": 0}, funcs: []fn{
		{
			sig:    sig{params: append([]byte{tI32}, bytes.Repeat([]byte{width}, params)...), results: []byte{width}},
			locals: append(bytes.Repeat([]byte{width}, locals-params), tI32), body: a.b,
		},
		{sig: sig{params: []byte{width, width}, results: []byte{width}}, body: sum.b},
	}}
	return m.bytes()
}

// TestTypesOfAnotherStore: a module that one store compiled keeps its types apart in another store of the same cache, where
// they have other numbers (wazero 1.12.0 mixed them up, issue 2511): its import is found, and an indirect call traps if and
// only if the type is another.
func TestTypesOfAnotherStore(t *testing.T) {
	ctx := context.Background()
	others := wat.Compile(t, `(module (type (func (param i32 i64) (result i64))) (type (func (param f32) (result i32))))`, "")
	rewritten, info := rewrite(t, wat.Compile(t, `(module
	  (type $none (func)) (type $value (func (result i32))) (type $half (func (param f64) (result f64)))
	  (import "maths" "half" (func $half (type $half)))
	  (table 2 funcref) (elem (i32.const 0) $seven $half)
	  (func $seven (result i32) (i32.const 7))
	  (func (export "right") (result i32) (call_indirect (type $value) (i32.const 0)))
	  (func (export "import") (result i32) (i32.trunc_f64_s (call_indirect (type $half) (f64.const 8) (i32.const 1))))
	  (func (export "wrong") (result i32) (call_indirect (type $value) (i32.const 1))))`, ""), meter.Config{})
	cache := wazero.NewCompilationCache()
	t.Cleanup(func() {
		if err := cache.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	for _, e := range engines() {
		var compiled wazero.CompiledModule
		var h *host
		for _, before := range [][][]byte{nil, {others}} {
			h = newCachedHost(t, e, cache)
			for _, module := range before { // whose types get the numbers that the module's have in the first store
				if _, err := h.runtime.CompileModule(ctx, module); err != nil {
					t.Fatal(err)
				}
			}
			_, err := h.runtime.NewHostModuleBuilder("maths").NewFunctionBuilder().
				WithFunc(func(v float64) float64 { return v / 2 }).Export("half").Instantiate(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if compiled != nil {
				continue
			}
			if compiled, err = h.runtime.CompileModule(ctx, rewritten); err != nil {
				t.Fatal(err)
			}
		}
		m, err := h.runtime.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			t.Fatal(e, err)
		}
		g := &guest{Module: m, info: info, host: h}
		g.grant(1 << 20)
		for function, want := range map[string]uint64{"right": 7, "import": 4} {
			if got, trap := g.call(function); trap != "" || got[0] != want {
				t.Errorf("%s, %s: got %d %s, want %d", e, function, got, trap, want)
			}
		}
		if got, trap := g.call("wrong"); !strings.Contains(trap, "indirect call type mismatch") {
			t.Errorf("%s: got %d %q", e, got, trap)
		}
	}
}
