package sandbox

import (
	"context"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// TestOutOfMemory: a guest that traps in a call that got no memory is told the limit and its name. A call that got none and went on is not
// the cause of what a later one does.
func TestOutOfMemory(t *testing.T) {
	const source = `(module (memory (export "memory") 1)
		(func (export "berth_abi") (result i32) (i32.const 65536))
		(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 64))
		(func (export "berth_filter") (param $how i32) (param i32 i32) (result i32)
			(if (i32.and (local.get $how) (i32.const 1)) (then (drop (memory.grow (i32.const 4096)))))
			(if (i32.and (local.get $how) (i32.const 2)) (then (unreachable)))
			(i32.const 0)))`
	r, err := NewRuntime(RuntimeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.Load(context.Background(), wat.Compile(t, source, "{}"))
	if err != nil {
		t.Fatal(err)
	}
	env := NewEnv(EnvConfig{StartFuel: DefaultFuelStart})
	g, err := m.New(context.Background(), 0, env)
	if err != nil {
		t.Fatal(err)
	}
	const short = "the guest asked for 257 MiB of memory; limits.memory gives an instance 64 MiB besides what the host writes"
	for _, call := range []struct {
		how  uint32
		want string
	}{{0, ""}, {1, ""}, {2, "unreachable"}, {3, short}, {2, "unreachable"}} {
		env.Begin(DefaultFuelPerCycle)
		_, err := g.Call(context.Background(), abi.Filter, call.how, 0, 0)
		got := ""
		if err != nil {
			var kind fault.Kind
			if kind, got, _ = TrapOf(err); kind != fault.Trap {
				t.Errorf("%v", kind)
			}
		}
		if got != call.want {
			t.Errorf("%d: got %q, want %q", call.how, got, call.want)
		}
	}
}

// TestWithoutDump: of the dump of a Go guest that got no memory, what happened is left.
func TestWithoutDump(t *testing.T) {
	const what = "logged\nruntime: out of memory: cannot allocate 268435456-byte block (4194304 in use)\nfatal error: out of memory"
	dump := "\n\ngoroutine 1 gp=0x1414500 m=0 mp=0x1414d00 [running]:\nruntime.throw({0x2b2b2, 0xd})\n" + strings.Repeat("main.f()\n", 50)
	for text, want := range map[string]string{what + dump: what, dump: "", "logged": "logged"} {
		if got := withoutDump(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
