package breaker

import (
	"math"
	"slices"
	"sync"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// Outcome is how a scheduling cycle, or one call outside of cycles, ended: which points
// were called, with which faults, the fuel that each used, and that for starts of instances.
type Outcome struct {
	cycle  bool
	called [abi.NumPoints]bool
	faults [abi.NumPoints]*fault.Fault
	used   [abi.NumPoints]int64
	starts int64
}

// OutcomeOf returns the outcome of one call outside of cycles, with the fuel that it used; f is nil if it
// succeeded. starts is the fuel for instances that were made for it, or have to be made again because of it.
func OutcomeOf(point abi.Point, f *fault.Fault, used, starts int64) *Outcome {
	o := &Outcome{starts: starts}
	o.called[point], o.faults[point], o.used[point] = true, f, used
	return o
}

// Called reports whether there was a call that counts.
func (o *Outcome) Called() bool { return slices.Contains(o.called[:], true) }

// Cycle collects how the calls of a scheduling cycle end. It may be used by several
// workers at once.
type Cycle struct {
	mu      sync.Mutex
	outcome Outcome
	rows    [abi.NumPoints]uint32 // first row of the call that each fault is of
}

// Add takes in how a call about rows ended, and the fuel that it used. Calls that the breaker did not make, and
// interrupted calls, do not count. Of several faults it keeps the one of the lowest row,
// so that the order of the workers does not matter.
func (c *Cycle) Add(point abi.Point, rows []uint32, f *fault.Fault, used int64) {
	if f != nil && !f.Kind.OfGuest() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.outcome
	o.called[point] = true
	o.used[point] += used
	if f == nil {
		return
	}
	row := uint32(math.MaxUint32)
	if len(rows) > 0 {
		row = rows[0]
	}
	if o.faults[point] == nil || row < c.rows[point] {
		o.faults[point], c.rows[point] = f, row
	}
}

// Restart counts fuel for instances that have to be made again because of the cycle. Any number of workers cuts calls into the
// same blocks, and each block loses one instance at most.
func (c *Cycle) Restart(fuel int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcome.starts += fuel
}

// Starts returns the fuel for starts of instances.
func (c *Cycle) Starts() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.outcome.starts
}

// Take returns the outcome of the cycle, and begins the next one.
func (c *Cycle) Take() *Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.outcome
	o.cycle, c.outcome = true, Outcome{}
	return &o
}
