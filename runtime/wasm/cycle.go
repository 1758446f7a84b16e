package wasm

import (
	"errors"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// begin brings the plugin's instances up to the cycle that a call belongs to, if
// no earlier call did: dictionary, pod record, rows. Whoever comes first does it
// for all workers.
func (p *Plugin) begin(c *plugin.Cycle) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := cycleKey{pod: c.Pod, snapshot: c.Snapshot, generation: c.Snapshot.Generation, seed: c.Seed}
	if key == p.cycle {
		return p.cycleErr
	}
	p.cycle, p.cycleErr, p.faulted = key, nil, false
	p.cycleErr = p.prepare(c)
	return p.cycleErr
}

// maxGrowth is how often a region is made anew for one cycle before the plugin
// gives up; each time it is half as large again as what was needed so far.
const maxGrowth = 16

func (p *Plugin) prepare(c *plugin.Cycle) error {
	if p.dict.stale() {
		p.dict.begin()
		p.drop(c)
	}
	p.dict.follow(c.Snapshot.Strings)
	p.record = p.encoder.encode(c.Pod)
	p.recordNumber++
	err := p.fill(c)
	for range maxGrowth {
		if !errors.Is(err, errNoRoom) {
			break
		}
		p.drop(c)
		err = p.fill(c)
	}
	if err == nil && p.dict.live == 0 {
		p.dict.live = p.dict.Len()
	}
	return err
}

// drop closes all instances.
func (p *Plugin) drop(c *plugin.Cycle) {
	for _, s := range p.shards {
		if s.guest != nil {
			if err := s.guest.Close(c.Context); err != nil {
				p.deps.Log.Warn("instance does not close", "plugin", p.config.Name, "error", err)
			}
			s.guest = nil
		}
	}
	p.shards = nil
}

// fill makes the instances if there are none, and writes what changed.
func (p *Plugin) fill(c *plugin.Cycle) error {
	if p.shards == nil {
		p.measure(c.Snapshot)
		for i := range p.shardCount {
			p.shards = append(p.shards, &shard{plug: p, index: i})
		}
	}
	if uint32(len(p.record)) > p.room.podRoom {
		return errNoRoom
	}
	for _, s := range p.shards {
		if err := s.ready(c); err != nil {
			return err
		}
	}
	return nil
}

// measure sets the capacities: what there is now, and half as much again.
func (p *Plugin) measure(snap *state.Snapshot) {
	n := uint32(snap.Len())
	rows := max(64, n+n/2)
	blocks := int((rows + blockRows - 1) / blockRows)
	p.shardCount = 1
	if p.sharded {
		p.shardCount = max(1, min(p.config.Shards, blocks))
	}
	if p.shardCount > 1 {
		rows = uint32((blocks+p.shardCount-1)/p.shardCount) * blockRows
	}
	var need capacities
	t := &snap.Nodes
	for row := range n {
		need.names += roomFor(uint32(len(snap.Name(row))))
		need.labels += roomFor(uint32(len(t.Labels.Row(row))))
		need.taints += roomFor(uint32(len(t.TaintSets[t.TaintSet[row]])))
		need.ports += roomFor(uint32(len(t.Ports.Row(row))))
		need.images += roomFor(uint32(len(t.Images.Row(row))))
		need.pods += roomFor(uint32(len(t.Pods.Row(row))))
	}
	slots := uint32(snap.Pods.Len())
	for slot := range slots {
		need.podLabels += roomFor(uint32(len(snap.Pods.Labels.Row(slot))))
	}
	// Strings are known when rows have been written, so room is made for those
	// there are, and the first full write of a large cluster may ask for more.
	need.strings, need.stringBytes = uint32(p.dict.Len()), p.dict.bytes()
	half := func(n, least uint32) uint32 { return n + n/2 + least }
	p.room = capacities{
		rows: rows, overlays: 8, slots: half(slots, 256),
		names: half(need.names, 4096), labels: half(need.labels, 1024), taints: half(need.taints, 256),
		ports: half(need.ports, 256), images: half(need.images, 256), pods: half(need.pods, 1024),
		podLabels: half(need.podLabels, 1024), strings: half(need.strings, 1024),
		stringBytes: half(need.stringBytes, 16384), podRoom: half(uint32(len(p.record)), 4096),
	}
}

// ready makes the shard's instance if there is none, and writes what changed.
func (s *shard) ready(c *plugin.Cycle) error {
	if s.guest == nil {
		if err := s.make(c); err != nil {
			return err
		}
	}
	return s.sync(c.Snapshot)
}

// make makes the shard's instance with an empty region.
func (s *shard) make(c *plugin.Cycle) error {
	p := s.plug
	layout, err := wire.NewLayout(p.projection.spec(&p.room, uint32(s.index)*blockRows))
	if err != nil {
		return p.fault(abi.PreFilter, NoMemory, err.Error()+": declare fewer columns", nil)
	}
	env := &Env{}
	guest, err := p.start(c.Context, layout.Size, env)
	if err != nil {
		return p.fault(abi.PreFilter, Start, err.Error(), nil)
	}
	base, err := guest.Alloc(c.Context, layout.Size)
	memory := uint64(len(guest.Memory()))
	switch {
	case err != nil:
		err = p.fault(abi.PreFilter, Trap, fmt.Sprintf("%s: %v", abi.ExportAlloc, err), env)
	case base == 0:
		err = p.fault(abi.PreFilter, NoMemory, fmt.Sprintf("%s has no room for a region of %d bytes; largest columns:%s",
			abi.ExportAlloc, layout.Size, size(layout)), env)
	case base%abi.RegionAlign != 0 || uint64(base)+uint64(layout.Size) > memory:
		err = p.fault(abi.PreFilter, Output, fmt.Sprintf("%s returned %#x for %d bytes aligned to %d in a memory of %d bytes",
			abi.ExportAlloc, base, layout.Size, abi.RegionAlign, memory), env)
	}
	if err != nil {
		return errors.Join(err, guest.Close(c.Context))
	}
	fresh := shard{plug: p, index: s.index, guest: guest, env: env, base: base}
	fresh.region = region{layout: layout, cols: findColumns(layout), bytes: s.bytes}
	fresh.view()
	clear(fresh.mem)
	layout.WriteDirectories(fresh.mem, base)
	s.take(&fresh)
	return nil
}

// take replaces everything but the mutex.
func (s *shard) take(o *shard) {
	s.guest, s.env, s.base, s.region = o.guest, o.env, o.base, o.region
	s.names, s.labels, s.taints, s.ports, s.images, s.pods, s.podLabels = arena{}, arena{}, arena{}, arena{}, arena{}, arena{}, arena{}
	s.objectGeneration, s.podsGeneration, s.slotGeneration = nil, nil, nil
	s.rows, s.slots, s.strings, s.stringBytes, s.generation, s.pod = 0, 0, 0, 0, 0, 0
}

// fault counts a fault and returns it.
func (p *Plugin) fault(point abi.Point, kind Kind, detail string, env *Env) *Fault {
	p.faults.Add(1)
	f := &Fault{Plugin: p.config.Name, Digest: p.info.Digest, Point: point, Kind: kind, Detail: detail}
	if env != nil {
		f.Output = env.log.String()
	}
	return f
}
