package wasm_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// TestStackMemory: instances do not keep the stacks of deep recursions.
func TestStackMemory(t *testing.T) {
	const points = `{"preFilter": {}, "filter": {"scope": "node"}, "score": {"scope": "node"}}`
	source := `(module (memory (export "memory") 64) (global $g (mut i64) (i64.const 0))
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 4096))
		(func $nop)
		(func $deep (param $n i32) (local $a i64)
			(if (i32.eqz (local.get $n)) (then (return)))` +
		strings.Repeat("(local.set $a (i64.add (local.get $a) (global.get $g))) (call $nop)\n", 200) + `
			(call $deep (i32.sub (local.get $n) (i32.const 1)))
			(global.set $g (local.get $a)))
		(func (export "berth_pre_filter") (param i32) (result i32) (call $deep (i32.const 900)) (i32.const 0))
		(func (export "berth_filter") (param i32 i32 i32) (result i32) (call $deep (i32.const 900)) (i32.const 0))
		(func (export "berth_score") (param i32 i32 i32) (result i32) (call $deep (i32.const 900)) (i32.const 0)))`
	const reads = `{"node":["generation"],"pod":["priority"]}`
	module, err := newRuntime(t, sandbox.RuntimeConfig{}).Load(t.Context(), wat.Compile(t, source, manifestJSON(points, reads, "[]")))
	if err != nil {
		t.Fatal(err)
	}
	p := newPlugin(t, wasm.Config{Shards: 8}, module, manifest(t, points, reads, "[]"))
	w := newWorld(8 * 1024)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	c := w.cycle(incoming("a", "p", 0))
	p.PreFilter(c)
	before := heap()
	inBlocks(4, c, w.rows(), func(rows []uint32) string { filter(p, c, rows); return "" })
	inBlocks(4, c, w.rows(), func(rows []uint32) string { p.Score(c, rows, make([]int64, len(rows))); return "" })
	after := heap()
	if p.Faults() != 0 || p.Status().Instances < 4 {
		t.Fatalf("%d faults, %d instances", p.Faults(), p.Status().Instances)
	}
	if after > before+4<<20 {
		t.Errorf("%d KiB are kept", (after-before)>>10)
	}
	runtime.KeepAlive(p)
}
