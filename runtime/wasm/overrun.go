package wasm

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// Overrun is a call on the scheduler's loop that its deadline ended. It is the only fault that a machine's speed
// decides.
type Overrun struct {
	Point abi.Point
	// Row is the first row of the call, plus 1; 0 for a call without rows. Calls are cut into the same blocks
	// of rows on any number of workers.
	Row uint32
	// Pod is the pod of the call, or the first one.
	Pod types.UID
	// Fuel is the fuel that the call used until then. Detail, Output and Trace are those of the fault.
	Fuel                  int64
	Detail, Output, Trace string
}

// overrunOf returns what identifies a call; nil for one of a binding cycle, which is beside the loop.
func overrunOf(r *request) *Overrun {
	switch r.point {
	case abi.PreBind, abi.Bind, abi.PostBind:
		return nil
	default:
	}
	o := &Overrun{Point: r.point}
	if len(r.rows) > 0 {
		o.Row = r.rows[0] + 1
	}
	if len(r.pods) > 0 {
		o.Pod = r.pods[0].UID
	}
	return o
}

// repeated returns the fault of a call that ran out of time in the recording that is replayed; nil if it did not.
func (c *core) repeated(r *request) *fault.Fault {
	if c.deps.Overrun == nil {
		return nil
	}
	o := overrunOf(r)
	if o == nil || !c.deps.Overrun(o) {
		return nil
	}
	r.fuel = o.Fuel
	f := c.faults.traced(o.Point, fault.Deadline, o.Detail, o.Trace, nil)
	f.Output = o.Output
	return f
}

// trapped returns the fault of a call that ended with an error, and tells who records it if a deadline was the reason.
func (c *core) trapped(r *request, err error, env *sandbox.Env) *fault.Fault {
	kind, detail, trace := sandbox.TrapOf(err)
	f := c.faults.traced(r.point, kind, detail, trace, env)
	if kind != fault.Deadline || c.deps.Overran == nil {
		return f
	}
	if o := overrunOf(r); o != nil {
		o.Fuel, o.Detail, o.Output, o.Trace = r.fuel, f.Detail, f.Output, f.Trace
		c.deps.Overran(o)
	}
	return f
}
