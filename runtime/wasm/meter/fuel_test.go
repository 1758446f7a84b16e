package meter_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// TestFuelOf: what some functions cost, in grains.
func TestFuelOf(t *testing.T) {
	module := wat.Compile(t, "testdata/fuel.wat", "")
	rewritten, info := rewrite(t, module, meter.Config{})
	const entry, call, bulk, grow = 64, 64, 2*128 + 64, 64 + 64
	const straight = 64 // instructions
	costs := map[string]int64{
		"empty":         entry,
		"calls":         entry + 3*(call+entry),
		"calls twice":   entry + call + entry + 3*(call+entry),
		"twelve values": entry + 12 + call + 12 + 4*8 + entry + 12/4, // four of them by way of the stack; those of the callee meet at its end
		"straight":      entry + straight,
		"loop":          entry + 2 + 10*meter.Iteration + 5,                      // what is before the loop, and the end of the last iteration
		"heavy":         entry + 2 + 10*(meter.Iteration+straight) + 69,          // the same
		"division":      entry + 5 + 4*16 + 1,                                    // a division is 16
		"branches":      entry + 2 + straight,                                    // the longer of two paths, which is taken
		"not taken":     entry + 2 + straight,                                    // the same, though it is not
		"fill":          entry + 3 + bulk + 1000/4,                               // as much as can be told before
		"fill pages":    entry + 3 + bulk + 2*(1+16<<10) + 1 + 131172%(64<<10)/4, // two steps of 64 KiB, and the rest
		"grow":          entry + 2 + grow + 1 + 2*(8<<10),
		"cannot grow":   entry + 2 + grow,
		"copy table":    entry + 3 + bulk + 1 + 1000,
	}
	for _, e := range engines() {
		h := newHost(t, e)
		for _, name := range sortedKeys(costs) {
			for _, less := range []int64{0, 1} {
				g, err := h.guest(rewritten, info)
				if err != nil {
					t.Fatal(err)
				}
				g.grant(costs[name] - less)
				_, trap := g.call(name)
				if want := map[int64]meter.Status{1: meter.OutOfFuel}[less]; g.status() != want || less == 0 && g.left() != 0 {
					t.Errorf("%s, %s with %d grains: %s %s, %d left", e, name, costs[name]-less, g.status(), trap, g.left())
				}
			}
		}
	}
}

// TestYields: the host is called once for each slice, and left in between.
func TestYields(t *testing.T) {
	module := wat.Compile(t, "testdata/hostile/loop.wat", "")
	for _, e := range engines() {
		for _, slice := range []uint32{3, 30, 4096} { // in iterations, which cost 3
			rewritten, info := rewrite(t, module, meter.Config{Slice: slice})
			h := newHost(t, e)
			g, err := h.guest(rewritten, info)
			if err != nil {
				t.Fatal(err)
			}
			const fuel = 99_999
			g.grant(64 + fuel) // the entry
			g.call("run")
			if want := (fuel + int64(slice) - 1) / int64(slice); h.yields.Load() != want || g.left() != 0 {
				t.Errorf("%s, slices of %d: %d yields and %d grains left, want %d and 0", e, slice, h.yields.Load(), g.left(), want)
			}
		}
	}
}

// TestStop: a call ends when another goroutine says so, with most of its fuel
// left. Run it with the race detector.
func TestStop(t *testing.T) {
	rewritten, info := rewrite(t, wat.Compile(t, "testdata/hostile/loop.wat", ""), meter.Config{})
	for _, e := range engines() {
		h := newHost(t, e)
		g, err := h.guest(rewritten, info)
		if err != nil {
			t.Fatal(err)
		}
		g.grant(1 << 60)
		var wg sync.WaitGroup
		wg.Go(func() {
			for h.yields.Load() < 100 {
				runtime.Gosched()
			}
			h.stop.Store(true)
		})
		_, trap := g.call("run")
		wg.Wait()
		if g.status() != meter.Stopped || g.left() < 1<<59 {
			t.Errorf("%s: %s %s, %d units left", e, g.status(), trap, g.left())
		}
	}
}

// TestFuelAfterGrowth: wazero's compiler keeps globals in registers, and reads
// memory's base and length again after memory.grow, but not globals. The charge of
// a growth must be seen all the same.
func TestFuelAfterGrowth(t *testing.T) {
	module := wat.Compile(t, `(module (memory 1 100)
	  (func (export "run") (local $i i32)
	    (local.set $i (i32.const 10))
	    (loop $again
	      (drop (memory.grow (i32.const 1))) (drop (memory.grow (i32.const 0))) (drop (memory.grow (i32.const 1)))
	      (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))))`, "")
	for _, slice := range []uint32{1, 100_000} {
		rewritten, info := rewrite(t, module, meter.Config{Slice: slice})
		for _, e := range engines() {
			g, err := newHost(t, e).guest(rewritten, info)
			if err != nil {
				t.Fatal(err)
			}
			g.grant(1_000_000)
			g.call("run")
			// The growths by a page alone: 20 of them.
			if cost := 1_000_000 - g.left(); cost < 20*(8<<10) || cost > 21*(8<<10) {
				t.Errorf("%s, slices of %d: %d grains, want %d to %d", e, slice, cost, 20*(8<<10), 21*(8<<10))
			}
		}
	}
}

// TestParts: what is left out is left out, and the rest counts as before.
func TestParts(t *testing.T) {
	module := wat.Compile(t, "testdata/fuel.wat", "")
	for _, omit := range []meter.Part{0, meter.PartDepth, meter.PartYield, meter.PartDepth | meter.PartYield} {
		rewritten, info := rewrite(t, module, meter.Config{Omit: omit, Slice: 1})
		h := newHost(t, compiler)
		g, err := h.guest(rewritten, info)
		if err != nil {
			t.Fatal(err)
		}
		g.grant(2000)
		if _, trap := g.call("calls"); trap != "" {
			t.Fatal(trap)
		}
		if g.left() != 2000-448 {
			t.Errorf("without %b: %d grains left, want %d", omit, g.left(), 2000-448)
		}
		if yields := h.yields.Load() > 0; yields == (omit&meter.PartYield != 0) {
			t.Errorf("without %b: %d yields", omit, h.yields.Load())
		}
		g.set(meter.DepthExport, 1)
		want := meter.TooDeep
		if omit&meter.PartDepth != 0 {
			want = meter.Running
		}
		if _, trap := g.call("calls twice"); g.status() != want {
			t.Errorf("without %b: %s %s, want %s", omit, g.status(), trap, want)
		}
	}
}

// TestFuelOfNewInstance: nothing runs before there is fuel, and Config may say that
// there is some from the beginning.
func TestFuelOfNewInstance(t *testing.T) {
	module := wat.Compile(t, "testdata/fuel.wat", "")
	const enough = 448
	for _, fuel := range []int64{0, enough - 1, enough} {
		rewritten, info := rewrite(t, module, meter.Config{Fuel: fuel})
		g, err := newHost(t, compiler).guest(rewritten, info)
		if err != nil {
			t.Fatal(err)
		}
		_, trap := g.call("calls")
		if want := map[bool]meter.Status{false: meter.OutOfFuel, true: meter.Running}[fuel >= enough]; g.status() != want {
			t.Errorf("%d grains: %s %s, want %s", fuel, g.status(), trap, want)
		}
	}
}

// TestStatusNames: each status has a name, and others say so.
func TestStatusNames(t *testing.T) {
	got := fmt.Sprint(meter.Running, meter.OutOfFuel, meter.TooDeep, meter.Stopped, meter.Status(4))
	if want := "running out of fuel too deep stopped unknown"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
