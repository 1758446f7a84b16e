package wasm_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/encoding"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// readsObjects is a guest of scope node that reads the whole node of each row, in turn with the
// first one, and rejects nodes whose encoding has an odd length.
const readsObjects = `(module
	(import "berth" "node_object" (func $node (param i32 i32 i32) (result i32)))
	(memory (export "memory") 2)
	(global $top (mut i32) (i32.const 0x20000))
	(func (export "berth_abi") (result i32) (i32.const 0x10000))
	(func (export "berth_alloc") (param i32 i32) (result i32)
		(drop (memory.grow (i32.add (i32.const 1) (i32.shr_u (local.get 0) (i32.const 16)))))
		(global.get $top)
		(global.set $top (i32.add (global.get $top) (i32.and (i32.add (local.get 0) (i32.const 63)) (i32.const -64)))))
	(func (export "berth_filter") (param $call i32) (param $lo i32) (param $hi i32) (result i32) (local $row i32) (local $n i32)
		(local.set $row (local.get $lo))
		(loop $next
			(drop (call $node (local.get $lo) (i32.const 0) (i32.const 0)))
			(local.set $n (call $node (local.get $row) (i32.const 64) (i32.const 4096)))
			(if (i32.and (local.get $n) (i32.const 1))
				(then (i32.store8
					(i32.add (i32.load offset=CODES (local.get $call)) (i32.sub (local.get $row) (local.get $lo)))
					(i32.const 2))))
			(local.set $row (i32.add (local.get $row) (i32.const 1)))
			(br_if $next (i32.lt_u (local.get $row) (local.get $hi))))
		(i32.const 0)))`

// TestFuelOfObjects: the fuel of reading objects, and with it each verdict, is the same in any
// number of instances, whether or not the objects were read before, and with the
// interpreter.
func TestFuelOfObjects(t *testing.T) {
	const nodes, points, reads, host = 3000, `{"filter":{"scope":"node"}}`, `{"node":["generation"]}`, `["node_object"]`
	w := newWorld(0)
	for i := range nodes {
		n := nodeObject(nodeName(i))
		n.Annotations = map[string]string{"a": strings.Repeat("x", i%300)}
		w.cache.AddNode(state.NewNode(n))
	}
	source := strings.ReplaceAll(readsObjects, "CODES", fmt.Sprint(abi.CallCodes))
	module := wat.Compile(t, source, manifestJSON(points, reads, host))
	warm := encoding.New()
	for _, perRow := range []int64{150, 11} { // of which the second is not enough for all blocks
		want, wantFuel := "", int64(0)
		for _, c := range []struct {
			workers     int
			interpreter bool
			encodings   *encoding.Cache
		}{
			{1, false, encoding.New()}, {2, false, encoding.New()}, {8, false, encoding.New()},
			{1, false, warm}, {2, false, warm}, {8, false, warm}, {3, true, warm}, {3, true, encoding.New()},
		} {
			m, err := newRuntime(t, sandbox.RuntimeConfig{Interpreter: c.interpreter}).Load(t.Context(), module)
			if err != nil {
				t.Fatal(err)
			}
			p, err := wasm.New(t.Context(), wasm.Config{Name: "guest", Shards: c.workers, Limits: sandbox.Limits{FuelBase: 1, FuelPerRow: perRow}},
				wasm.Deps{Factory: m, Manifest: manifest(t, points, reads, host), Encodings: c.encodings})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				before := p.Fuel()
				cy := w.cycle(incoming("a", "p", 0))
				got := verdicts(filterBlocks(p, cy, w.rows()))
				fuel := p.Fuel() - before
				p.Settle("a")
				if want == "" {
					want, wantFuel = got, fuel
				}
				if got != want || fuel != wantFuel {
					t.Errorf("%d a row: %+v used %d units, want %d; the verdicts are the same: %v", perRow, c, fuel, wantFuel, got == want)
				}
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if out := strings.Contains(want, "out-of-fuel"); out != (perRow == 11) || !strings.Contains(want, "Unschedulable") && !out {
			t.Errorf("%d a row: %.300s", perRow, want)
		}
	}
}

// TestObjectsCostTheirEncoding: each read costs in proportion to the object, whether or not it
// fits. A changed object is never served from the cache of the old one.
func TestObjectsCostTheirEncoding(t *testing.T) {
	const points, reads, host = `{"preFilter":{}}`, `{"node":["generation"]}`, `["pod_object"]`
	r := newRuntime(t, sandbox.RuntimeConfig{})
	h := hostCall{module: abi.HostModule, name: abi.HostPodObject, params: "i32 i32 i32", results: "i32"}
	m, err := r.Load(t.Context(), wat.Compile(t, h.rounds(), manifestJSON(points, reads, host)))
	if err != nil {
		t.Fatal(err)
	}
	p := &priced{watched: &spy{Factory: m}, world: newWorld(1)}
	p.plugin = newPlugin(t, wasm.Config{Limits: sandbox.Limits{FuelBase: 1 << 40}}, p.watched, manifest(t, points, reads, host))
	p.prepare()
	cost := func(object *v1.Pod, capacity uint64, rounds uint32) int64 {
		p.pod = state.NewPod(object)
		p.args = [2][]uint64{{0, atBytes, capacity}, {0, atBytes, capacity}}
		units, ok := p.run(rounds)
		if !ok {
			t.Fatal("a fault")
		}
		return units
	}
	object := podObject("a", "p", "")
	first := cost(object, 1<<20, 100) // a part of a unit counts as one
	if again, small, many := cost(object, 1<<20, 100), cost(object, 0, 100), cost(object, 1<<20, 10_100); again != first || small != first || many < 90*first {
		t.Errorf("a read costs %d units, and %d again, %d for the size, %d 101 times", first, again, small, many)
	}
	for _, size := range []int{1000, 100_000, 1_000_000} {
		large := object.DeepCopy()
		large.Annotations = map[string]string{"a": strings.Repeat("x", size)}
		least := 2 * int64(size) / 4 * meter.Iteration / meter.Unit
		if units := cost(large, 1<<20, 1); units < least || units > first+2*least {
			t.Errorf("two reads of %d bytes more cost %d units, and %d without", size, units, first)
		}
		var got v1.Pod
		memory := p.watched.alive()[0].Memory()
		if encoded, err := large.Marshal(); err != nil || got.Unmarshal(memory[atBytes:][:len(encoded)]) != nil || len(got.Annotations["a"]) != size {
			t.Errorf("the guest has not got the pod that has %d bytes more: %v", size, err)
		}
	}
}
