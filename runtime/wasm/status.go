package wasm

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// Status is a plugin at one moment. Counts begin when it was made.
type Status struct {
	// Name is the plugin's in its profile. Module, Version and ABI are those of the
	// manifest, and Digest names the module's bytes.
	Name, Module, Version, ABI, Digest string
	// Namespaces are those whose pods it is for; none means all.
	Namespaces []string
	// Breaker says whether the plugin is called.
	Breaker breaker.Status
	// Work is by point, for those that the plugin declares.
	Work []Work
	// Memory is what the plugin uses of MemoryTotal bytes. Guests of it is the memory of
	// Instances, and MemoryMax what they may grow to.
	Memory, Guests, MemoryMax, MemoryTotal int64
	Instances                              int
	// Started counts the starts of instances.
	Started StartCounts
	// Written is bytes written into the memory of guests.
	Written uint64
	// Log is the last lines that the plugin logged, the oldest first.
	Log []string
}

// Work is what a plugin did at one point.
type Work struct {
	Point abi.Point
	// Calls of the guest were about so many Rows or pods, and used so much Fuel.
	Calls, Rows, Fuel int64
	// Faults are by kind, with fault.BreakerOpen for calls that were not made.
	Faults []FaultCount
}

// FaultCount is how many faults of a kind there were.
type FaultCount struct {
	Kind  fault.Kind
	Count int64
}

// counts is the work of a plugin by point.
type counts struct {
	calls, fuel atomic.Int64
	points      [abi.NumPoints]counter
}

// used counts what a call used.
func (c *counts) used(point abi.Point, rows int, fuel int64) {
	c.fuel.Add(fuel)
	c.points[point].call(rows, fuel)
}

// fault counts the fault that a call ended with; nil for none.
func (c *counts) fault(point abi.Point, f *fault.Fault) {
	if f != nil {
		c.points[point].fault(f.Kind)
	}
}

// counter counts the work of a point.
type counter struct {
	calls, rows, fuel atomic.Int64
	// failed counts faults of the guest itself.
	failed atomic.Int64

	mu     sync.Mutex
	faults map[fault.Kind]int64
}

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

// Answered returns the number of calls that ended without a fault.
func (w *Work) Answered() int64 {
	n := w.Calls
	for _, f := range w.Faults {
		n -= f.Count
	}
	return max(0, n)
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

// Status returns the plugin's status now. It may be called from any goroutine, and waits for
// no guest.
func (p *Plugin) Status() Status {
	m := p.manifest
	s := Status{
		Name: p.config.Name, Module: m.Name, Version: m.Version, ABI: m.ABI, Digest: p.info.Digest,
		Namespaces: slices.Clone(p.info.Namespaces), Written: p.written.Load(), Breaker: p.breaker.Status(), Started: p.starts.count(),
		Log: p.journal.last(),
	}
	u := p.budget.Usage()
	s.Guests, s.Instances, s.Memory, s.MemoryMax, s.MemoryTotal = u.Guests, u.Instances, u.Guests+u.Host, u.Max, u.Share
	for point := range p.declared {
		if p.declared[point] {
			s.Work = append(s.Work, p.counts.points[point].work(abi.Point(point)))
		}
	}
	return s
}

// Settle takes in how the calls of the cycle ended. The scheduler calls it at the end of each
// cycle, so that a plugin that works again is noticed at once.
func (p *Plugin) Settle(namespace string) { p.cycles.settle(namespace) }

// RetryAt returns when a plugin whose breaker is not closed for a namespace is tried again for its pods; false if it is.
func (p *Plugin) RetryAt(namespace string) (time.Time, bool) { return p.breaker.RetryAt(namespace) }

// Retries implements plugin.Breaker.
func (p *Plugin) Retries() (out []plugin.Retry) {
	for _, r := range p.breaker.Retries() {
		out = append(out, plugin.Retry(r))
	}
	return out
}

// Carried implements plugin.Breaker.
func (p *Plugin) Carried(released map[string]time.Time) json.RawMessage {
	return p.breaker.Carried(released)
}

// Resume implements plugin.Breaker.
func (p *Plugin) Resume(carried json.RawMessage) (released map[string]time.Time, err error) {
	return p.breaker.Resume(carried)
}

// Learn implements plugin.Breaker.
func (p *Plugin) Learn(namespace string, call plugin.Beside) { p.aux.Learn(namespace, call) }

// Unanswered implements plugin.Fallible. It counts faults, and calls that were not made
// because of the breaker or the end of the scheduler.
func (p *Plugin) Unanswered(point abi.Point) int64 { return p.unanswered[point].Load() }

// Faults returns how often a guest of this plugin failed.
func (p *Plugin) Faults() int64 {
	var sum int64
	for point := range abi.NumPoints {
		sum += p.FaultsAt(point)
	}
	return sum
}

// FaultsAt returns how often a guest of this plugin failed at a point. Calls that were not
// made, or that ended because the scheduler is stopping, do not count.
func (p *Plugin) FaultsAt(point abi.Point) int64 { return p.counts.points[point].failed.Load() }

// Calls returns how often a guest of this plugin was called.
func (p *Plugin) Calls() int64 { return p.counts.calls.Load() }

// Fuel returns how much fuel the guests of this plugin have used, in units of package meter.
func (p *Plugin) Fuel() int64 { return p.counts.fuel.Load() }

// BytesWritten returns how many bytes of snapshots and pods were written into guest memory.
func (p *Plugin) BytesWritten() uint64 { return p.written.Load() }
