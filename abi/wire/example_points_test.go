package wire_test

import (
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// spans returns a column of lists and its arena.
func spans(id abi.ColumnID, kind abi.Type, capacity uint32) []wire.ColumnSpec {
	return []wire.ColumnSpec{{ID: id, Type: abi.TypeSpan}, {ID: id + abi.ArenaOf, Type: kind, Capacity: capacity}}
}

func stringsSpec() wire.TableSpec {
	return wire.TableSpec{ID: abi.TableStrings, Capacity: 8, Columns: spans(abi.StringBytes, abi.TypeBytes, 64)}
}

// guest writes bytes to the guest's own memory, which begins at 0x400.
func (e *example) guest(at uint32, bytes []byte) { copy(e.memory[at:], bytes) }

// answer writes fields of the call record that belong to the guest.
func (e *example) answer(offset uint32, values ...uint32) {
	copy(e.memory[e.base+e.layout.Call+offset:], le32(values...))
}

func (e *example) writePod(fields func(b *wire.PodBuilder)) uint32 {
	record := podRecord(fields)
	copy(e.region()[e.layout.Pod:], record)
	return uint32(len(record))
}

func podRecord(fields func(b *wire.PodBuilder)) []byte {
	var b wire.PodBuilder
	fields(&b)
	return b.Bytes()
}

// batch begins the pods of a call.
func (e *example) batch(t testing.TB, records ...[]byte) *wire.Batch {
	t.Helper()
	b := e.layout.NewBatch(e.region(), e.base)
	for _, r := range records {
		if err := b.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	return &b
}

// reserveExample is a reserve call after the guest has answered: the pod in slot 0 has device 0
// of the chosen node, so the guest annotates device 1.
func reserveExample(t testing.TB) *example {
	e := newExample(t, wire.LayoutSpec{
		Tables: []wire.TableSpec{
			{ID: abi.TableNodes, Capacity: 1, Columns: spans(abi.NodePods, abi.TypeU32, 2)},
			stringsSpec(),
			{ID: abi.TablePods, Capacity: 2, Columns: []wire.ColumnSpec{{ID: abi.PodAnnotations, Type: abi.TypeU32}}},
		},
		PodRoom: 64,
	})
	e.strings("0")
	e.put(e.column(0, abi.NodePods, 0), 0, le32(0, 1)...)
	slots := e.column(0, abi.NodePods+abi.ArenaOf, 0)
	e.put(slots, 0, le32(0)...)
	e.layout.SetLength(e.region(), slots, 1)
	e.layout.SetRows(e.region(), 0, 1)
	e.put(e.column(2, abi.PodAnnotations, 0), 0, le32(e.ids["0"])...)
	e.layout.SetRows(e.region(), 2, 1)
	size := e.writePod(func(b *wire.PodBuilder) {
		b.Field(abi.PodNodeName, 0)
		b.Text("node-7")
	})
	e.layout.SetCycle(e.region(), wire.Cycle{Epoch: 1, Generation: 9, Seed: 0x51, State: 1})
	e.layout.SetCall(e.region(), e.base, wire.Call{Point: abi.Reserve, PodSize: size})

	e.answer(abi.CallDirectives, 0x400, 1)
	e.guest(0x400, le32(uint32(abi.Annotate), 0, 0x418, 15, 0x427, 1))
	e.guest(0x418, []byte("example.com/gpu1"))
	return e
}

// preEnqueueExample is a call for three pods; the guest gates the second.
func preEnqueueExample(t testing.TB) *example {
	e := newExample(t, wire.LayoutSpec{
		Tables: []wire.TableSpec{{ID: abi.TableNodes, Capacity: 1}, stringsSpec()}, Batch: 4, RecordRoom: 512,
	})
	e.strings("team-a", "example.com/quota", "")
	record := func(name string, gates ...uint32) []byte {
		return podRecord(func(b *wire.PodBuilder) {
			b.Field(abi.PodName, 0)
			b.Text(name)
			b.Field(abi.PodSchedulingGates, 0)
			for _, gate := range gates {
				b.ID(gate)
			}
			b.Field(abi.IncomingNamespace, 0)
			b.ID(e.ids["team-a"])
			b.Field(abi.IncomingNamespaceLabels, 0)
			b.Pair(wire.Pair{Key: e.ids["example.com/quota"], Value: e.ids[""]})
			b.Field(abi.IncomingUID, 0)
			b.Text("uid-" + name)
		})
	}
	pods := e.batch(t, record("a"), record("b", e.ids["example.com/quota"]), record("c"))
	e.layout.SetCycle(e.region(), wire.Cycle{Epoch: 1, Generation: 3})
	e.layout.SetCall(e.region(), e.base, wire.Call{Point: abi.PreEnqueue, N: pods.Len(), Pods: true})

	copy(e.region()[e.layout.Codes:], []byte{0, 2, 0})
	copy(e.region()[e.layout.Reasons:], []byte{0, 0, 1, 0, 0, 0})
	copy(e.region()[e.layout.Scores+8:], le32(90_000))
	e.answer(abi.CallReasonSets, 0x400, 1)
	e.guest(0x400, le32(0x408, 1, 0x410, 13))
	e.guest(0x410, []byte("quota is full"))
	return e
}

// queueExample is a call for the keys of two pods; one has the longest key, the other an empty
// one.
func queueExample(t testing.TB) *example {
	e := newExample(t, wire.LayoutSpec{
		Tables: []wire.TableSpec{{ID: abi.TableNodes, Capacity: 1}, stringsSpec()}, Batch: 2, RecordRoom: 256, Keys: true,
	})
	e.strings("team-a")
	record := func(priority int64) []byte {
		return podRecord(func(b *wire.PodBuilder) {
			b.Field(abi.IncomingPriority, 0)
			b.I64(priority)
		})
	}
	pods := e.batch(t)
	for i, priority := range []int64{7, -1} {
		if err := pods.Add(record(priority)); err != nil {
			t.Fatal(err)
		}
		pods.Queue(wire.QueueEntry{Time: 1_700_000_000_000_000_000 + int64(i), Attempts: uint32(i)})
	}
	e.layout.SetCycle(e.region(), wire.Cycle{Epoch: 1, Generation: 3})
	e.layout.SetCall(e.region(), e.base, wire.Call{Point: abi.QueueSort, N: pods.Len(), Pods: true, Keys: true})
	key := e.region()[e.layout.Keys:]
	copy(key, le32(abi.MaxQueueKey))
	for i := range abi.MaxQueueKey {
		key[4+i] = byte(255 - i)
	}
	return e
}

// hintExample asks whether the change of a node makes another attempt of two parked pods
// worthwhile; rows 0 and 1 are the node before and after.
func hintExample(t testing.TB) *example {
	e := newExample(t, wire.LayoutSpec{
		Tables: []wire.TableSpec{
			{ID: abi.TableNodes, Capacity: 2, Columns: []wire.ColumnSpec{{ID: abi.NodeLabel, Type: abi.TypeU32}}},
			stringsSpec(),
		},
		Batch: 4, RecordRoom: 512,
	})
	e.strings("gpu", "shared", "team-a", "team-b")
	e.put(e.column(0, abi.NodeLabel, 0), 0, le32(e.ids["shared"], e.ids["gpu"])...)
	e.layout.SetRows(e.region(), 0, 2)
	record := func(namespace string) []byte {
		return podRecord(func(b *wire.PodBuilder) {
			b.Field(abi.IncomingNamespace, 0)
			b.ID(e.ids[namespace])
		})
	}
	pods := e.batch(t, record("team-a"), record("team-b"))
	event := &wire.EventView{Resource: abi.EventNode, Actions: abi.ActionUpdateNodeLabel | abi.ActionUpdateNodeTaint, OldNode: 0, NewNode: 1}
	if err := pods.Event(event); err != nil {
		t.Fatal(err)
	}
	e.layout.SetCycle(e.region(), wire.Cycle{Epoch: 2, Generation: 12})
	e.layout.SetCall(e.region(), e.base, wire.Call{Point: abi.Hint, N: pods.Len(), Pods: true, Event: true})
	copy(e.region()[e.layout.Codes:], []byte{byte(abi.Success), byte(abi.Skip)})
	return e
}

// podEventExample is the event of a pod that was removed from its node, and another of an
// object that is neither a pod nor a node.
func podEventExample(t testing.TB, named bool) *example {
	e := newExample(t, wire.LayoutSpec{
		Tables: []wire.TableSpec{{ID: abi.TableNodes, Capacity: 1}, stringsSpec()}, Batch: 1, RecordRoom: 512,
	})
	e.strings("team-a")
	old := podRecord(func(b *wire.PodBuilder) {
		b.Field(abi.PodNodeName, 0)
		b.Text("node-7")
		b.Field(abi.IncomingUID, 0)
		b.Text("1e3f")
	})
	pods := e.batch(t, podRecord(func(*wire.PodBuilder) {}))
	event := &wire.EventView{
		Resource: abi.EventPlacedPod, Actions: abi.ActionDelete, OldPod: old, OldNode: abi.EventNoNode, NewNode: abi.EventNoNode,
	}
	if named {
		event = &wire.EventView{
			Resource: abi.EventPersistentVolumeClaim, Actions: abi.ActionUpdateOther, OldNode: abi.EventNoNode, NewNode: abi.EventNoNode,
			Namespace: "team-a", Name: "data",
		}
	}
	if err := pods.Event(event); err != nil {
		t.Fatal(err)
	}
	e.layout.SetCycle(e.region(), wire.Cycle{Epoch: 2, Generation: 13})
	e.layout.SetCall(e.region(), e.base, wire.Call{Point: abi.Hint, N: pods.Len(), Pods: true, Event: true})
	copy(e.region()[e.layout.Codes:], []byte{byte(abi.Skip)})
	return e
}

// permitExample is a permit call: the guest makes the pod wait for 30 s and wants it tried again after 45, allows one waiting
// pod, rejects another and activates a third.
func permitExample(t testing.TB) *example {
	e := newExample(t, wire.LayoutSpec{
		Tables: []wire.TableSpec{{ID: abi.TableNodes, Capacity: 1, Columns: spans(abi.NodeName, abi.TypeBytes, 16)}, stringsSpec()}, PodRoom: 64,
	})
	e.strings("team-a")
	e.node0("node-7")
	size := e.writePod(func(b *wire.PodBuilder) {
		b.Field(abi.IncomingUID, 0)
		b.Text("me")
	})
	e.layout.SetCycle(e.region(), wire.Cycle{Epoch: 1, Generation: 9, Seed: 3, State: 1})
	e.layout.SetCall(e.region(), e.base, wire.Call{Point: abi.Permit, PodSize: size})
	e.answer(abi.CallDirectives, 0x400, 3)
	e.answer(abi.CallWait, 30_000)
	e.answer(abi.CallRetryAfter, 45_000)
	e.guest(0x400, le32(
		uint32(abi.Allow), 0, 0x448, 5, 0, 0,
		uint32(abi.Reject), 0, 0x44d, 5, 0x452, 7,
		uint32(abi.Activate), 0, 0x459, 5, 0, 0))
	e.guest(0x448, []byte("uid-1uid-2no roomuid-3"))
	return e
}

// node0 writes the name of row 0, the only row.
func (e *example) node0(name string) {
	arena := e.column(0, abi.NodeName+abi.ArenaOf, 0)
	e.put(e.column(0, abi.NodeName, 0), 0, le32(0, uint32(len(name)))...)
	e.put(arena, 0, []byte(name)...)
	e.layout.SetLength(e.region(), arena, uint32(len(name)))
	e.layout.SetRows(e.region(), 0, 1)
}

// namespacesExample is a pre_filter call with a namespaces table that has an empty row; the
// guest narrows the nodes down to rows 0 and 2.
func namespacesExample(t testing.TB) *example {
	e := newExample(t, wire.LayoutSpec{
		Tables: []wire.TableSpec{
			{ID: abi.TableNodes, Capacity: 4, Columns: []wire.ColumnSpec{
				{ID: abi.NodeZone, Type: abi.TypeU32}, {ID: abi.NodeCapacity, Type: abi.TypeI64}, {ID: abi.NodeCapacity, Arg: 1, Type: abi.TypeI64},
				{ID: abi.NodeCreatedAt, Type: abi.TypeI64}, {ID: abi.NodeFeed, Type: abi.TypeI64}, {ID: abi.NodeFeedState, Type: abi.TypeU8},
				{ID: abi.NodeRequestedSince, Type: abi.TypeI64}, {ID: abi.NodeRequestedSince, Arg: 1, Type: abi.TypeI64},
			}},
			stringsSpec(),
			{ID: abi.TableNamespaces, Capacity: 4, Columns: append(
				[]wire.ColumnSpec{
					{ID: abi.NamespaceName, Type: abi.TypeU32}, {ID: abi.NamespaceLabel, Type: abi.TypeU32},
					{ID: abi.NamespaceRequested, Type: abi.TypeI64}, {ID: abi.NamespaceRequested, Arg: 1, Type: abi.TypeI64},
				}, spans(abi.NamespaceLabels, abi.TypePair, 4)...)},
		},
		PodRoom: 64,
	})
	e.strings("team-a", "team-b", "tier", "gold", "zone-1")
	e.put(e.column(0, abi.NodeZone, 0), 0, le32(e.ids["zone-1"], 0, e.ids["zone-1"])...)
	e.put(e.column(0, abi.NodeCapacity, 0), 0, le32(4000, 0, 0, 0, 8000, 0)...)
	e.put(e.column(0, abi.NodeCapacity, 1), 0, le32(0, 2, 0, 0, 1, 0)...)
	e.put(e.column(0, abi.NodeCreatedAt, 0), 0, le32(0, 2, 0, 0, 77, 0)...)
	e.put(e.column(0, abi.NodeFeed, 0), 0, le32(0xfffffffe, 0xffffffff, 0, 0, 250, 1)...)
	e.put(e.column(0, abi.NodeFeedState, 0), 0, 1, 0, 2)
	e.put(e.column(0, abi.NodeRequestedSince, 0), 0, le32(100, 0, 0, 0, 0, 3)...)
	e.put(e.column(0, abi.NodeRequestedSince, 1), 0, le32(0, 1, 0, 0, 5, 0)...)
	e.layout.SetRows(e.region(), 0, 3)
	e.put(e.column(2, abi.NamespaceName, 0), 0, le32(e.ids["team-a"], 0, e.ids["team-b"])...)
	e.put(e.column(2, abi.NamespaceLabel, 0), 0, le32(0, 0, e.ids["gold"])...)
	e.put(e.column(2, abi.NamespaceLabels, 0), 2, le32(0, 1)...)
	e.put(e.column(2, abi.NamespaceRequested, 0), 0, le32(1500, 0, 0, 0, 0xffffffff, 0x7fffffff)...)
	e.put(e.column(2, abi.NamespaceRequested, 1), 0, le32(0, 1, 0, 0, 3, 0)...)
	labels := e.column(2, abi.NamespaceLabels+abi.ArenaOf, 0)
	e.put(labels, 0, le32(e.ids["tier"], e.ids["gold"])...)
	e.layout.SetLength(e.region(), labels, 1)
	e.layout.SetRows(e.region(), 2, 3)
	e.layout.SetCycle(e.region(), wire.Cycle{Epoch: 4, Generation: 2, Seed: 1, State: 1})
	size := e.writePod(func(b *wire.PodBuilder) {
		b.Field(abi.IncomingNamespace, 0)
		b.ID(e.ids["team-b"])
	})
	e.layout.SetCall(e.region(), e.base, wire.Call{Point: abi.PreFilter, PodSize: size})
	e.answer(abi.CallRowSet, 0x400, 2, 1)
	e.guest(0x400, le32(0, 2))
	return e
}

// postFilterExample is a post_filter call, whose codes are input; the guest nominates a node,
// and set 1 would be the reason for an unresolvable pod.
func postFilterExample(t testing.TB) *example {
	e := newExample(t, wire.LayoutSpec{
		Tables: []wire.TableSpec{{ID: abi.TableNodes, Capacity: 2}, stringsSpec()}, PodRoom: 32,
	})
	e.strings("team-a")
	e.layout.SetRows(e.region(), 0, 2)
	size := e.writePod(func(b *wire.PodBuilder) {
		b.Field(abi.IncomingPriority, 0)
		b.I64(100)
	})
	e.layout.SetCycle(e.region(), wire.Cycle{Epoch: 1, Generation: 4, Seed: 8, State: 1})
	copy(e.region()[e.layout.Codes:], []byte{byte(abi.Unschedulable), byte(abi.UnschedulableAndUnresolvable)})
	e.layout.SetCall(e.region(), e.base, wire.Call{Point: abi.PostFilter, PodSize: size, N: 2})
	e.answer(abi.CallDirectives, 0x400, 1)
	e.guest(0x400, le32(uint32(abi.Nominate), 0, 0x418, 6, 0, 0))
	e.guest(0x418, []byte("node-0"))
	e.answer(abi.CallReasonSets, 0x420, 1)
	e.guest(0x420, le32(0x428, 2, 0x438, 4, 0x43c, 5))
	e.guest(0x438, []byte("fullbusy!"))
	e.answer(abi.CallStatusReason, 1)
	return e
}
