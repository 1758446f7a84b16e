package wasm

import (
	"math"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// outcomes is how the calls of a cycle ended, point by point.
type outcomes struct {
	mu     sync.Mutex
	called [abi.NumPoints]bool
	faults [abi.NumPoints]*fault.Fault
	rows   [abi.NumPoints]uint32 // of the faults
	starts int64
}

// add notes a call about rows from a first one on. Calls that the breaker did not make,
// and those that were interrupted, do not count. Of several faults the one of the lowest
// row is kept, whichever worker is first.
func (t *outcomes) add(point abi.Point, rows []uint32, f *fault.Fault) {
	if f != nil && !f.Kind.OfGuest() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.called[point] = true
	if f == nil {
		return
	}
	row := uint32(math.MaxUint32)
	if len(rows) > 0 {
		row = rows[0]
	}
	if t.faults[point] == nil || row < t.rows[point] {
		t.faults[point], t.rows[point] = f, row
	}
}

// lost notes that an instance was thrown away because of a fault. Calls are cut into the
// same blocks on any number of workers, and each loses one at most.
func (t *outcomes) lost(f *fault.Fault) {
	if f.Kind.OfGuest() {
		t.again()
	}
}

// again notes that an instance has to be made again.
func (t *outcomes) again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.starts++
}

// due returns how many instances were thrown away.
func (t *outcomes) due() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.starts
}

// take returns how the cycle ended, and begins with the next.
func (t *outcomes) take() *outcome {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := &outcome{called: t.called, faults: t.faults, starts: t.starts}
	t.called, t.faults, t.starts = [abi.NumPoints]bool{}, [abi.NumPoints]*fault.Fault{}, 0
	return o
}

// Settle takes in how the cycle's calls ended. The scheduler calls it at the end
// of each cycle, so that a plugin which works again is noticed at once.
func (p *Plugin) Settle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle()
	p.breaker.allow() // binding cycles only look: their probes begin here
}

func (p *Plugin) settle() { p.breaker.done(p.outcomes.take()) }

// RetryAt returns when a plugin whose breaker is open is tried again; false if it
// is not.
func (p *Plugin) RetryAt() (time.Time, bool) { return p.breaker.retryAt() }

// outcome is how a cycle, or a call outside of cycles, ended: which points were called,
// with what fault, and how many calls lost their instance.
type outcome struct {
	called [abi.NumPoints]bool
	faults [abi.NumPoints]*fault.Fault
	starts int64
}
