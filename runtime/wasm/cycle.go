package wasm

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
	"github.com/berth-scheduler/berth/runtime/wasm/mirror"
)

// errShort says that an instance needs more memory to start than it was granted, so that
// there have to be fewer.
var errShort = errors.New("the guest needs more memory to start than the first time")

// errClosed is the fault of a call after Close.
var errClosed = errors.New("the plugin is closed")

// maxGrowth is how often a region is made anew for one cycle before the plugin
// gives up. What a try found out is counted in the next one, so two are usual:
// the strings of a large cluster are known only when its rows are written.
const maxGrowth = 16

// enter brings the plugin's instances up to the cycle that a call belongs to, if
// no earlier call did: dictionary, pod record, rows. Whoever comes first does it
// for all workers. Without a fault, the caller holds p.mu for reading until
// leave.
func (p *Plugin) enter(c *plugin.Cycle, point abi.Point) *fault.Fault {
	key := keyOf(c)
	for {
		p.mu.RLock()
		if p.cycle == key {
			if p.cycleErr == nil {
				return nil
			}
			err := p.cycleErr
			p.mu.RUnlock()
			return p.asFault(point, err)
		}
		p.mu.RUnlock()
		p.beginCycle(c, key, point)
	}
}

func (p *Plugin) leave() { p.mu.RUnlock() }

// beginCycle prepares a cycle for the call of a point, which is the first. A fault of it
// is counted here, once, however many calls fail by it.
func (p *Plugin) beginCycle(c *plugin.Cycle, key cycleKey, point abi.Point) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cycle == key {
		return
	}
	p.settle()
	p.cycle, p.cycleErr, p.source.ledger = key, nil, p.ledgerOf(c.State)
	if c.State != nil {
		c.State.Write(p.config.Name, ledgerKey, p.source.ledger)
	}
	var f *fault.Fault
	switch {
	case p.closed:
		f = p.asFault(point, errClosed)
	case !p.breaker.Allow():
		f = p.breaker.OpenFault(point)
	case p.breaker.Overspent():
		f = p.breaker.StartFault(point)
	default:
		p.ration.begin(key, p.config.Limits.FuelPerCycle)
		if f = p.asFault(point, p.guarded(c)); f != nil {
			p.drop(c.Context) // nothing that is half written stays
			p.ending.Lost(f)
		}
	}
	if p.count(point, f); f != nil {
		p.cycleErr = f
	}
}

// guarded is prepare without panics.
func (p *Plugin) guarded(c *plugin.Cycle) (err error) {
	var f *fault.Fault
	defer func() {
		if f != nil {
			err = f
		}
	}()
	defer p.guard(abi.PreFilter, &f)
	return p.prepare(c)
}

// prepare has the plugin to itself.
func (p *Plugin) prepare(c *plugin.Cycle) error {
	if p.source.Stale() {
		p.source.BeginEpoch()
		p.drop(c.Context)
	} else if !p.budget.Holds(&p.plan) {
		p.drop(c.Context) // there have to be fewer, or may be more
	}
	p.pods[0] = c.Pod
	p.source.Follow(c.Snapshot.Strings)
	p.source.SetPod(c.Pod, c.Snapshot.Namespace(c.Pod.Namespace))
	err := p.fill(c)
	for range maxGrowth {
		if !errors.Is(err, mirror.ErrNoRoom) && !errors.Is(err, errShort) {
			break
		}
		p.drop(c.Context)
		err = p.fill(c)
	}
	if err == nil {
		p.source.Settle()
	}
	return err
}

// drop closes all instances.
func (p *Plugin) drop(ctx context.Context) {
	for _, s := range p.shards {
		s.discard(ctx)
	}
	p.shards = nil
}

// divide decides how many instances hold the nodes, and sets the capacities of their
// regions.
//
// # Errors
//
// There is no memory for a single instance.
func (p *Plugin) divide(snap *state.Snapshot) error {
	var spec wire.LayoutSpec
	var err error
	p.plan, err = p.budget.Plan(p.split(snap.Len()), func(n int) (memory.Needs, error) {
		p.source.Shards = n
		p.source.Measure(snap)
		spec = p.source.Mirror(0).Spec()
		layout, err := wire.NewLayout(spec)
		if err != nil {
			return memory.Needs{}, fmt.Errorf("%w: declare fewer columns", err)
		}
		return memory.Needs{Region: layout.Size, Host: p.source.HostBytes()}, nil
	})
	if err != nil {
		return p.fault(abi.PreFilter, fault.NoMemory, fmt.Sprintf("%v; the largest columns of a region of %d nodes are %s", err, snap.Len(), mirror.Largest(&spec)), nil)
	}
	return nil
}

// shrink closes the cycle instances if they may grow to more than the plugin's share. The
// next cycle makes fewer.
func (p *Plugin) shrink() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.budget.Exceeds() {
		p.drop(context.Background())
		p.cycle = cycleKey{} // so that the next call makes instances
	}
}

// fill makes the instances that are missing, and writes what changed.
func (p *Plugin) fill(c *plugin.Cycle) error {
	if p.shards == nil {
		if err := p.divide(c.Snapshot); err != nil {
			return err
		}
		for i := range p.source.Shards {
			p.shards = append(p.shards, &shard{plug: p, src: &p.source, Mirror: p.source.Mirror(i)})
		}
		if p.sharded && p.declared[abi.PreFilter] {
			p.shards = append(p.shards, &shard{plug: p, src: &p.source, Mirror: p.source.Rowless(), rowless: true})
		}
	}
	if !p.source.PodFits() {
		return mirror.ErrNoRoom
	}
	for _, s := range p.shards {
		if err := s.ready(c.Context, c.Snapshot); err != nil {
			return err
		}
	}
	return nil
}
