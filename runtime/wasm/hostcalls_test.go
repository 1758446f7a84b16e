package wasm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// hostCall is an imported function, and the types of its parameters and results.
type hostCall struct{ module, name, params, results string }

// hostCalls returns all functions that a guest can import.
func hostCalls(t testing.TB) []hostCall {
	out := []hostCall{
		{abi.HostModule, abi.HostLog, "i32 i32 i32", ""},
		{abi.HostModule, abi.HostStateGet, "i32 i32 i32 i32", "i32"}, {abi.HostModule, abi.HostStateSet, "i32 i32 i32 i32", "i32"},
		{abi.HostModule, abi.HostPublishedGet, "i32 i32 i32", "i32"},
		{abi.HostModule, abi.HostPodObject, "i32 i32 i32", "i32"}, {abi.HostModule, abi.HostNodeObject, "i32 i32 i32", "i32"},
	}
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer r.Close(t.Context())
	if _, err := wasi_snapshot_preview1.Instantiate(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	names := func(types []api.ValueType) string {
		var out []string
		for _, t := range types {
			out = append(out, api.ValueTypeName(t))
		}
		return strings.Join(out, " ")
	}
	for name, f := range r.Module(abi.WASIModule).ExportedFunctionDefinitions() {
		out = append(out, hostCall{abi.WASIModule, name, names(f.ParamTypes()), names(f.ResultTypes())})
	}
	slices.SortFunc(out[6:], func(a, b hostCall) int { return strings.Compare(a.name, b.name) })
	return out
}

// edges are arguments at which pointers and lengths go wrong. The memory has 0x20000 bytes before
// the region.
func edges() []uint64 {
	return []uint64{0, 1, 0x1000, 0x1ffff, 0x20000, 0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff}
}

// source is a guest whose filter calls the function with edges. The pod's priority has a digit
// for each parameter.
func (h *hostCall) source() string {
	var data, args strings.Builder
	for _, v := range edges() {
		for i := range 8 {
			fmt.Fprintf(&data, `\%02x`, byte(v>>(8*i)))
		}
	}
	for _, typ := range strings.Fields(h.params) {
		fmt.Fprintf(&args, `(%s.load offset=512 (i32.shl (i32.rem_u (local.get $n) (i32.const %[2]d)) (i32.const 3)))
			(local.set $n (i32.div_u (local.get $n) (i32.const %[2]d)))
		`, typ, len(edges()))
	}
	drop := ""
	if h.results != "" {
		drop = "drop"
	}
	return fmt.Sprintf(`(module
		(import %q %q (func $f%s%s))
		(memory (export "memory") 2)
		(data $edges "%s")
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (drop (memory.grow (i32.const 2))) (i32.const 0x20000))
		(func (export "berth_filter") (param $call i32) (param i32 i32) (result i32) (local $n i32)
			;; An earlier call may have written over it.
			(memory.init $edges (i32.const 512) (i32.const 0) (i32.const 72))
			(local.set $n (i32.load offset=4 (local.get $call)))
			(local.set $n (i32.load (i32.add (local.get $n) (i32.load offset=16 (local.get $n)))))
			%s
			call $f %s
			(i32.const 0)))`, h.module, h.name, clause("param", h.params), clause("result", h.results), &data, &args, drop)
}

func clause(name, types string) string {
	if types == "" {
		return ""
	}
	return " (" + name + " " + types + ")"
}

// TestHostCallsWithAnyArguments: whatever a guest passes to a host function, it gets an answer or
// a fault, and pays for the work. A mistake of the host would end the test.
func TestHostCallsWithAnyArguments(t *testing.T) {
	r := newRuntime(t, sandbox.RuntimeConfig{})
	prices := sandbox.Prices()
	for _, h := range hostCalls(t) {
		host := "[]"
		if h.module == abi.HostModule {
			host = fmt.Sprintf("[%q]", h.name)
		}
		points, reads := `{"filter":{}}`, `{"pod":["priority"],"node":["generation"]}`
		module, err := r.Load(t.Context(), wat.Compile(t, h.source(), manifestJSON(points, reads, host)))
		if err != nil {
			t.Fatalf("%s: %v", h.name, err)
		}
		p := newPlugin(t, wasm.Config{Limits: sandbox.Limits{FuelBase: 100_000}, Breaker: breaker.Config{Faults: -1}}, module, manifest(t, points, reads, host))
		w := newWorld(2)
		random := rand.New(rand.NewPCG(1, 2))
		ran, faults := 0, 0
		for range 60 {
			digits, n, power := []uint64(nil), 0, 1
			for range strings.Fields(h.params) {
				d := random.IntN(len(edges()))
				digits, n, power = append(digits, edges()[d]), n+d*power, power*len(edges())
			}
			if n > 1<<30 { // a priority has 31 bits
				continue
			}
			before := p.Fuel()
			v := filter(p, w.cycle(incoming("a", "p", int32(n))), w.rows())
			p.Settle("a")
			ran++
			used := p.Fuel() - before
			if v.Codes[0] == abi.Error {
				faults++
				if said := strings.Join(v.Texts(0), " "); !strings.Contains(said, "fault of plugin guest at Filter: ") || strings.Contains(said, string(fault.Bug)) {
					t.Errorf("%s%#x: %s", h.name, digits, said)
				}
				continue
			}
			if least := cost(prices, &h, digits); used < least {
				t.Errorf("%s%#x: %d units, want at least %d", h.name, digits, used, least)
			}
		}
		if ran < 20 {
			t.Errorf("%s: called %d times only", h.name, ran)
		}
		t.Logf("%s: %d calls, %d of them faults", h.name, ran, faults)
	}
	for i := range prices {
		known := slices.ContainsFunc(hostCalls(t), func(h hostCall) bool {
			types := strings.Fields(h.params)
			return h.module == prices[i].Module && (h.name == prices[i].Name || prices[i].Name == "") &&
				!slices.ContainsFunc(prices[i].Lengths, func(l meter.Length) bool { return l.Param >= len(types) || types[l.Param] != "i32" })
		})
		if !known {
			t.Errorf("%s.%s has a price, and there is no such function with these parameters", prices[i].Module, prices[i].Name)
		}
	}
}

// cost returns the least fuel of a call, in units.
func cost(prices []meter.Price, h *hostCall, args []uint64) int64 {
	iterations := int64(2)
	for _, name := range []string{h.name, ""} {
		for i := range prices {
			if prices[i].Module == h.module && prices[i].Name == name {
				iterations += int64(prices[i].Fixed)
				for _, l := range prices[i].Lengths {
					iterations += int64(args[l.Param]>>l.Shift) * int64(max(l.Iterations, 1))
				}
				return iterations * meter.Iteration / meter.Unit
			}
		}
	}
	panic(h.name + " has no price")
}
