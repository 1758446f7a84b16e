package wasm

import (
	"fmt"
	"runtime/debug"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// guard turns a panic of the host, while it serves a guest, into a fault of the
// plugin: one plugin's input must not end the scheduler. It is deferred.
func (p *Plugin) guard(point abi.Point, f **fault.Fault) {
	if r := recover(); r != nil {
		*f = p.bug(point, r, debug.Stack())
	}
}

// bug returns the fault of a panic, or goes on with it.
func (p *Plugin) bug(point abi.Point, panicked any, stack []byte) *fault.Fault {
	if p.config.CrashOnBug {
		panic(panicked)
	}
	return p.traced(point, fault.Bug, fmt.Sprintf("the host failed: %v; please report this", panicked), string(stack), nil)
}

// hostPanic is a panic of a host function, kept until the guest's call has
// returned: wazero makes an error of it that looks like a trap.
type hostPanic struct {
	value any
	stack []byte
}
