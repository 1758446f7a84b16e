package wasm

import (
	"sync"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// ration is a plugin's use of its tenant's bucket. Fuel that the calls of a point use is
// taken out when the next point begins. Until then several workers may be in the guest, and
// whether a call is allowed must not depend on their order.
type ration struct {
	mu      sync.Mutex
	bucket  *FuelBucket
	point   abi.Point
	begun   bool // a point has
	allowed bool
	starts  bool // lost instances may be made again
	pending int64
	// refused is the fault of calls that are not made, by whether the bucket is empty. A cycle
	// logs it once: a preemption may ask about every node.
	refused [2]*fault.Fault
}

// begin begins a cycle.
func (r *ration) begin(key cycleKey, fuel int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bucket.take(r.pending) // of the last cycle; the bucket may be that cycle's still
	r.pending, r.begun, r.refused = 0, false, [2]*fault.Fault{}
	r.bucket.begin(key, fuel)
}

// settle ends a cycle: what its last point has used is not taken out of another cycle's bucket.
func (r *ration) settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bucket.take(r.pending)
	r.pending = 0
}

// enter reports whether a point may be called, and, as afford says, whether an instance that
// was lost earlier in the cycle may be made again. alone says that no other call of the point
// runs at the same time.
func (r *ration) enter(point abi.Point, alone bool, afford func() bool) (allowed, starts bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun || r.point != point || alone {
		left := r.bucket.take(r.pending)
		r.pending, r.point, r.begun, r.allowed, r.starts = 0, point, true, left > 0, afford()
	}
	return r.allowed, r.starts
}

// refuse returns the fault of a call that is not made, because the bucket is empty or lost
// instances may not be made again. why makes the cycle's first one.
func (r *ration) refuse(point abi.Point, empty bool, why func(abi.Point) *fault.Fault) *fault.Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &r.refused[0]
	if empty {
		f = &r.refused[1]
	}
	if *f == nil {
		*f = why(point)
	}
	return (*f).At(point)
}

// used adds what a call has used.
func (r *ration) used(fuel int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending += fuel
}
