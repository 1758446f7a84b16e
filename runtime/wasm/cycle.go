package wasm

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
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
func (p *Plugin) enter(c *plugin.Cycle, point abi.Point) *Fault {
	key := cycleKey{pod: c.Pod, snapshot: c.Snapshot, generation: c.Snapshot.Generation, seed: c.Seed}
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
	p.cycle, p.cycleErr, p.ledger = key, nil, p.ledgerOf(c.State)
	if c.State != nil {
		c.State.Write(p.config.Name, ledgerKey, p.ledger)
	}
	p.ignored.Store(false)
	var f *Fault
	switch {
	case p.closed:
		f = p.asFault(point, errClosed)
	case !p.breaker.allow():
		f = p.breaker.fault(p, point)
	case p.breaker.overspent():
		f = p.breaker.starting(p, point)
	default:
		p.ration.begin(key, p.config.Limits.FuelPerCycle)
		if f = p.asFault(point, p.guarded(c)); f != nil {
			p.drop(c.Context) // nothing that is half written stays
			p.tally.lost(f)
		}
	}
	if p.count(point, f); f != nil {
		p.cycleErr = f
	}
}

// guarded is prepare without panics.
func (p *Plugin) guarded(c *plugin.Cycle) (err error) {
	var f *Fault
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
	if p.dict.stale() {
		p.dict.begin()
		p.drop(c.Context)
	} else if p.memory.grew.Load() != p.full || p.share.Load() != p.planned {
		p.drop(c.Context) // there have to be fewer, or may be more
	}
	p.pods[0] = c.Pod
	p.dict.follow(c.Snapshot.Strings)
	p.record = p.encoder.encode(c.Pod, namespaceOf(c.Snapshot, c.Pod.Namespace))
	p.recordNumber++
	err := p.fill(c)
	for range maxGrowth {
		if !errors.Is(err, errNoRoom) && !errors.Is(err, errShort) {
			break
		}
		p.drop(c.Context)
		err = p.fill(c)
	}
	if err == nil {
		p.dict.settle()
	}
	return err
}

// namespaceOf returns a namespace of a snapshot; nil if its object is not known.
func namespaceOf(snap *state.Snapshot, name string) *state.Namespace {
	if row, ok := snap.NamespaceRow(name); ok {
		return snap.Namespaces.Namespace[row]
	}
	return nil
}

// drop closes all instances.
func (p *Plugin) drop(ctx context.Context) {
	for _, s := range p.shards {
		s.discard(ctx)
	}
	p.shards = nil
}

// fill makes the instances that are missing, and writes what changed.
func (p *Plugin) fill(c *plugin.Cycle) error {
	if p.shards == nil {
		if err := p.plan(c.Snapshot); err != nil {
			return err
		}
		for i := range p.shardCount {
			p.shards = append(p.shards, &shard{plug: p, src: &p.source, index: i})
		}
		if p.sharded && p.declared[abi.PreFilter] {
			p.shards = append(p.shards, &shard{plug: p, src: &p.source, index: p.shardCount, rowless: true})
		}
	}
	if uint32(len(p.record)) > p.room.podRoom {
		return errNoRoom
	}
	for _, s := range p.shards {
		if err := s.ready(c.Context, c.Snapshot); err != nil {
			return err
		}
	}
	return nil
}

// ready makes the shard's instance if there is none, and writes what changed.
func (s *shard) ready(ctx context.Context, snap *state.Snapshot) error {
	if s.guest == nil {
		if err := s.make(ctx); err != nil {
			return err
		}
	} else if err := s.view(); err != nil {
		return s.plug.fault(abi.PreFilter, Trap, err.Error(), s.env)
	}
	return s.sync(snap)
}

// revive makes a fresh instance within a cycle and fills it: the host may use one
// for any call (ABI-2.8). Its region is as large as it must be now, with the
// overlay rows that are named.
func (s *shard) revive(ctx context.Context, snap *state.Snapshot, overlays ...uint32) error {
	s.src.mu.Lock()
	defer s.src.mu.Unlock()
	var err error
	for range maxGrowth {
		s.discard(ctx)
		s.src.measure(s.plug.projection, snap, overlays...)
		if err = s.ready(ctx, snap); !errors.Is(err, errNoRoom) {
			break
		}
	}
	if err != nil {
		s.discard(ctx)
	}
	return err
}

// make makes the shard's instance with an empty region.
func (s *shard) make(ctx context.Context) error {
	p := s.plug
	room, first := s.src.room, uint32(s.index)*blockRows
	if s.rowless {
		room, first = capacities{rows: 1, namespaces: 1, strings: room.strings, stringBytes: room.stringBytes, podRoom: room.podRoom}, 0
	}
	spec := p.projection.spec(&room, first)
	layout, err := wire.NewLayout(spec)
	if err != nil {
		return p.fault(abi.PreFilter, NoMemory, fmt.Sprintf("%v: declare fewer columns; the largest are %s", err, largest(&spec)), nil)
	}
	env := &Env{
		allowance: allowance{limits: p.config.Limits}, starting: p.startFuel(), published: p.published, hidden: p.hidden,
		node: s.nodeAt, encodings: p.deps.Encodings, ledger: s.src.ledger,
	}
	most := p.regionMost
	if s.aux {
		most = auxRegion
	}
	if uint64(layout.Size) > most {
		return p.fault(abi.PreFilter, NoMemory, fmt.Sprintf("a region of %d bytes, for which limits.memoryTotal and --plugin-memory leave %d; the largest columns are %s: "+
			"raise limits.memoryTotal, lower limits.memory, or declare fewer columns", layout.Size, most, largest(&spec)), nil)
	}
	env.memory = p.linear(layout.Size, !s.aux && !s.rowless)
	guest, err := p.start(ctx, layout.Size, env)
	if err != nil && env.memory.short && env.memory.cycle && !p.full {
		return errShort
	}
	if err != nil {
		return p.fault(abi.PreFilter, Start, err.Error(), nil)
	}
	base, err := guest.Alloc(ctx, layout.Size)
	if env.memory.short && env.memory.cycle && !p.full {
		return errors.Join(errShort, guest.Close(ctx))
	}
	if err != nil {
		detail, trace := trapText(err)
		f := p.traced(abi.PreFilter, trapKind(err), abi.ExportAlloc+": "+detail, trace, env)
		return errors.Join(f, guest.Close(ctx))
	}
	if f := p.badRegion(base, layout.Size, uint64(len(guest.Memory())), &spec, env); f != nil {
		return errors.Join(f, guest.Close(ctx))
	}
	fresh := shard{guest: guest, env: env, base: base}
	fresh.region = region{layout: layout, cols: findColumns(layout, p.projection.namespacesTable()), bytes: s.bytes}
	if err := fresh.view(); err != nil {
		return errors.Join(p.fault(abi.PreFilter, Trap, err.Error(), env), guest.Close(ctx))
	}
	env.memory.starting = false
	clear(fresh.mem)
	layout.WriteDirectories(fresh.mem, base)
	s.take(&fresh)
	return nil
}

// badRegion says what is wrong with the answer of the allocator (ABI-2.4).
func (p *Plugin) badRegion(base, size uint32, memory uint64, spec *wire.LayoutSpec, env *Env) *Fault {
	switch {
	case base == 0:
		return p.fault(abi.PreFilter, NoMemory, fmt.Sprintf("%s has no room for a region of %d bytes; the largest columns are %s",
			abi.ExportAlloc, size, largest(spec)), env)
	case base%abi.RegionAlign != 0:
		return p.fault(abi.PreFilter, Output, fmt.Sprintf("%s returned %#x, which is not aligned to %d", abi.ExportAlloc, base, abi.RegionAlign), env)
	case uint64(base)+uint64(size) > memory:
		return p.fault(abi.PreFilter, Output, fmt.Sprintf("%s returned %#x for %d bytes, beyond the memory of %d bytes",
			abi.ExportAlloc, base, size, memory), env)
	}
	return nil
}

// take replaces all that belongs to an instance.
func (s *shard) take(o *shard) {
	s.guest, s.env, s.base, s.region = o.guest, o.env, o.base, o.region
	s.arenas = arenas{}
	s.snapshot, s.objectGeneration, s.podsGeneration, s.slotGeneration, s.nodes, s.spares = nil, nil, nil, nil, nil, nil
	s.namespaceGeneration, s.overlaid = nil, 0
	s.rows, s.slots, s.strings, s.stringBytes, s.generation, s.pod, s.podSize = 0, 0, 0, 0, 0, 0, 0
}

// discard closes the instance; the next use makes a new one.
func (s *shard) discard(ctx context.Context) {
	if s.guest == nil {
		return
	}
	if err := s.guest.Close(ctx); err != nil {
		s.plug.deps.Log.Warn("instance does not close", "plugin", s.plug.config.Name, "error", err)
	}
	s.guest, s.memory, s.mem = nil, nil, nil
}

// large reports whether the instance has more memory than it may keep.
func (s *shard) large() bool { return s.guest != nil && s.env.memory != nil && s.env.memory.held }

// fault returns a fault. Who ends a call with it counts it, at the point that was called.
func (p *Plugin) fault(point abi.Point, kind Kind, detail string, env *Env) *Fault {
	return p.traced(point, kind, detail, "", env)
}

// traced is fault with the functions in which the guest trapped.
func (p *Plugin) traced(point abi.Point, kind Kind, detail, trace string, env *Env) *Fault {
	f := Fault{Plugin: p.config.Name, Digest: p.info.Digest, Point: point, Kind: kind, Detail: detail, Trace: trace}
	if env != nil {
		f.Output = env.log.String()
	}
	return newFault(f)
}

// count counts the fault that a call of a point ended with; nil for none.
func (p *Plugin) count(point abi.Point, f *Fault) {
	if f != nil {
		p.work[point].fault(f.Kind)
	}
}

// asFault makes a fault of an error, which is one already if a guest is to blame.
func (p *Plugin) asFault(point abi.Point, err error) *Fault {
	var f *Fault
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		atPoint := *f
		atPoint.Point = point
		return &atPoint
	case errors.Is(err, errNoRoom):
		p.source.mu.Lock()
		defer p.source.mu.Unlock()
		spec := p.projection.spec(&p.room, 0)
		return p.fault(point, NoMemory, fmt.Sprintf("%v after %d tries; the largest columns are %s", err, maxGrowth, largest(&spec)), nil)
	}
	return p.fault(point, Start, err.Error(), nil)
}
