package wasm

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// Overrun is a call on the scheduler's loop that its deadline ended, or the end of the scheduler. These are the only
// faults that a machine's speed decides.
type Overrun struct {
	Point abi.Point
	// Block is the block of the first row, from 1 on; 0 for a call without rows and for one about a hypothetical
	// node. Calls begin in the same blocks on any number of workers.
	Block uint32
	// Pod is the pod of the call, or the first one.
	Pod types.UID
	// Call is the number of calls before this one that have the same point, block and pod, while the loop handled
	// the same event. Deps.Overrun sets it.
	Call uint64
	// Interrupted means that the call ended with the scheduler.
	Interrupted bool
	// Fuel is the fuel that the call used until then. Detail, Output and Trace are those of the fault.
	Fuel                  int64
	Detail, Output, Trace string
}

// overrunOf returns what identifies a call; nil for one of a binding cycle, which is beside the loop.
func overrunOf(r *request, snap *state.Snapshot) *Overrun {
	switch r.point {
	case abi.PreBind, abi.Bind, abi.PostBind:
		return nil
	default:
	}
	o := &Overrun{Point: r.point}
	if len(r.rows) > 0 && int(r.rows[0]) < snap.Capacity() {
		o.Block = r.rows[0]/plugin.BlockRows + 1
	}
	if len(r.pods) > 0 {
		o.Pod = r.pods[0].UID
	}
	return o
}

// repeated returns the fault of a call that did not end by itself in the recording that is replayed; nil if it did.
// The parts of a call that is split are one call: how many there are depends on the number of instances.
func (c *core) repeated(r *request, snap *state.Snapshot) *fault.Fault {
	if c.deps.Overrun == nil || r.overrun != nil {
		return nil
	}
	o := overrunOf(r, snap)
	r.overrun = o
	if o == nil || !c.deps.Overrun(o) {
		return nil
	}
	r.fuel = o.Fuel
	kind := fault.Deadline
	if o.Interrupted {
		kind = fault.Interrupted
	}
	f := c.faults.traced(o.Point, kind, o.Detail, o.Trace, nil)
	f.Output = o.Output
	return f
}

// trapped returns the fault of a call that ended with an error, and tells who records it if the guest was not the
// reason.
func (c *core) trapped(r *request, err error, env *sandbox.Env) *fault.Fault {
	kind, detail, trace := sandbox.TrapOf(err)
	f := c.faults.traced(r.point, kind, detail, trace, env)
	if o := r.overrun; o != nil && c.deps.Overran != nil && (kind == fault.Deadline || kind == fault.Interrupted) {
		o.Interrupted = kind == fault.Interrupted
		o.Fuel, o.Detail, o.Output, o.Trace = r.spent, f.Detail, f.Output, f.Trace
		c.deps.Overran(o)
	}
	return f
}
