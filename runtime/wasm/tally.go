package wasm

import (
	"sync"
	"time"

	"github.com/berth-scheduler/berth/abi"
)

// tally is how the calls of a cycle ended, point by point.
type tally struct {
	mu     sync.Mutex
	called [abi.NumPoints]bool
	faults [abi.NumPoints]*Fault
}

// add notes a call. Calls that the breaker did not make, and those that were
// interrupted, do not count.
func (t *tally) add(point abi.Point, f *Fault) {
	if f != nil && (!f.Kind.ofGuest()) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.called[point] = true
	if f != nil {
		t.faults[point] = f
	}
}

// Settle takes in how the cycle's calls ended. The scheduler calls it at the end
// of each cycle, so that a plugin which works again is noticed at once.
func (p *Plugin) Settle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle()
}

func (p *Plugin) settle() {
	t := &p.tally
	t.mu.Lock()
	called, faults := t.called, t.faults
	t.called, t.faults = [abi.NumPoints]bool{}, [abi.NumPoints]*Fault{}
	t.mu.Unlock()
	for point := range called {
		if called[point] {
			p.breaker.done(abi.Point(point), faults[point])
		}
	}
}

// RetryAt returns when a plugin whose breaker is open is tried again; false if it
// is not.
func (p *Plugin) RetryAt() (time.Time, bool) { return p.breaker.retryAt() }
