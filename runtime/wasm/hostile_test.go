package wasm_test

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// TestWorsens: a module that needs more with each call is stopped at its limit and starts again,
// the same each time. No other plugin notices.
func TestWorsens(t *testing.T) {
	for _, interpreter := range []bool{false, true} {
		r := newRuntime(t, sandbox.RuntimeConfig{Interpreter: interpreter})
		module, man := guest(t, r, "guests/worsens")
		watched := &spy{Factory: module}
		limits := sandbox.Limits{FuelBase: 600, FuelPerRow: 1, OwnMemory: 1 << 20}
		p := newPlugin(t, wasm.Config{Limits: limits}, watched, man)
		good, man := guest(t, r, "good")
		other := newPlugin(t, wasm.Config{Name: "other"}, good, man)
		w := newWorld(3)
		got, most := "", int64(0)
		for range 15 {
			before := p.Fuel()
			v := verdicts(filter(p, w.cycle(incoming("a", "p", 0)), w.rows()))
			p.Settle("a")
			most = max(most, p.Fuel()-before)
			switch {
			case v == "Success Unschedulable Success":
				got += "."
			case strings.Contains(v, "out-of-fuel: the call used its fuel of 603 units"):
				got += "F"
			default:
				t.Fatal(v)
			}
			if v := verdicts(filter(other, w.again(incoming("a", "q", 0)), w.rows())); v != "Success Unschedulable Success" {
				t.Errorf("another plugin says %s", v)
			}
			if n := len(watched.alive()); n > 1 {
				t.Errorf("%d instances are alive", n)
			}
		}
		// 2,000 rounds, 4,000 …; the sixth call would make 64,000.
		if want := ".....F.....F..."; got != want {
			t.Errorf("the calls went %s, want %s", got, want)
		}
		if most > 603 {
			t.Errorf("a call used %d units", most)
		}
	}
}
