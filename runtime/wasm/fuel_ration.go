package wasm

import (
	"fmt"
	"sync"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// ration is a plugin's use of its tenant's bucket. What the calls of a point use is
// taken out when the next point begins: until then several workers may be in the
// guest, and whether a call is allowed must not depend on which of them is first.
type ration struct {
	mu      sync.Mutex
	bucket  *FuelBucket
	point   abi.Point
	begun   bool // a point has
	allowed bool
	starts  bool // instances that are missing may be made
	pending int64
}

// begin begins a cycle.
func (r *ration) begin(key cycleKey, fuel int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bucket.take(r.pending) // of the last cycle, of which nothing may be left for this one
	r.pending, r.begun = 0, false
	r.bucket.begin(key, fuel)
}

// enter reports whether a point may be called, and whether an instance that was lost
// earlier in the cycle may be made again, which afford tells. alone tells that no other
// call of the point is made at the same time.
func (r *ration) enter(point abi.Point, alone bool, afford func() bool) (allowed, starts bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun || r.point != point || alone {
		left := r.bucket.take(r.pending)
		r.pending, r.point, r.begun, r.allowed, r.starts = 0, point, true, left > 0, afford()
	}
	return r.allowed, r.starts
}

// used notes what a call has used.
func (r *ration) used(fuel int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending += fuel
}

// spent is the fault of a plugin whose tenant has used its fuel.
func (p *Plugin) spent(point abi.Point) *fault.Fault {
	return p.fault(point, fault.OutOfFuel, fmt.Sprintf("the plugins of the tenant have used their %d units of this cycle", p.config.Limits.FuelPerCycle), nil)
}
