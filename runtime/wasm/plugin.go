package wasm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
)

// Plugin is a module in a profile. Like a native plugin it implements the extension points;
// those that the manifest declares call the guest.
//
// cycles has the instances for points inside of scheduling cycles, aux those for all
// others. Both know the core, not the Plugin. Locks are taken in this order: the mutex of
// cycles, a shard's, the source's.
type Plugin struct {
	core
	cycles cycleInstances
	aux    auxPool

	// ignored is the cycle whose scores are void: a call was faulted, and the policy is to
	// go on without them.
	ignored atomic.Pointer[cycleKey]
	// unanswered counts the calls of a point that ended without an answer of the guest.
	unanswered [abi.NumPoints]atomic.Int64
}

var _ plugin.Fallible = (*Plugin)(nil)

// New returns the plugin after one guest has accepted the configuration.
//
// # Errors
//
// The configuration does not fit the manifest, the guest does not start or refuses its
// configuration, or there is not enough memory.
func New(ctx context.Context, c Config, d Deps) (*Plugin, error) {
	if d.Factory == nil || d.Manifest == nil {
		return nil, errors.New("wasm: Factory and Manifest are required")
	}
	setDefaults(&c, &d)
	var err error
	if d.Manifest, err = d.Manifest.Resolve(c.Config); err != nil { // all that follows is of this configuration's names
		return nil, fmt.Errorf("plugin %s: config: %w", c.Name, err)
	}
	if err := check(&c, &d); err != nil {
		return nil, fmt.Errorf("plugin %s: %w", c.Name, err)
	}
	t, err := newTraits(&c, &d)
	if err != nil {
		return nil, err
	}
	p := &Plugin{core: core{traits: t, deps: d, ration: ration{bucket: d.Bucket}}}
	origin := fault.Origin{Plugin: c.Name, Digest: t.info.Digest}
	p.faults = faults{origin: origin, config: &p.config, log: d.Log}
	p.journal.name, p.journal.most, p.journal.log = c.Name, c.Limits.LogSize, d.Log
	p.cycles.core, p.cycles.source = &p.core, p.newSource()
	if p.declared[abi.AddPod] {
		p.cycles.source.RoomForOther(4096)
	}
	fuel, took, err := p.startFirst(ctx)
	if err != nil {
		return nil, err
	}
	p.startFuel = min(c.Limits.FuelStart, fuel+startSpare)
	p.breaker = breaker.New(c.Breaker, breaker.Deps{
		Origin: origin, Now: d.Clock.Now, CycleFuel: c.Limits.FuelPerCycle, RestartFuel: c.Limits.FuelRestarts,
		Recovered: d.Recovered, Log: d.Log.With("plugin", c.Name),
	})
	budget := memory.Config{
		Name: c.Name, Own: c.Limits.OwnMemory, Total: c.Limits.TotalMemory, Manifest: d.Manifest, Process: d.Process, Shrink: p.cycles.shrink,
	}
	if d.Replaces != nil {
		budget.Replaces = d.Replaces.budget
	}
	p.budget = memory.NewBudget(budget)
	if err := p.budget.Join(took); err != nil {
		return nil, fmt.Errorf("plugin %s: %w", c.Name, err)
	}
	p.aux.init(&p.core, p.budget.Binding())
	return p, nil
}

// Info implements plugin.Plugin.
func (p *Plugin) Info() *plugin.Info { return &p.info }

// Points returns the points of a profile at which the plugin can stand.
func (p *Plugin) Points() []abi.Point {
	return slices.DeleteFunc(p.manifest.Declared(), func(point abi.Point) bool {
		switch point { // they come with another point
		case abi.Hint, abi.AddPod, abi.RemovePod, abi.Normalize, abi.Unreserve:
			return true
		}
		return false
	})
}

// Retire closes the instances for scheduling cycles, because another version has replaced the plugin. Pods in flight may
// still need the other instances.
func (p *Plugin) Retire() { p.budget.Retire() }

// Close frees the plugin's instances when the calls that run have ended. Later calls are
// faults.
func (p *Plugin) Close(ctx context.Context) error {
	defer p.budget.Leave() // when no lock is held
	return errors.Join(p.cycles.close(ctx), p.aux.close(ctx))
}
