package wasm_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// TestInterrupted: a call that ends with its context says so, and does not count against the
// plugin. A context that ends after the call has no effect.
func TestInterrupted(t *testing.T) {
	module, man := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "fuel_loop")
	start, stop := context.WithCancel(t.Context())
	p, err := wasm.New(start, wasm.Config{
		Name: "guest", Limits: sandbox.Limits{FuelBase: 1 << 60}, Breaker: breaker.Config{Faults: 1},
	}, wasm.Deps{Factory: module, Manifest: man})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	stop()
	w := newWorld(3)
	for range 3 {
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("interrupt signal received"))
		c := w.cycle(incoming("a", "p", 1))
		c.Context = ended
		v := filter(p, c, w.rows())
		p.Settle("a")
		if v.Codes[0] != abi.Error || !strings.Contains(v.Texts(0)[0], "Filter: interrupted: the call was interrupted: interrupt signal received") {
			t.Errorf("got %s", verdicts(v))
		}
	}
	if _, open := p.RetryAt("a"); open {
		t.Error("the breaker is open")
	}
	if got := verdicts(filter(p, w.cycle(incoming("a", "p", 0)), w.rows())); got != "Success Unschedulable Success" {
		t.Errorf("after the interruption: %s", got)
	}
	// The same during a start.
	module, man = guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "load_initialize_spins")
	_, err = wasm.New(start, wasm.Config{Name: "guest", Limits: sandbox.Limits{FuelStart: 1 << 60}}, wasm.Deps{Factory: module, Manifest: man})
	if err == nil || !strings.Contains(err.Error(), "the call was interrupted: context canceled") {
		t.Errorf("a start that is interrupted: %v", err)
	}
}
