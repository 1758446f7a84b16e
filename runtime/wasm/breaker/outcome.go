package breaker

import (
	"math"
	"slices"
	"sync"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// Outcome is how a scheduling cycle, or one call outside of cycles, ended: which points
// were called, with which faults, and the fuel for instances that have to be made again.
type Outcome struct {
	called [abi.NumPoints]bool
	faults [abi.NumPoints]*fault.Fault
	starts int64
}

// OutcomeOf returns the outcome of one call; f is nil if it succeeded. starts is the fuel to
// make its instance again, if the call lost it.
func OutcomeOf(point abi.Point, f *fault.Fault, starts int64) *Outcome {
	o := &Outcome{starts: starts}
	o.called[point], o.faults[point] = true, f
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

// Add takes in how a call about rows ended. Calls that the breaker did not make, and
// interrupted calls, do not count. Of several faults it keeps the one of the lowest row,
// so that the order of the workers does not matter.
func (c *Cycle) Add(point abi.Point, rows []uint32, f *fault.Fault) {
	if f != nil && !f.Kind.OfGuest() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.outcome
	o.called[point] = true
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

// Lost counts an instance that was closed because of a fault, with the fuel to make it again.
// Any number of workers cuts calls into the same blocks, and each block loses one instance at
// most.
func (c *Cycle) Lost(f *fault.Fault, fuel int64) {
	if f.Kind.OfGuest() {
		c.Restart(fuel)
	}
}

// Restart counts an instance that has to be made again with so much fuel.
func (c *Cycle) Restart(fuel int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcome.starts += fuel
}

// Starts returns the fuel for the instances that have to be made again.
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
	c.outcome = Outcome{}
	return &o
}
