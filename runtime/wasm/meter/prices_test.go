package meter_test

import (
	"testing"

	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// TestPrices: a call of an import costs its price besides what calls cost, however it
// is reached; what cannot be paid is not called.
func TestPrices(t *testing.T) {
	module := wat.Compile(t, `(module
	  (type $log (func (param i32) (result i32)))
	  (import "env" "log" (func $log (type $log)))
	  (table 2 funcref) (elem (i32.const 1) $log)
	  (export "exported" (func $log))
	  (func (export "direct") (param i32) (drop (call $log (local.get 0))))
	  (func (export "indirect") (param i32) (drop (call_indirect (type $log) (local.get 0) (i32.const 1))))
	  (func (export "reference") (param i32)
	    (table.set 0 (i32.const 0) (ref.func $log))
	    (drop (call_indirect (type $log) (local.get 0) (i32.const 0)))))`, "")
	lengths := []meter.Length{{Param: 0, Shift: 8}, {Param: 0, Iterations: 3}}
	for name, c := range map[string]struct {
		prices []meter.Price
		extra  func(arg uint32) int64
	}{
		"none":            {nil, func(uint32) int64 { return 0 }},
		"of others":       {[]meter.Price{{Module: "env", Name: "other", Fixed: 100}, {Module: "other", Name: "log", Fixed: 100}}, func(uint32) int64 { return 0 }},
		"of another type": {[]meter.Price{{Module: "env", Name: "log", Fixed: 100, Lengths: []meter.Length{{Param: 1, Shift: 4}}}}, func(uint32) int64 { return 0 }},
		"fixed":           {[]meter.Price{{Module: "env", Name: "log", Fixed: 100}}, func(uint32) int64 { return 100 }},
		"by lengths": {[]meter.Price{{Module: "env", Name: "log", Fixed: 7, Lengths: lengths}}, func(arg uint32) int64 {
			return 7 + min(int64(arg>>8), (1<<31-1)/meter.Iteration) + 3*min(int64(arg), (1<<31-1)/(3*meter.Iteration))
		}}, // nothing is negative
		"of all":          {[]meter.Price{{Module: "env", Fixed: 50}, {Module: "other", Fixed: 60}}, func(uint32) int64 { return 50 }},
		"of all but this": {[]meter.Price{{Module: "env", Fixed: 50}, {Module: "env", Name: "log", Fixed: 9}, {Module: "env", Fixed: 70}}, func(uint32) int64 { return 9 }},
	} {
		rewritten, info := rewrite(t, module, meter.Config{Prices: c.prices})
		for _, e := range engines() {
			used := map[string]int64{}
			for _, function := range []string{"direct", "indirect", "reference", "exported"} {
				for _, arg := range []uint32{0, 1000, 0xffffffff} {
					h := newHost(t, e)
					g, err := h.guest(rewritten, info)
					if err != nil {
						t.Fatal(err)
					}
					const fuel = 1 << 40
					g.grant(fuel)
					if _, trap := g.call(function, uint64(arg)); trap != "" || len(h.log) != 1 || h.log[0] != uint64(arg) {
						t.Fatalf("%s: %s(%#x) on %s: %s, log %v", name, function, arg, e, trap, h.log)
					}
					cost := fuel - g.left() - meter.Iteration*c.extra(arg)
					if before, ok := used[function]; ok && cost != before {
						t.Errorf("%s: %s(%#x) on %s: %d grains besides the price, want %d", name, function, arg, e, cost, before)
					}
					used[function] = cost
					if extra := meter.Iteration * c.extra(arg); extra > 0 {
						g.grant(extra)
						if _, trap := g.call(function, uint64(arg)); trap == "" && function != "exported" || g.status() != meter.OutOfFuel && function != "exported" {
							t.Errorf("%s: %s(%#x) on %s with too little fuel: %q, %s", name, function, arg, e, trap, g.status())
						}
					}
				}
			}
			if used["direct"] < 64 || used["indirect"] <= used["direct"] {
				t.Errorf("%s on %s: calls cost %v", name, e, used)
			}
		}
	}
}
