package wasm

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
	"github.com/berth-scheduler/berth/runtime/wasm/mirror"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// shard is one instance with the mirror of the snapshot in its memory: a cycle instance with
// its part of the nodes, or an aux instance. During a cycle mu guards all of it, since
// several workers may have blocks of one shard. To begin a cycle, the mutex of
// cycleInstances is enough.
type shard struct {
	mu      sync.Mutex
	core    *core
	cycles  *cycleInstances // nil for an aux instance
	src     *source
	rowless bool // it is for a pre_filter that looks at the pod alone (ABI-5.3)

	guest      sandbox.Guest    // nil after a fault, until the next use
	host       *hostCalls       // of the guest
	charge     func(fuel int64) // charges a start to the pod that caused it
	made       bool             // an instance was started
	sixteenths int              // of calls of this shard, by any instance, since the last check
	*mirror.Mirror

	numbers []uint16 // scratch: reason set of the guest → reason of the verdicts
}

// source is what shards are filled from, with the ledger of what their guests log.
type source struct {
	*mirror.Source
	ledger *ledger
}

// explain says which columns are large if there was no room.
func (s *source) explain(err error) error {
	if !errors.Is(err, mirror.ErrNoRoom) {
		return err
	}
	return fmt.Errorf("%w after %d tries; the largest columns are %s", err, maxGrowth, s.Largest())
}

// view fetches the memory's bytes again: they may have moved.
func (s *shard) view() error { return s.View(s.guest.Memory()) }

// sampled reports whether the columns are checked around the next call, which is about so
// many rows. A check writes all columns again, so where most calls are about few rows, such
// a call counts as a 16th.
func (s *shard) sampled(rows int) bool {
	every, call := s.core.config.VerifyEvery, 16
	if s.core.config.Kept && every > 1 {
		call = max(1, min(16*rows/plugin.BlockRows, 16))
	}
	if s.sixteenths += call; every == 0 || s.sixteenths < 16*every {
		return false
	}
	s.sixteenths = 0
	return true
}

// ready makes the shard's instance if there is none, and writes what changed.
func (s *shard) ready(ctx context.Context, snap *state.Snapshot) error {
	if s.guest == nil {
		if err := s.make(ctx, s.columns(snap)); err != nil {
			return err
		}
	} else if err := s.view(); err != nil {
		return s.core.faults.at(abi.PreFilter, fault.Trap, err.Error(), s.host.env)
	}
	return s.Sync(snap)
}

// revive makes a new instance within a cycle and fills it: the host may use any instance for
// any call (ABI-2.8). Its region is as large as it must be now, with the named overlay rows.
func (s *shard) revive(ctx context.Context, snap *state.Snapshot, overlays ...uint32) error {
	s.src.Lock()
	defer s.src.Unlock()
	var err error
	had := s.src.Room()
	for range maxGrowth {
		s.discard(ctx)
		s.measure(snap, had, overlays...)
		if err = s.ready(ctx, snap); !errors.Is(err, mirror.ErrNoRoom) {
			break
		}
	}
	if err != nil {
		s.discard(ctx)
		if s.src.ForgetOther() { // the next pod may be smaller
			s.src.Measure(snap)
		}
	}
	return err
}

// measure sets the room of the next region: more than others have had, if the plugin may have so much.
func (s *shard) measure(snap *state.Snapshot, had mirror.Room, overlays ...uint32) {
	s.src.Measure(snap, overlays...)
	exact := s.src.Room()
	s.src.Widen(had)
	if layout, err := wire.NewLayout(s.Spec()); err != nil || uint64(layout.Size) > s.largest() {
		s.src.SetRoom(exact)
	}
}

// renew makes the next Sync write the whole region again, in its present place.
func (s *shard) renew() error {
	if s.guest == nil {
		return nil
	}
	if err := s.Renew(s.guest.Memory()); err != nil {
		return s.core.faults.at(abi.PreFilter, fault.Trap, err.Error(), s.host.env)
	}
	return nil
}

// columns returns the size of the columns by which starts are charged, in bytes. It is the same
// for any number of instances.
func (s *shard) columns(snap *state.Snapshot) int64 {
	if s.cycles == nil {
		return auxColumns
	}
	return s.src.Size(snap)
}

// make makes the shard's instance with an empty region, for columns of so many bytes.
func (s *shard) make(ctx context.Context, columns int64) error {
	c, faults := s.core, &s.core.faults
	spec := s.Spec()
	layout, err := wire.NewLayout(spec)
	if err != nil {
		return faults.at(abi.PreFilter, fault.NoMemory, fmt.Sprintf("%v: declare fewer columns; the largest are %s", err, mirror.Largest(&spec)), nil)
	}
	if most := s.largest(); uint64(layout.Size) > most {
		return faults.at(abi.PreFilter, fault.NoMemory, fmt.Sprintf("a region of %d bytes, for which limits.memoryTotal and --plugin-memory leave %d; the largest columns are %s: "+
			"raise limits.memoryTotal, lower limits.memory, or declare fewer columns", layout.Size, most, mirror.Largest(&spec)), nil)
	}
	if k, instances := s.kind(); c.starts.owes(k, instances) {
		s.charge(c.restartFuel(int64(layout.Size)))
	}
	s.made = true
	linear := s.memory(layout.Size)
	host := c.newHost(sandbox.EnvConfig{StartFuel: c.startFuel, AllocFuel: c.allocFuel(columns), Memory: linear}, s.Node, s.src.ledger)
	guest, err := c.start(ctx, layout.Size, host.env)
	if err != nil && linear.Short() {
		return errShort
	}
	if err != nil {
		return faults.at(abi.PreFilter, fault.Start, err.Error(), nil)
	}
	base, err := guest.Alloc(ctx, layout.Size)
	if linear.Short() {
		return errors.Join(errShort, guest.Close(ctx))
	}
	if err != nil {
		kind, detail, trace := sandbox.TrapOf(err)
		f := faults.traced(abi.PreFilter, kind, abi.ExportAlloc+": "+detail, trace, host.env)
		return errors.Join(f, guest.Close(ctx))
	}
	if kind, detail := checkRegion(base, layout.Size, uint64(len(guest.Memory())), &spec); kind != "" {
		return errors.Join(faults.at(abi.PreFilter, kind, detail, host.env), guest.Close(ctx))
	}
	if err := s.Begin(layout, base, guest.Memory()); err != nil {
		return errors.Join(faults.at(abi.PreFilter, fault.Trap, err.Error(), host.env), guest.Close(ctx))
	}
	linear.Started()
	s.guest, s.host = guest, host
	return nil
}

// kind returns what the instance is for, and how many of these may be started for the first time.
func (s *shard) kind() (k kind, instances int) {
	k, instances = ofAux, s.core.budget.Binding()+1
	if s.cycles != nil {
		k, instances = ofCycles, len(s.cycles.shards)
	}
	if s.made {
		instances = 0
	}
	return k, instances
}

// memory returns the memory of an instance.
func (s *shard) memory(region uint32) *memory.Linear {
	if s.cycles == nil {
		return s.core.budget.Aux(region)
	}
	return s.core.budget.Cycle(&s.cycles.plan, region, !s.rowless)
}

// largest returns how large the region may be, in bytes.
func (s *shard) largest() uint64 {
	if s.cycles == nil {
		return memory.AuxRegion
	}
	return s.cycles.plan.RegionMax
}

// checkRegion says what is wrong with the answer of the allocator (ABI-2.4); no kind means
// nothing.
func checkRegion(base, size uint32, memory uint64, spec *wire.LayoutSpec) (kind fault.Kind, detail string) {
	switch {
	case base == 0:
		return fault.NoMemory, fmt.Sprintf("%s has no room for a region of %d bytes; the largest columns are %s", abi.ExportAlloc, size, mirror.Largest(spec))
	case base%abi.RegionAlign != 0:
		return fault.Output, fmt.Sprintf("%s returned %#x, which is not aligned to %d", abi.ExportAlloc, base, abi.RegionAlign)
	case uint64(base)+uint64(size) > memory:
		return fault.Output, fmt.Sprintf("%s returned %#x for %d bytes, beyond the memory of %d bytes", abi.ExportAlloc, base, size, memory)
	}
	return "", ""
}

// discard closes the instance; the next use makes a new one.
func (s *shard) discard(ctx context.Context) {
	if s.guest == nil {
		return
	}
	if err := s.guest.Close(ctx); err != nil {
		s.core.deps.Log.Warn("instance does not close", "plugin", s.core.config.Name, "error", err)
	}
	s.guest = nil
	s.Drop()
}

// large reports whether the instance has more memory than it may keep.
func (s *shard) large() bool { return s.guest != nil && s.host.env.Memory().Large() }
