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
)

// cycleKey identifies a cycle.
type cycleKey struct {
	pod        *state.Pod
	snapshot   *state.Snapshot
	generation uint64
	seed       uint64
}

func keyOf(c *plugin.Cycle) cycleKey {
	return cycleKey{pod: c.Pod, snapshot: c.Snapshot, generation: c.Snapshot.Generation, seed: c.Seed}
}

// cycleInstances are the instances for points inside of scheduling cycles. They keep their
// columns from cycle to cycle: the first call of a cycle, on any worker, prepares all of
// them.
type cycleInstances struct {
	*core

	// mu guards what follows. It is held for reading during a call, and for writing to
	// begin a cycle or to close, so that neither happens while a guest runs.
	mu     sync.RWMutex
	closed bool
	key    cycleKey // of the cycle that was prepared
	// namespace is that of the cycle's pod, and point that of its first call.
	namespace string
	point     abi.Point
	begun     uint64 // cycles so far
	err       error  // of preparing it
	plan      memory.Plan
	wanted    int // instances that the rows of the plan asked for
	shards    []*shard
	pods      [1]*state.Pod // the cycle's
	source    source        // of the shards
}

// errShort says that an instance needs more memory to start than it was granted, so that
// there must be fewer.
var errShort = errors.New("the guest needs more memory to start than the first time")

// errClosed is the fault of a call after Close.
var errClosed = errors.New("the plugin is closed")

// maxGrowth is how often a region is made again for one cycle before the plugin gives up.
// Each try measures what the one before lacked. Two are usual: the strings of a large
// cluster are known only when its rows are written.
const maxGrowth = 16

// enter prepares the instances for the cycle of a call, if no earlier call did. Without a
// fault, the caller holds the mutex for reading until leave.
func (i *cycleInstances) enter(c *plugin.Cycle, point abi.Point) *fault.Fault {
	key := keyOf(c)
	for {
		i.mu.RLock()
		if i.key == key {
			if i.err == nil {
				return nil
			}
			err := i.err
			i.mu.RUnlock()
			return i.faults.of(point, err)
		}
		i.mu.RUnlock()
		i.begin(c, key, point)
	}
}

func (i *cycleInstances) leave() { i.mu.RUnlock() }

// begin prepares a cycle for its first call, which is of a point. It counts a fault once,
// however many calls fail because of it.
func (i *cycleInstances) begin(c *plugin.Cycle, key cycleKey, point abi.Point) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.key == key {
		return
	}
	i.breaker.Done(i.namespace, i.ending.Take())
	i.namespace, i.point = c.Pod.Namespace, point
	i.key, i.err, i.source.ledger = key, nil, i.ledgerOf(c.State)
	i.begun++
	if c.State != nil {
		c.State.Write(i.config.Name, ledgerKey, i.source.ledger)
	}
	var f *fault.Fault
	switch {
	case i.closed:
		f = i.faults.of(point, errClosed)
	case !i.breaker.Allow(i.namespace):
		f = i.breaker.OpenFault(i.namespace, point)
	case i.breaker.Overspent(i.namespace):
		f = i.breaker.StartFault(i.namespace, point)
	default:
		i.ration.begin(key, i.config.Limits.CycleFuel(c.Snapshot.Len()))
		if f = i.faults.of(point, i.guarded(c)); f != nil {
			i.drop(c.Context) // nothing half-written stays
			i.lost(f, i.source.Size(c.Snapshot))
		}
	}
	if i.counts.fault(point, f); f != nil {
		i.err = f
	}
}

// guarded is prepare without panics.
func (i *cycleInstances) guarded(c *plugin.Cycle) (err error) {
	var f *fault.Fault
	defer func() {
		if f != nil {
			err = f
		}
	}()
	defer i.faults.guard(abi.PreFilter, &f)
	return i.prepare(c)
}

// prepare makes the instances and brings their memory up to date. The caller holds the
// mutex for writing.
func (i *cycleInstances) prepare(c *plugin.Cycle) error {
	if !i.budget.Holds(&i.plan) || i.wanted != i.instances(c.Snapshot.Len()) {
		i.drop(c.Context) // there must be fewer instances, or there may be more
	}
	if i.source.Stale() {
		i.source.BeginEpoch()
		for _, s := range i.shards {
			if err := s.renew(); err != nil {
				return err
			}
		}
	}
	i.pods[0] = c.Pod
	i.source.Follow(c.Snapshot)
	i.source.SetTime(abi.PreFilter, c.Now)
	i.source.SetPod(c.Pod, c.Snapshot.Namespace(c.Pod.Namespace))
	err := i.fill(c)
	for range maxGrowth {
		noRoom := errors.Is(err, mirror.ErrNoRoom)
		if !noRoom && !errors.Is(err, errShort) {
			break
		}
		if noRoom && i.shards != nil {
			err = i.enlarge(c)
		} else {
			i.drop(c.Context)
			err = nil
		}
		if err == nil {
			err = i.fill(c)
		}
	}
	if err == nil {
		i.source.Settle()
	}
	return i.source.explain(err)
}

// enlarge makes room in the present instances where they only have to be written again, and closes those whose regions
// are too small.
func (i *cycleInstances) enlarge(c *plugin.Cycle) error {
	had, shards, last := i.source.Room(), i.source.Shards, i.plan
	err := i.divide(c.Snapshot, func(n int) {
		if n == shards {
			i.source.Widen(had)
		}
	})
	if err != nil || i.plan.Instances != shards { // more room than is needed is not worth fewer instances
		i.plan = last
		i.drop(c.Context)
		return nil
	}
	for _, s := range i.shards {
		if s.guest != nil && s.Room() != i.source.Room() {
			s.discard(c.Context)
		} else if err := s.renew(); err != nil {
			return err
		}
	}
	return nil
}

// drop closes all instances.
func (i *cycleInstances) drop(ctx context.Context) {
	for _, s := range i.shards {
		s.discard(ctx)
	}
	i.shards = nil
}

// divide decides how many instances hold the nodes, and sets the capacities of their
// regions. measured is called when these are measured for so many instances.
//
// # Errors
//
// There is no memory for a single instance.
func (i *cycleInstances) divide(snap *state.Snapshot, measured func(n int)) error {
	var spec wire.LayoutSpec
	var err error
	needs := func(n int) (memory.Needs, error) {
		i.source.Shards = n
		i.source.Measure(snap)
		measured(n)
		spec = i.source.Mirror(0).Spec()
		layout, err := wire.NewLayout(spec)
		if err != nil {
			return memory.Needs{}, fmt.Errorf("%w: declare fewer columns", err)
		}
		return memory.Needs{Region: layout.Size, Host: i.source.HostBytes()}, nil
	}
	i.wanted = i.instances(snap.Len())
	i.plan, err = i.budget.Plan(i.wanted, needs)
	if err != nil && i.source.ForgetOther() {
		i.plan, err = i.budget.Plan(i.wanted, needs)
	}
	if err != nil {
		return i.faults.at(abi.PreFilter, fault.NoMemory, fmt.Sprintf("%v; the largest columns of a region of %d nodes are %s", err, snap.Len(), mirror.Largest(&spec)), nil)
	}
	return nil
}

// fill makes the instances that are missing, and writes what changed.
func (i *cycleInstances) fill(c *plugin.Cycle) error {
	if i.shards == nil {
		if err := i.divide(c.Snapshot, func(int) {}); err != nil {
			return err
		}
		if !i.source.Settled() {
			if err := i.source.Rehearse(c.Snapshot); err != nil {
				return err
			}
		}
		for n := range i.source.Shards {
			i.shards = append(i.shards, &shard{core: i.core, cycles: i, src: &i.source, charge: i.charge, Mirror: i.source.Mirror(n)})
		}
		if i.sharded && i.declared[abi.PreFilter] {
			i.shards = append(i.shards, &shard{core: i.core, cycles: i, src: &i.source, charge: i.charge, Mirror: i.source.Rowless(), rowless: true})
		}
	}
	for _, s := range i.shards {
		if s.guest == nil && !i.source.PodFits() || s.guest != nil && !s.PodFits() {
			return mirror.ErrNoRoom
		}
	}
	for _, s := range i.shards {
		if err := s.ready(c.Context, c.Snapshot); err != nil {
			return err
		}
	}
	return nil
}

// charge charges the cycle's pod for starts.
func (i *cycleInstances) charge(fuel int64) { i.starts.add(i.namespace, i.point, fuel) }

// shrink closes the instances if they may grow to more than the plugin's share. The next
// cycle makes fewer.
func (i *cycleInstances) shrink() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.budget.Exceeds() {
		i.drop(context.Background())
		i.key = cycleKey{} // so that the next call makes instances
	}
}

// settle tells the breaker how the calls of the cycle for a pod of a namespace ended.
func (i *cycleInstances) settle(namespace string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ration.settle()
	i.breaker.Done(i.namespace, i.ending.Take())
	i.breaker.Allow(namespace) // binding cycles never begin a probe, so it begins here
}

// close frees the instances when the calls that run have ended.
func (i *cycleInstances) close(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed, i.key, i.err = true, cycleKey{}, nil
	var errs []error
	for _, s := range i.shards {
		if s.guest != nil {
			errs = append(errs, s.guest.Close(ctx))
			s.guest = nil
		}
	}
	i.shards = nil
	return errors.Join(errs...)
}

// once makes a call that is not split.
func (i *cycleInstances) once(c *plugin.Cycle, r *request) (out reply, f *fault.Fault) {
	defer func() { i.ending.Add(r.point, r.rows, f, r.spent) }()
	if f := i.enter(c, r.point); f != nil {
		return reply{}, f
	}
	defer i.leave()
	if r.point == abi.PreFilter && i.sharded { // it sees no rows (ABI-5.3)
		return i.shards[i.source.Shards].call(c, r)
	}
	return i.shards[0].call(c, r)
}

// part returns the rows at the front that one call can take, and the instance that holds
// them: all rows if there is one instance, the rows of one block if there are several.
// Overlay rows are called one at a time.
func (i *cycleInstances) part(c *plugin.Cycle, rows []uint32) ([]uint32, *shard) {
	first := uint32(c.Snapshot.Capacity()) // of overlay rows
	switch {
	case rows[0] >= first:
		return rows[:1], i.shards[0]
	case i.source.Shards == 1 && rows[len(rows)-1] < first:
		return rows, i.shards[0]
	case i.source.Shards > 1:
		first = min(first, (rows[0]/plugin.BlockRows+1)*plugin.BlockRows)
	}
	n := 1
	for n < len(rows) && rows[n] < first {
		n++
	}
	return rows[:n], i.shards[int(rows[0]/plugin.BlockRows)%i.source.Shards]
}
