package wasm

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
	"github.com/berth-scheduler/berth/runtime/wasm/mirror"
)

// shard is one instance with the mirror of the snapshot in its memory: a cycle instance with
// the part of the nodes that it holds, or an aux instance. The mutex guards all of it during
// a cycle, since blocks of one shard may come from several workers; who begins a cycle holds
// the plugin's mutex.
type shard struct {
	mu      sync.Mutex
	plug    *Plugin
	src     *source
	rowless bool // it is for a pre_filter that looks at the pod alone (ABI-5.3)
	aux     bool // it is for points outside of cycles

	guest Guest // nil after a fault, until the next use
	env   *Env
	calls int // into this shard, whatever the instance
	*mirror.Mirror

	numbers []uint16 // scratch: reason set of the guest → reason of the verdicts
}

// source is what shards are filled from, with the ledger of what their guests log.
type source struct {
	*mirror.Source
	ledger *ledger
}

// view fetches the memory's bytes anew: they may have moved.
func (s *shard) view() error { return s.View(s.guest.Memory()) }

// split says in how many instances n rows are held.
func (p *Plugin) split(n int) int {
	if !p.sharded {
		return 1
	}
	return mirror.Split(n, p.config.Shards)
}

// sampled reports whether the columns are to be checked around the call that is
// about to be made.
func (s *shard) sampled() bool {
	s.calls++
	every := s.plug.config.VerifyEvery
	return every > 0 && s.calls%every == 0
}

// nodeScoped reports whether an answer of a point may depend on a row alone.
func (p *Plugin) nodeScoped(point abi.Point) bool {
	switch point {
	case abi.PreFilter:
		return p.sharded
	case abi.Filter:
		return p.info.Scope(abi.Filter) == abi.ScopeNode
	case abi.Score:
		return p.info.Scope(abi.Score) == abi.ScopeNode
	}
	return false
}

// ready makes the shard's instance if there is none, and writes what changed.
func (s *shard) ready(ctx context.Context, snap *state.Snapshot) error {
	if s.guest == nil {
		if err := s.make(ctx); err != nil {
			return err
		}
	} else if err := s.view(); err != nil {
		return s.plug.fault(abi.PreFilter, fault.Trap, err.Error(), s.env)
	}
	return s.Sync(snap)
}

// revive makes a fresh instance within a cycle and fills it: the host may use one
// for any call (ABI-2.8). Its region is as large as it must be now, with the
// overlay rows that are named.
func (s *shard) revive(ctx context.Context, snap *state.Snapshot, overlays ...uint32) error {
	s.src.Lock()
	defer s.src.Unlock()
	var err error
	for range maxGrowth {
		s.discard(ctx)
		s.src.Measure(snap, overlays...)
		if err = s.ready(ctx, snap); !errors.Is(err, mirror.ErrNoRoom) {
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
	spec := s.Spec()
	layout, err := wire.NewLayout(spec)
	if err != nil {
		return p.fault(abi.PreFilter, fault.NoMemory, fmt.Sprintf("%v: declare fewer columns; the largest are %s", err, mirror.Largest(&spec)), nil)
	}
	env := &Env{
		allowance: allowance{limits: p.config.Limits}, starting: p.startFuel, published: p.published, hidden: p.hidden,
		node: s.Node, encodings: p.deps.Encodings, ledger: s.src.ledger,
	}
	most := p.plan.RegionMax
	if s.aux {
		most = memory.AuxRegion
	}
	if uint64(layout.Size) > most {
		return p.fault(abi.PreFilter, fault.NoMemory, fmt.Sprintf("a region of %d bytes, for which limits.memoryTotal and --plugin-memory leave %d; the largest columns are %s: "+
			"raise limits.memoryTotal, lower limits.memory, or declare fewer columns", layout.Size, most, mirror.Largest(&spec)), nil)
	}
	if s.aux {
		env.memory = p.budget.Aux(layout.Size)
	} else {
		env.memory = p.budget.Cycle(&p.plan, layout.Size, !s.rowless)
	}
	guest, err := p.start(ctx, layout.Size, env)
	if err != nil && env.memory.Short() {
		return errShort
	}
	if err != nil {
		return p.fault(abi.PreFilter, fault.Start, err.Error(), nil)
	}
	base, err := guest.Alloc(ctx, layout.Size)
	if env.memory.Short() {
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
	if err := s.Begin(layout, base, guest.Memory()); err != nil {
		return errors.Join(p.fault(abi.PreFilter, fault.Trap, err.Error(), env), guest.Close(ctx))
	}
	env.memory.Started()
	s.guest, s.env = guest, env
	return nil
}

// badRegion says what is wrong with the answer of the allocator (ABI-2.4).
func (p *Plugin) badRegion(base, size uint32, memory uint64, spec *wire.LayoutSpec, env *Env) *fault.Fault {
	switch {
	case base == 0:
		return p.fault(abi.PreFilter, fault.NoMemory, fmt.Sprintf("%s has no room for a region of %d bytes; the largest columns are %s",
			abi.ExportAlloc, size, mirror.Largest(spec)), env)
	case base%abi.RegionAlign != 0:
		return p.fault(abi.PreFilter, fault.Output, fmt.Sprintf("%s returned %#x, which is not aligned to %d", abi.ExportAlloc, base, abi.RegionAlign), env)
	case uint64(base)+uint64(size) > memory:
		return p.fault(abi.PreFilter, fault.Output, fmt.Sprintf("%s returned %#x for %d bytes, beyond the memory of %d bytes",
			abi.ExportAlloc, base, size, memory), env)
	}
	return nil
}

// discard closes the instance; the next use makes a new one.
func (s *shard) discard(ctx context.Context) {
	if s.guest == nil {
		return
	}
	if err := s.guest.Close(ctx); err != nil {
		s.plug.deps.Log.Warn("instance does not close", "plugin", s.plug.config.Name, "error", err)
	}
	s.guest = nil
	s.Drop()
}

// large reports whether the instance has more memory than it may keep.
func (s *shard) large() bool { return s.guest != nil && s.env.memory != nil && s.env.memory.Large() }
