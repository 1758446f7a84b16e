package wasm

import (
	"sync"

	"github.com/berth-scheduler/berth/abi"
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
}

// begin begins a cycle.
func (r *ration) begin(key cycleKey, fuel int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bucket.take(r.pending) // of the last cycle; the bucket may be that cycle's still
	r.pending, r.begun = 0, false
	r.bucket.begin(key, fuel)
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

// used adds what a call has used.
func (r *ration) used(fuel int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending += fuel
}
