package wasm

import (
	"context"
	"errors"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
	"github.com/berth-scheduler/berth/runtime/wasm/mirror"
)

// aux is an instance for points outside of cycles (ABI-2.11). It has a dictionary of its own
// and a snapshot with the rows of one call, so binding cycles use theirs while the loop goes
// on with the next pod.
type aux struct {
	shard
	pool    *auxPool
	own     source
	snap    *state.Snapshot
	infos   []*state.NodeInfo // rows of the snapshot
	shown   *state.NodeInfo   // row 0 is a copy of it; nil if it is of something else
	slots   uint32            // in use
	counter uint64            // of generations
	calls   uint64            // prepared so far
	records uint32            // room for the records of a batch in bytes
	current *auxCall
}

// The room for the records of a batch in bytes: at first, and when a batch is split instead
// of giving it more. Later instances have at most maxRecords from the start.
const (
	recordRoom = 128 << 10
	maxRecords = 2 << 20
)

// enlarge makes room in the next region for an event and the first pod of a batch, and for more
// pods if there is memory.
func (a *aux) enlarge(c *auxCall, need uint64) error {
	c.records = uint32(min(need, memory.AuxRegion)) // a region that has nothing else is too large already
	if a.records = 2 * c.records; c.tight {
		a.records = c.records
	}
	return mirror.ErrNoRoom
}

// remember gives later instances the room for records that this one was made with.
func (a *aux) remember() {
	if room := min(a.records, maxRecords); room > a.pool.records.Load() {
		a.pool.records.Store(room)
	}
}

// begin makes the instance. If there is no memory for its region, it makes one with less room
// for records.
func (a *aux) begin(ctx context.Context, c *auxCall) error {
	had := a.Room()
	for {
		a.own.Measure(a.snap)
		a.own.RoomForBatch(a.core.batch, a.records, a.core.declared[abi.QueueSort])
		exact := a.own.Room()
		a.own.Widen(had)
		if layout, err := wire.NewLayout(a.Spec()); err != nil || c.tight || layout.Size > memory.AuxRegion {
			a.own.SetRoom(exact)
		}
		err := a.ready(ctx, a.snap)
		least := max(recordRoom, c.records)
		if !isNoMemory(err) || a.records <= least {
			return err
		}
		a.records, c.tight = least, true
	}
}

func newAux(p *auxPool) *aux {
	a := &aux{pool: p, own: p.newSource(), snap: state.NewSnapshot(), records: max(recordRoom, p.records.Load())}
	a.core, a.src = p.core, &a.own
	a.charge = func(fuel int64) { a.current.started += fuel }
	a.Mirror = a.own.Mirror(0)
	return a
}

// auxCall is a call of a point outside of cycles. Which fields are set depends on the
// point.
type auxCall struct {
	point abi.Point
	// placement is the pod and its node, from reserve on.
	placement *plugin.Placement
	// pods are those that the call is about; queued are the same, as the queue knows them.
	pods   []*state.Pod
	queued []*state.QueuedPod
	event  *clusterEvent
	// verdicts and keys receive answers, from position at on.
	verdicts *plugin.Verdicts
	at       int
	keys     [][]byte
	retries  []int64 // receives for each pod after how many milliseconds pre_enqueue is to be asked again; nil if that does not count
	large    bool    // the instance grew beyond its grant; the next call makes another
	// records is the room that the event and the first pod of a batch need, 0 if it is not
	// known. tight says that there was no memory for more.
	records uint32
	tight   bool
	// wrote is how many pods the last batch had that was written, and most how many a batch may
	// have; 0 means as many as fit.
	wrote, most int
	used        int64 // fuel of the guest
	started     int64 // fuel of starts that no fault is charged for
	// owed is fuel for starts that the call is charged too if it is faulted: that of a call about its pods and others.
	owed int64
}

// namespace returns that of the pods.
func (c *auxCall) namespace() string {
	if c.placement != nil {
		return c.placement.Pod.Namespace
	}
	return c.pods[0].Namespace
}

// clusterEvent is the event of a hint.
type clusterEvent struct {
	state.ClusterEvent
	state.Object
}

// call makes the call, in batches of as many pods as there is room for.
func (a *aux) call(ctx context.Context, c *auxCall) (reply, *fault.Fault) {
	a.current = c
	if c.placement != nil {
		a.own.ledger = a.core.ledgerOf(c.placement.State)
	} else {
		a.own.ledger = a.pool.between.at(a.core.deps.Clock.Now())
	}
	var out reply
	limit := a.core.config.Limits.CycleFuel(len(c.pods)) // about one event, or the pods of one moment
	for {
		if c.used >= limit {
			return out, a.core.spent(c.point, limit)
		}
		r, err := a.fit(ctx, c)
		for isNoMemory(err) && c.wrote > 1 { // the strings of so many pods do not fit
			a.discard(ctx)
			a.own.BeginEpoch()
			c.most = max(1, c.wrote/4)
			r, err = a.fit(ctx, c)
		}
		if err != nil {
			f := a.core.faults.of(c.point, a.own.explain(err))
			a.discard(ctx)
			return out, f
		}
		a.remember()
		var f *fault.Fault
		out, f = a.run(ctx, a.snap, r, 0, uint32(r.batch))
		if c.used += r.fuel; f != nil {
			a.discard(ctx) // ABI-2.10
			return out, f
		}
		if out.code != abi.Success || c.at+r.batch >= len(c.pods) {
			return out, nil
		}
		c.at, c.records = c.at+r.batch, 0
	}
}

// fit prepares the call in a region that is large enough. An epoch may begin only before the
// first try: the strings that a try wrote are what the next one has room for.
func (a *aux) fit(ctx context.Context, c *auxCall) (*request, error) {
	c.wrote = 0
	if a.own.Stale() {
		a.own.BeginEpoch()
		if err := a.renew(); err != nil {
			return nil, err
		}
	}
	r, err := a.prepare(ctx, c)
	for try := 0; errors.Is(err, mirror.ErrNoRoom) && try < maxGrowth; try++ {
		a.discard(ctx)
		r, err = a.prepare(ctx, c)
	}
	return r, err
}

func isNoMemory(err error) bool {
	f, ok := fault.As(err)
	return ok && f.Kind == fault.NoMemory
}

// prepare writes what the call needs. mirror.ErrNoRoom asks for a larger region.
func (a *aux) prepare(ctx context.Context, c *auxCall) (*request, error) {
	p := a.core
	a.show(c)
	a.own.Follow(a.snap)
	r := &request{point: c.point, stateful: c.placement != nil, verdicts: c.verdicts, at: c.at}
	call := wire.Call{Point: c.point}
	a.own.SetTime(c.point, p.deps.Clock.Now().Unix())
	if c.placement != nil {
		a.own.SetPod(c.placement.Pod, c.placement.Namespace)
		call.PodSize = a.own.PodSize()
		r.state, r.pods = c.placement.State, []*state.Pod{c.placement.Pod}
	}
	var err error
	switch {
	case a.guest == nil:
		err = a.begin(ctx, c)
	case call.PodSize > 0 && !a.PodFits():
		err = mirror.ErrNoRoom
	default:
		if err = a.view(); err != nil {
			return nil, p.faults.at(c.point, fault.Trap, err.Error(), a.host.env)
		}
		err = a.ready(ctx, a.snap)
	}
	if err != nil {
		return nil, err
	}
	if call.PodSize > 0 {
		a.SyncPod()
	}
	if c.placement == nil {
		if err := a.writeBatch(c, r, &call); err != nil {
			return nil, err
		}
	}
	if err := a.SyncStrings(); err != nil {
		return nil, err
	}
	a.own.Settle()
	a.calls++
	cycle := wire.Cycle{Epoch: a.own.Epoch(), Generation: a.core.generation(a.snap.Generation, a.calls), State: 1}
	if c.placement != nil {
		cycle.Seed = a.core.seed(c.placement.Seed)
	}
	a.WriteCall(cycle, call)
	a.Flush()
	return r, nil
}

// writeBatch writes as many pods of the list as fit, and the event.
func (a *aux) writeBatch(c *auxCall, r *request, call *wire.Call) error {
	b := a.Batch()
	call.Pods, call.Event, call.Keys = true, c.event != nil, c.point == abi.QueueSort
	if c.event != nil {
		view := a.eventView(c.event)
		if err := b.Event(&view); err != nil {
			return a.enlarge(c, eventRoom(&view))
		}
	}
	pods := c.pods[c.at:]
	if c.most > 0 {
		pods = pods[:min(len(pods), c.most)]
	}
	for i, pod := range pods {
		c.wrote = i + 1
		record := a.own.EncodeOther(pod, a.core.namespace(pod.Namespace))
		if err := b.Add(record); err != nil {
			if i == 0 {
				return a.enlarge(c, uint64(b.Bytes())+8+uint64(len(record)))
			}
			if i == abi.MaxBatch || c.tight || a.records >= maxRecords {
				break // the others are in the next batch
			}
			a.records = min(2*a.records, maxRecords)
			return mirror.ErrNoRoom
		}
		if call.Keys {
			q := c.queued[c.at+i]
			b.Queue(wire.QueueEntry{Time: q.Timestamp.UnixNano(), Attempts: uint32(q.Attempts)})
		}
	}
	a.Wrote(uint64(b.Bytes()) + uint64(b.Len())*abi.PodEntrySize)
	call.N, r.batch = b.Len(), int(b.Len())
	r.pods = c.pods[c.at : c.at+r.batch]
	if c.retries != nil {
		r.scores = c.retries[c.at : c.at+r.batch]
	}
	if call.Keys {
		r.keys = c.keys[c.at : c.at+r.batch]
	}
	return nil
}

// show makes the snapshot's rows those of the call.
func (a *aux) show(c *auxCall) {
	var nodes []*state.NodeInfo
	switch {
	case c.placement != nil:
		info := c.placement.Info
		switch info {
		case nil:
			info = &state.NodeInfo{Name: c.placement.Node.Name, Node: c.placement.Node}
		case a.shown:
			return
		}
		nodes, a.shown = append(nodes, info), c.placement.Info
	case c.event != nil:
		for _, node := range []*state.Node{c.event.OldNode, c.event.NewNode} {
			if node != nil {
				nodes = append(nodes, &state.NodeInfo{Name: node.Name, Node: node})
			}
		}
		a.shown = nil
	default:
		a.shown = nil
	}
	if len(nodes) == 0 && len(a.infos) == 0 {
		return
	}
	dirty := make([]uint32, 0, 2)
	for row := range max(len(nodes), len(a.infos)) {
		dirty = append(dirty, uint32(row))
	}
	a.infos = a.infos[:0]
	slots := uint32(0)
	for _, node := range nodes {
		info := *node
		a.counter++
		info.ObjectGeneration, info.PodsGeneration, info.FeedsGeneration = a.counter, a.counter, a.counter
		info.Pods = make([]state.PlacedPod, len(node.Pods))
		for i := range node.Pods {
			info.Pods[i] = state.PlacedPod{Pod: node.Pods[i].Pod, Slot: slots, Generation: a.counter}
			slots++
		}
		info.Nominated = make([]state.PlacedPod, len(node.Nominated))
		for i := range node.Nominated {
			info.Nominated[i] = state.PlacedPod{Pod: node.Nominated[i].Pod, Slot: slots, Generation: a.counter}
			slots++
		}
		a.infos = append(a.infos, &info)
	}
	var freed []uint32
	for slot := slots; slot < a.slots; slot++ {
		freed = append(freed, slot)
	}
	a.slots = slots
	if a.snap.Update(a.infos, dirty, freed) {
		a.snap.Rebuild(a.infos)
	}
}
