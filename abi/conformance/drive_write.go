package conformance

import (
	"encoding/binary"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/image"
	"github.com/berth-scheduler/berth/abi/conformance/internal/view"
	"github.com/berth-scheduler/berth/abi/wire"
)

// unknownBits are bits of flags that no version has (ABI-4.5).
const unknownBits = 0xf0

// unknownAction is an action of an event that no version has.
const unknownAction abi.EventAction = 1 << 20

// write writes the header, tables, records and the call record.
func (d *drive) write(s *seat, a *ask, c *cluster.Cluster, numbering *image.Numbering, dict *wire.Dict) (lo, hi uint32, call wire.Call, err error) {
	e := &image.Encoder{Reads: d.k.reads, Dict: dict}
	if d.w.lists {
		e.Order = d.random.Perm
	}
	if d.w.unknown {
		e.Bits = unknownBits
	}
	content := e.Content(c, numbering)
	var record []byte
	if a.point > abi.Hint {
		record = e.Record(view.At(a.point, d.s.cluster), &d.pod, a.node, d.w.unknown)
	}
	var records [][]byte
	for i := range a.pods {
		records = append(records, e.Record(view.At(a.point, d.s.cluster), &a.pods[i], "", d.w.unknown))
	}
	event := d.event(e, a, numbering)
	content.Seal(dict)
	mem := s.bytes()
	if node(d.k.man) && d.w.fresh != never { // otherwise it stays as long as the cluster does
		d.generation += d.random.Uint64N(64)
	}
	// The numbers differ in their upper halves only, so that no part of them is enough.
	cycle := wire.Cycle{Epoch: d.epoch<<32 + 1, Generation: d.generation, Seed: d.s.seed, State: 1}
	if blind := d.k.man.Scope(a.point) == abi.ScopeNode || d.k.man.Sharded() && a.point == abi.PreFilter; blind || a.point <= abi.Hint {
		cycle.Seed = 0
	}
	if err := d.im.Write(mem, s.base, content, cycle); err != nil {
		return 0, 0, call, err
	}
	if len(d.layouts) > 1 {
		binary.LittleEndian.PutUint32(mem[d.im.Header+abi.HeaderLayout:], uint32(d.relaid)<<16+1)
	}
	copy(mem[d.im.Pod:d.im.Pod+d.im.PodRoom], record)
	call = wire.Call{Point: a.point, PodSize: uint32(len(record)), N: uint32(len(a.rows))}
	batch := d.im.NewBatch(mem, s.base)
	for i, record := range records {
		if err := batch.Add(record); err != nil {
			return 0, 0, call, err
		}
		if a.point == abi.QueueSort {
			batch.Queue(a.queue[i])
		}
		call.Pods = true
	}
	if a.point == abi.Hint {
		call.Event = true
		if err := batch.Event(event); err != nil {
			return 0, 0, call, err
		}
	}
	lo, hi = d.bounds(mem, a, &call)
	call.Flags |= uint32(e.Bits)
	d.im.SetCall(mem, s.base, call)
	d.inputs(mem, a)
	return lo, hi, call, nil
}

// bounds writes a row set if the call needs one, and returns lo and hi (ABI-3.9).
func (d *drive) bounds(mem []byte, a *ask, call *wire.Call) (lo, hi uint32) {
	n := uint32(len(a.rows))
	switch {
	case a.point <= abi.Hint:
		call.N, call.Keys = uint32(len(a.pods)), a.point == abi.QueueSort
		return 0, call.N
	case a.whatIf != nil:
		call.N, call.Flags = 1, abi.CallOverlayRows
		lo = d.im.Tables[0].Capacity + uint32(a.others)
		return lo, lo + 1
	case n == 0:
		return 0, 0
	}
	lo, hi = a.rows[0], a.rows[n-1]+1
	if hi-lo != n || d.w.split && d.random.IntN(2) == 0 { // a row set may also be used for adjacent rows
		call.RowSet = true
		for i, row := range a.rows {
			binary.LittleEndian.PutUint32(mem[d.im.RowSet+4*uint32(i):], row)
		}
	}
	return lo, hi
}

// inputs writes answers that are input: normalize's scores and post_filter's codes.
func (d *drive) inputs(mem []byte, a *ask) {
	for i, score := range a.input {
		binary.LittleEndian.PutUint64(mem[d.im.Scores+8*uint32(i):], uint64(score))
	}
	for i, code := range a.verdicts {
		mem[d.im.Codes+uint32(i)] = uint8(code)
	}
}

// event returns the event record of a hint.
func (d *drive) event(e *image.Encoder, a *ask, numbering *image.Numbering) *wire.EventView {
	out := &wire.EventView{OldNode: abi.EventNoNode, NewNode: abi.EventNoNode}
	if a.point != abi.Hint {
		return out
	}
	ev := a.event
	out.Resource, out.Actions, out.Namespace, out.Name = ev.Resource, ev.Actions, ev.Namespace, ev.Name
	if d.w.unknown {
		out.Actions |= unknownAction
	}
	record := func(p *cluster.Pod) []byte {
		if p == nil {
			return nil
		}
		return e.Record(view.At(abi.Hint, d.s.cluster), p, "", d.w.unknown)
	}
	next := 0
	for _, n := range []struct {
		node *cluster.Node
		row  *uint32
	}{{ev.OldNode, &out.OldNode}, {ev.NewNode, &out.NewNode}} {
		if n.node != nil {
			*n.row = uint32(slices.Index(numbering.Nodes, next))
			next++
		}
	}
	out.OldPod, out.NewPod = record(ev.OldPod), record(ev.NewPod)
	return out
}
