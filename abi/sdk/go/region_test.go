package berth_test

import (
	"testing"

	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/wire"
)

// region is an instance of a plugin and the region that package wire writes for it: two nodes
// with names and the declared label `zone`. Package berthtest has its own writer, so a mistake
// would have to be made twice.
type region struct {
	t      testing.TB
	guest  *berth.Native
	layout *wire.Layout
	base   uint32
	dict   *wire.Dict
	pods   [][]byte // of the call's list
	queue  []wire.QueueEntry
	event  *wire.EventView
	pod    []byte // the call's own
}

func newRegion(t testing.TB, p berth.Plugin, host berth.Host) *region {
	t.Helper()
	span := func(id abi.ColumnID, kind abi.Type, capacity uint32) []wire.ColumnSpec {
		return []wire.ColumnSpec{{ID: id, Type: abi.TypeSpan}, {ID: id + abi.ArenaOf, Type: kind, Capacity: capacity}}
	}
	l, err := wire.NewLayout(wire.LayoutSpec{
		Tables: []wire.TableSpec{
			{ID: abi.TableNodes, Capacity: 2, Overlays: 1, Columns: append(span(abi.NodeName, abi.TypeBytes, 64), wire.ColumnSpec{ID: abi.NodeLabel, Type: abi.TypeU32})},
			{ID: abi.TableStrings, Capacity: 64, Columns: span(abi.StringBytes, abi.TypeBytes, 4096)},
		},
		PodRoom: 1024, Batch: abi.MaxBatch, RecordRoom: 256 << 10, Keys: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &region{t: t, guest: berth.NewNative(p, host), layout: l, dict: wire.NewDict()}
	r.base = r.guest.Alloc(l.Size, abi.RegionAlign)
	l.WriteDirectories(r.mem(), r.base)
	l.SetCycle(r.mem(), wire.Cycle{Epoch: 1, Generation: 1, State: 1})
	names, bytes, zone := &l.Tables[0].Columns[0], &l.Tables[0].Columns[1], &l.Tables[0].Columns[2]
	for row, name := range []string{0: "node-a", 1: "node-b", 2: "what-if"} {
		put := func(c *wire.ColumnLayout, element uint32, b []byte) {
			copy(r.mem()[c.Data+element*uint32(c.Type.Size()):], b)
		}
		put(names, uint32(row), le32(uint32(16*row), uint32(len(name))))
		put(bytes, uint32(16*row), []byte(name))
		put(zone, uint32(row), le32(r.dict.Intern("zone-"+name)))
	}
	l.SetRows(r.mem(), 0, 2)
	return r
}

func (r *region) mem() []byte { return r.guest.Memory()[r.base:][:r.layout.Size] }

// record returns the record of a pod with a name and a value of the declared annotation.
func (r *region) record(name, note string) []byte {
	var b wire.PodBuilder
	b.Field(abi.PodName, 0)
	b.Text(name)
	b.Field(abi.IncomingAnnotations, 0)
	b.ID(r.dict.Intern(note))
	b.Field(abi.IncomingUID, 0)
	b.Text("uid-" + name)
	return append([]byte(nil), b.Bytes()...)
}

// write writes a call and its content.
func (r *region) write(c wire.Call) {
	r.t.Helper()
	batch := r.layout.NewBatch(r.mem(), r.base)
	for i, record := range r.pods {
		if err := batch.Add(record); err != nil {
			r.t.Fatal(err)
		}
		if r.queue != nil {
			batch.Queue(r.queue[i])
		}
	}
	if r.event != nil {
		if err := batch.Event(r.event); err != nil {
			r.t.Fatal(err)
		}
	}
	copy(r.mem()[r.layout.Pod:], r.pod)
	strings := &r.layout.Tables[1]
	at := uint32(0)
	for id := range uint32(r.dict.Len()) {
		text := r.dict.String(id)
		copy(r.mem()[strings.Columns[0].Data+8*id:], le32(at, uint32(len(text))))
		copy(r.mem()[strings.Columns[1].Data+at:], text)
		at += uint32(len(text))
	}
	r.layout.SetRows(r.mem(), 1, uint32(r.dict.Len()))
	c.PodSize, c.Pods, c.Event, c.Keys = uint32(len(r.pod)), r.pods != nil, r.event != nil, r.queue != nil
	r.layout.SetCall(r.mem(), r.base, c)
}

// call makes a call and reads its answer.
func (r *region) call(export string, lo, hi uint32, c wire.Call) (abi.Code, *wire.CallView) {
	r.t.Helper()
	r.write(c)
	code := abi.Code(r.guest.Call(export, r.base+r.layout.Call, lo, hi))
	v, err := wire.DecodeCall(r.guest.Memory(), r.base+r.layout.Call)
	if err != nil {
		r.t.Fatal(err)
	}
	return code, v
}

// reasons returns the texts of a reason set.
func reasons(v *wire.CallView, n uint32) []string {
	if n == 0 {
		return nil
	}
	return v.ReasonSets[n-1]
}

func le32(values ...uint32) (out []byte) {
	for _, v := range values {
		out = append(out, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return out
}
