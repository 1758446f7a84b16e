package conformance_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/image"
	"github.com/berth-scheduler/berth/abi/conformance/internal/proto"
	"github.com/berth-scheduler/berth/abi/conformance/internal/view"
	"github.com/berth-scheduler/berth/abi/wire"
)

// instance is a running instance of a module, with a region.
type instance struct {
	vm    *engineInstance
	pl    *plugin
	env   *environment
	image *image.Image
	base  uint32
	// clock and random are the state of WASI's stubs.
	clock, random uint64
}

// instantiate starts an instance of the module and configures it (ABI-2.1 to 2.3).
func (pl *plugin) instantiate() (*instance, error) {
	i := &instance{pl: pl, env: &environment{pl: pl}}
	vm, err := pl.module.start(i.imports())
	if err != nil {
		return nil, err
	}
	i.vm = vm
	if vm.Has("_start") && pl.h.wrong("calls _start") {
		if _, err := vm.Call("_start"); err != nil {
			return nil, err
		}
	}
	for range map[bool]int{false: 1, true: 2}[pl.h.wrong("initializes twice")] {
		if vm.Has("_initialize") {
			if _, err := vm.Call("_initialize"); err != nil {
				return nil, err
			}
		}
	}
	version, err := vm.Call(abi.ExportABI)
	if err != nil {
		return nil, err
	}
	if v := uint32(version[0]); v>>16 != abi.Major || v&0xffff > abi.Minor && !pl.h.wrong("accepts newer minor versions") {
		return nil, fmt.Errorf("the module is for ABI %d.%d, the host has %d.%d (ABI-2.2)", v>>16, v&0xffff, abi.Major, abi.Minor)
	}
	if vm.Has(abi.ExportConfigure) {
		return i, i.configure()
	}
	return i, nil
}

func (i *instance) configure() error {
	config := i.pl.Config
	if len(config) == 0 && !i.pl.h.wrong("an absent configuration is empty") {
		config = []byte("{}")
	}
	align := uint32(8)
	if i.pl.h.wrong("asks for a configuration aligned to 24") {
		align = 24
	}
	at, err := i.alloc(uint32(len(config)), align)
	if err != nil {
		return err
	}
	copy(i.vm.Memory()[at:], config)
	result, err := i.vm.Call(abi.ExportConfigure, uint64(at), uint64(len(config)))
	if err != nil {
		return err
	}
	if uint32(result[0]) != 0 && !i.pl.h.wrong("accepts refused configurations") {
		return fmt.Errorf("the module refuses its configuration: %s", i.env.output.String())
	}
	return nil
}

// alloc calls berth_alloc, and checks the result (ABI-2.4).
func (i *instance) alloc(size, align uint32) (uint32, error) {
	result, err := i.vm.Call(abi.ExportAlloc, uint64(size), uint64(align))
	if err != nil {
		return 0, err
	}
	at := uint32(result[0])
	if at == 0 || align&(align-1) == 0 && at%align != 0 || uint64(at)+uint64(size) > uint64(len(i.vm.Memory())) {
		return 0, faultf(conformance.FaultMemory, "berth_alloc returned %#x for %d bytes", at, size)
	}
	return at, nil
}

// place allocates the instance's region for an image.
func (i *instance) place(im *image.Image) error {
	align := uint32(abi.RegionAlign)
	if i.pl.h.wrong("asks for a region aligned to 8") {
		align = 8
	}
	at, err := i.alloc(im.Size, align)
	if err != nil {
		return err
	}
	i.image, i.base = im, at
	return nil
}

// answer makes one call of a guest and reads its answers.
func (c *cycle) answer(pl *plugin, r *request, scores []int64) (*conformance.Answer, error) {
	i, call, err := c.write(pl, r)
	if err != nil {
		return nil, asFault(err)
	}
	if r.point == abi.Normalize {
		for k, score := range scores {
			binary.LittleEndian.PutUint64(i.region()[i.image.Scores+8*uint32(k):], uint64(score))
		}
	}
	i.env.c, i.env.r = c, r
	if !pl.h.wrong("keeps the output of earlier calls") {
		i.env.output.Reset()
	}
	before := slices.Clone(i.region())
	lo, hi := c.bounds(i, r)
	name, typ := wire.ExportOf(r.point)
	args := []uint64{uint64(i.base + i.image.Call), uint64(lo), uint64(hi)}
	result, err := i.vm.Call(name, args[:len(typ.Params)]...)
	i.env.c, i.env.r = nil, nil
	if err == nil && pl.Verify && !pl.h.wrong("does not look at the region") {
		err = i.verify(before)
	}
	var out *conformance.Answer
	if err == nil {
		out, err = c.read(pl, r, i, call, uint32(result[0]))
	}
	if err != nil {
		if f := asFault(err); f != nil && !pl.h.wrong("calls instances again after a fault") {
			*r.instance = nil
		}
		var f *fault
		if errors.As(err, &f) {
			f.output = i.env.output.String()
			return nil, f
		}
		return nil, &fault{kind: conformance.FaultTrap, text: err.Error(), output: i.env.output.String()}
	}
	return out, nil
}

func asFault(err error) error {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	return &fault{kind: conformance.FaultTrap, text: err.Error()}
}

func (i *instance) region() []byte { return i.vm.Memory()[i.base : i.base+i.image.Size] }

// verify checks that the guest wrote only where it may (ABI-3.4).
func (i *instance) verify(before []byte) error {
	now := i.region()
	call := i.image.Call
	if !bytes.Equal(now[call:call+abi.CallGuestStart], before[call:call+abi.CallGuestStart]) ||
		!bytes.Equal(now[call+abi.CallAnswersEnd:call+abi.CallSize], before[call+abi.CallAnswersEnd:call+abi.CallSize]) ||
		!bytes.Equal(now[i.image.ReadOnly:], before[i.image.ReadOnly:]) {
		return faultf(conformance.FaultRegion, "the guest wrote to memory of the host")
	}
	return nil
}

// write writes everything that a call needs, in a new instance if the region is too small.
func (c *cycle) write(pl *plugin, r *request) (*instance, wire.Call, error) {
	c.p.epoch++
	c, r = c.lighter(r)
	e := &image.Encoder{Reads: pl.reads, Dict: wire.NewDict()}
	numbering := image.InOrder(r.cluster)
	numbering.Overlays = r.overlays
	content := e.Content(r.cluster, numbering)
	record, records := c.records(e, r)
	event := c.event(e, r)
	content.Seal(e.Dict)
	rooms := &image.Rooms{Spare: 4, Overlays: 1, Batch: 4, Keys: true}
	rooms.Fit(content)
	rooms.FitRecord(record)
	rooms.FitBatch(append(records, event.OldPod, event.NewPod)...)
	im, err := rooms.Layout()
	if err != nil {
		return nil, wire.Call{}, err
	}
	if i := *r.instance; i == nil || !pl.h.wrong("keeps a region that is too small") && (im.Size > i.image.Size || pl.h.wrong("makes an instance for each call") || !i.image.Same(im)) {
		fresh, err := pl.instantiate()
		if err != nil {
			return nil, wire.Call{}, err
		}
		if err := fresh.place(im); err != nil {
			return nil, wire.Call{}, err
		}
		*r.instance = fresh
	}
	i := *r.instance
	mem := i.region()
	cycle := wire.Cycle{Epoch: c.p.epoch, Generation: c.p.generation, Seed: c.seed, State: 1}
	if pl.h.wrong("the seed is the same in every cycle") {
		cycle.Seed = 1
	}
	if pl.h.wrong("the epoch never changes") {
		cycle.Epoch = 1
	}
	if pl.h.wrong("the generation stands still") {
		cycle.Generation = 1
	}
	if (pl.man.Scope(r.point) == abi.ScopeNode || pl.man.Sharded() && r.point == abi.PreFilter) && !pl.h.wrong("gives the seed to scope node") {
		cycle.Seed = 0
	}
	if r.point <= abi.Hint && !pl.h.wrong("there is a seed without a cycle") {
		cycle.Seed = 0
	}
	if err := i.image.Write(mem, i.base, content, cycle); err != nil {
		return nil, wire.Call{}, err
	}
	i.mangle(mem)
	i.garble(record)
	copy(mem[i.image.Pod:], record)
	call := wire.Call{Point: r.point, PodSize: uint32(len(record)), N: uint32(len(r.rows))}
	batch := i.image.NewBatch(mem, i.base)
	for k, one := range records {
		if err := batch.Add(one); err != nil {
			return nil, call, err
		}
		if r.point == abi.QueueSort {
			entry := r.call.Queue[k]
			if pl.h.wrong("times of the queue are in microseconds") {
				entry.Time /= 1000
			}
			batch.Queue(entry)
		}
		call.Pods = true
	}
	if r.point <= abi.Hint {
		call.N, call.Keys = batch.Len(), r.point == abi.QueueSort
	}
	if r.point == abi.Hint {
		call.Event = true
		if err := batch.Event(event); err != nil {
			return nil, call, err
		}
	}
	i.rowSet(mem, r, &call)
	kept := slices.Clone(mem[i.image.Call+abi.CallGuestStart : i.image.Call+abi.CallAnswersEnd])
	codes := slices.Clone(mem[i.image.Codes : i.image.Codes+call.N])
	i.image.SetCall(mem, i.base, call)
	if r.point == abi.PostFilter {
		for k, code := range r.call.Verdicts {
			mem[i.image.Codes+uint32(k)] = uint8(code)
		}
	}
	if pl.h.wrong("points are counted from 1") {
		mem[i.image.Call+abi.CallPoint]++
	}
	if pl.h.wrong("does not zero the guest's part of the call record") {
		copy(mem[i.image.Call+abi.CallGuestStart:], kept)
	}
	if pl.h.wrong("does not zero codes") && r.point != abi.PostFilter {
		copy(mem[i.image.Codes:], codes)
	}
	return i, call, nil
}

// rowSet writes the row set of a call, if it needs one.
func (i *instance) rowSet(mem []byte, r *request, call *wire.Call) {
	if len(r.overlays) > 0 {
		call.N, call.Flags, call.RowSet = 1, abi.CallOverlayRows, i.pl.h.wrong("overlay rows have a row set")
		binary.LittleEndian.PutUint32(mem[i.image.RowSet:], i.image.Tables[0].Capacity)
		return
	}
	n := uint32(len(r.rows))
	if n == 0 || r.rows[n-1]-r.rows[0]+1 == n {
		return
	}
	call.RowSet = !i.pl.h.wrong("leaves out row sets")
	for k, row := range r.rows {
		binary.LittleEndian.PutUint32(mem[i.image.RowSet+4*uint32(k):], row)
	}
}

// bounds returns lo and hi (ABI-3.9).
func (c *cycle) bounds(i *instance, r *request) (lo, hi uint32) {
	switch n := len(r.rows); {
	case len(r.overlays) > 0:
		if lo = i.image.Tables[0].Capacity; c.p.h.wrong("the overlay row is the last of all rows") {
			lo = uint32(len(r.cluster.Nodes)) - 1
		}
		return lo, lo + 1
	case r.point <= abi.Hint:
		return 0, uint32(len(r.pods))
	case n > 0 && c.p.h.wrong("hi is the last row"):
		return r.rows[0], r.rows[n-1]
	case n > 0:
		return r.rows[0], r.rows[n-1] + 1
	}
	return 0, 0
}

// records returns the record of the cycle's pod and those of the pod list.
func (c *cycle) records(e *image.Encoder, r *request) (record []byte, records [][]byte) {
	if c.pod != nil && r.point > abi.Hint {
		node := ""
		if r.point >= abi.Reserve && !c.p.h.wrong("the record does not name the chosen node") {
			node = r.call.Node
		}
		record = e.Record(view.At(r.point, c.cluster), c.pod, node, false)
	}
	if c.p.h.wrong("the pod list is in another order") {
		r.pods = slices.Clone(r.pods)
		slices.Reverse(r.pods)
	}
	for k := range r.pods {
		records = append(records, e.Record(view.At(r.point, c.cluster), &r.pods[k], "", false))
	}
	return record, records
}

func (c *cycle) event(e *image.Encoder, r *request) *wire.EventView {
	out := &wire.EventView{OldNode: abi.EventNoNode, NewNode: abi.EventNoNode}
	ev := r.call.Event
	if ev == nil || r.point != abi.Hint {
		return out
	}
	out.Resource, out.Actions, out.Namespace, out.Name = ev.Resource, ev.Actions, ev.Namespace, ev.Name
	next := uint32(0)
	if ev.OldNode != nil {
		out.OldNode, next = 0, 1
	}
	if ev.NewNode != nil {
		out.NewNode = next
	}
	if c.p.h.wrong("swaps the nodes of an event") {
		out.OldNode, out.NewNode = out.NewNode, out.OldNode
	}
	pod := func(p *cluster.Pod) []byte {
		if p == nil {
			return nil
		}
		return e.Record(view.At(abi.Hint, c.cluster), p, "", false)
	}
	out.OldPod, out.NewPod = pod(ev.OldPod), pod(ev.NewPod)
	return out
}

// whole returns the protobuf of an object for pod_object and node_object.
func (e *environment) whole(pod bool, index uint32) ([]byte, bool) {
	switch {
	case e.r == nil:
		return nil, false
	case pod && len(e.r.pods) > 0:
		if int(index) >= len(e.r.pods) {
			return nil, false
		}
		return proto.Pod(&e.r.pods[index]), true
	case pod:
		if index != 0 || e.c.pod == nil {
			return nil, false
		}
		own := *e.c.pod
		if e.r.point >= abi.Reserve {
			own.Spec.NodeName = e.r.call.Node
		}
		return proto.Pod(&own), true
	case int(index) >= len(e.r.cluster.Nodes):
		return nil, false
	}
	return proto.Node(&e.r.cluster.Nodes[index]), true
}
