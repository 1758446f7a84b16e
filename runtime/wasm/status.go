package wasm

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// Status is what there is to know of a plugin at a moment. Counts are since it was
// made.
type Status struct {
	// Name is the plugin's in its profile. Module, Version and ABI are those of the
	// manifest, Digest names the module's bytes.
	Name, Module, Version, ABI, Digest string
	// Namespaces are those whose pods it is for; none means all.
	Namespaces []string
	// Breaker says whether the plugin is called.
	Breaker breaker.Status
	// Work is by point, for those that the plugin declares.
	Work []Work
	// Memory is what the plugin has of MemoryTotal bytes: of it Guests in Instances of its
	// own, and MemoryMax what these may grow to.
	Memory, Guests, MemoryMax, MemoryTotal int64
	Instances                              int
	// Written is bytes written into the memory of guests.
	Written uint64
}

// Work is what came of a plugin at one point.
type Work struct {
	Point abi.Point
	// Calls of the guest were about so many Rows or pods, and used so much Fuel.
	Calls, Rows, Fuel int64
	// Faults are by kind, with fault.BreakerOpen for calls that were not made.
	Faults []FaultCount
}

// FaultCount is how many faults there were of a kind.
type FaultCount struct {
	Kind  fault.Kind
	Count int64
}

// counter counts the work of a point.
type counter struct {
	calls, rows, fuel atomic.Int64
	// failed counts faults of the guest itself.
	failed atomic.Int64

	mu     sync.Mutex
	faults map[fault.Kind]int64
}

// call counts a call.
func (c *counter) call(rows int, fuel int64) {
	c.calls.Add(1)
	c.rows.Add(int64(rows))
	c.fuel.Add(fuel)
}

func (c *counter) fault(k fault.Kind) {
	if k.OfGuest() {
		c.failed.Add(1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.faults == nil {
		c.faults = make(map[fault.Kind]int64)
	}
	c.faults[k]++
}

func (c *counter) work(point abi.Point) Work {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := Work{Point: point, Calls: c.calls.Load(), Rows: c.rows.Load(), Fuel: c.fuel.Load()}
	for _, k := range slices.Sorted(maps.Keys(c.faults)) {
		w.Faults = append(w.Faults, FaultCount{Kind: k, Count: c.faults[k]})
	}
	return w
}

// Settle takes in how the cycle's calls ended. The scheduler calls it at the end
// of each cycle, so that a plugin that works again is noticed at once.
func (p *Plugin) Settle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle()
	p.breaker.Allow() // binding cycles never begin a probe, so it begins here
}

func (p *Plugin) settle() { p.breaker.Done(p.ending.Take()) }

// RetryAt returns when a plugin whose breaker is open is tried again; false if the breaker
// is closed.
func (p *Plugin) RetryAt() (time.Time, bool) { return p.breaker.RetryAt() }

// Status returns what there is to know of the plugin now. It may be called from
// anywhere, and waits for no guest.
func (p *Plugin) Status() Status {
	m := p.deps.Manifest
	s := Status{
		Name: p.config.Name, Module: m.Name, Version: m.Version, ABI: m.ABI, Digest: p.info.Digest,
		Namespaces: slices.Clone(p.info.Namespaces), Written: p.written.Load(),
	}
	s.Breaker = p.breaker.Status()
	u := p.budget.Usage()
	s.Guests, s.Instances, s.Memory, s.MemoryMax, s.MemoryTotal = u.Guests, u.Instances, u.Guests+u.Host, u.Max, u.Share
	for point := range p.declared {
		if p.declared[point] {
			s.Work = append(s.Work, p.work[point].work(abi.Point(point)))
		}
	}
	return s
}
