package sandbox

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// head is the beginning of a guest; its filter does %s.
const head = `(module (memory (export "memory") 1) (global $g (mut i64) (i64.const 0))
	(func (export "berth_abi") (result i32) (i32.const 0x10000))
	(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 4096))
	(func $nop (nop))
	(func (export "berth_filter") (param i32 i32 i32) (result i32) %s (i32.const 0))
`

// shapes are guests whose filter recurs without end, with large frames of several kinds.
func shapes() map[string]string {
	out := map[string]string{}
	rep := func(n int, f string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(f, "#", fmt.Sprint(i)))
		}
		return b.String()
	}
	out["plain"] = fmt.Sprintf(head, "(call $f)") + "(func $f (call $f)))"
	for _, n := range []int{8, 12, 60, 200} {
		// values loaded before the call and used after it
		out[fmt.Sprint("loads ", n)] = fmt.Sprintf(head, "(call $f)") + "(func $f " + rep(n, "(local $l# i64)") + rep(n, "(local.set $l# (i64.load offset=# (i32.const 0)))") + "(call $f)" + rep(n, "(global.set $g (i64.add (global.get $g) (local.get $l#)))") + "))"
		out[fmt.Sprint("vectors ", n)] = fmt.Sprintf(head, "(call $f)") + "(func $f " + rep(n, "(local $l# v128)") + rep(n, "(local.set $l# (v128.load (i32.const #)))") + "(call $f)" + rep(n, "(v128.store (i32.const 0) (local.get $l#))") + "))"
		out[fmt.Sprint("params ", n)] = fmt.Sprintf(head, "(call $f "+rep(n, "(i64.const #)")+")") + "(func $f " + rep(n, "(param $l# i64)") + "(call $f" + rep(n, "(local.get $l#)") + ")" + rep(n, "(global.set $g (i64.add (global.get $g) (local.get $l#)))") + "))"
		out[fmt.Sprint("vparams ", n)] = fmt.Sprintf(head, "(call $f "+rep(n, "(v128.load (i32.const #))")+")") + "(func $f " + rep(n, "(param $l# v128)") + "(call $f" + rep(n, "(local.get $l#)") + ")" + rep(n, "(v128.store (i32.const 0) (local.get $l#))") + "))"
		out[fmt.Sprint("results ", n)] = fmt.Sprintf(head, "(call $f)"+rep(n, "(drop)")) + "(func $f (result " + rep(n, "i64 ") + ") (call $f)))"
	}
	for _, n := range []int{2, 8, 30} { // n labels where 100 locals meet
		out[fmt.Sprint("phis ", n)] = fmt.Sprintf(head, "(call $f (i32.const 1))") + "(func $f (param $p i32) " + rep(100, "(local $l# i64)") +
			rep(100, "(local.set $l# (i64.load offset=# (i32.const 0)))") +
			rep(n, "(block ") + "(block (br_table " + rep(n, "# ") + " 0 (i32.load (i32.const 8))))" +
			rep(100, "(local.set $l# (i64.load offset=1# (i32.const 0)))") +
			strings.Repeat("(call $nop) (br_if 0 (i32.load (i32.const 16))) (call $f (i32.const 1)))", n) +
			"(call $f (i32.const 2))" + rep(100, "(global.set $g (i64.add (global.get $g) (local.get $l#)))") + "))"
	}
	return out
}

// TestStacks: whatever frames are made of, a recursion ends by the depth limit while its stack is
// within what the limit allows. A stack that has grown is not kept.
func TestStacks(t *testing.T) {
	const depth = 20_000
	r, err := NewRuntime(RuntimeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	largest := 0
	for name, source := range shapes() {
		m, err := r.Load(context.Background(), wat.Compile(t, source, "{}"))
		if err != nil {
			t.Fatal(name, err)
		}
		env := NewEnv(EnvConfig{Limits: Limits{Depth: depth}, StartFuel: DefaultFuelStart})
		made, err := m.New(context.Background(), 0, env)
		if err != nil {
			t.Fatal(name, err)
		}
		g := made.(*instance)
		env.Begin(100 * DefaultFuelPerCycle)
		_, err = g.Call(context.Background(), abi.Filter, 0, 0, 0)
		if kind, detail, _ := TrapOf(err); kind != fault.StackOverflow || detail != "more than 20000 frames of functions" {
			t.Errorf("%s: %s: %s", name, kind, detail)
		}
		size := g.stacks.size(g.points[abi.Filter])
		if largest = max(largest, size); uint64(size) > stackBytes(depth) {
			t.Errorf("%s: a stack of %d bytes, at most %d are expected", name, size, stackBytes(depth))
		}
		if g.shrink(&g.points[abi.Filter]); g.stacks.size(g.points[abi.Filter]) > keptStack {
			t.Errorf("%s: a stack of %d bytes is kept", name, size)
		}
		if native, deep := env.Native(); native+deep < uint64(size) {
			t.Errorf("%s: %d and %d bytes are counted, the stack has %d", name, native, deep, size)
		}
	}
	if uint64(largest) < stackBytes(depth)/4 { // or the field of wazero has another name
		t.Errorf("the largest stack has %d bytes", largest)
	}
}
