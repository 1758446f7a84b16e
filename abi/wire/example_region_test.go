package wire_test

import (
	"encoding/binary"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// example is a guest's memory of 64 KiB with a region at 0x1000, as a host writes it: three
// nodes with a declared label, which the second does not have, and pods with names and
// requests.
type example struct {
	memory []byte
	base   uint32
	layout *wire.Layout
	ids    map[string]uint32
	names  uint32 // bytes of names so far
}

const exampleBase = 0x1000

func newExample(t testing.TB, spec wire.LayoutSpec) *example {
	t.Helper()
	l, err := wire.NewLayout(spec)
	if err != nil {
		t.Fatal(err)
	}
	e := &example{memory: make([]byte, 65536), base: exampleBase, layout: l, ids: map[string]uint32{}}
	l.WriteDirectories(e.region(), e.base)
	return e
}

func (e *example) region() []byte { return e.memory[e.base : e.base+e.layout.Size] }

// column returns a column of a table in the layout.
func (e *example) column(table int, id abi.ColumnID, arg uint32) *wire.ColumnLayout {
	for i := range e.layout.Tables[table].Columns {
		if c := &e.layout.Tables[table].Columns[i]; c.ID == id && c.Arg == arg {
			return c
		}
	}
	panic("no such column")
}

func (e *example) put(c *wire.ColumnLayout, element uint32, bytes ...byte) {
	copy(e.region()[c.Data+element*uint32(c.Type.Size()):], bytes)
}

func le32(values ...uint32) (out []byte) {
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	return out
}

func le64(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }

// strings writes the strings table, which is table 1 of the layout.
func (e *example) strings(all ...string) {
	spans, arena := e.column(1, abi.StringBytes, 0), e.column(1, abi.StringBytes+abi.ArenaOf, 0)
	at := uint32(0)
	for i, s := range all {
		id := uint32(i + 1)
		e.ids[s] = id
		e.put(spans, id, le32(at, uint32(len(s)))...)
		e.put(arena, at, []byte(s)...)
		at += uint32(len(s))
	}
	e.layout.SetRows(e.region(), 1, uint32(len(all)+1))
	e.layout.SetLength(e.region(), arena, at)
}

// filterExample is a filter call for three nodes, after the guest has answered: the label
// berth.dev/pool is "gpu", absent, "shared"; the guest wants "gpu".
func filterExample(t testing.TB) *example {
	e := newExample(t, wire.LayoutSpec{
		Tables: []wire.TableSpec{
			{ID: abi.TableNodes, Capacity: 4, Overlays: 1, Columns: []wire.ColumnSpec{{ID: abi.NodeLabel, Type: abi.TypeU32}}},
			{ID: abi.TableStrings, Capacity: 8, Columns: []wire.ColumnSpec{
				{ID: abi.StringBytes, Type: abi.TypeSpan}, {ID: abi.StringBytes + abi.ArenaOf, Type: abi.TypeBytes, Capacity: 64},
			}},
		},
		PodRoom: 64,
	})
	e.strings("team-a", "gpu", "shared")
	pool := e.column(0, abi.NodeLabel, 0)
	e.put(pool, 0, le32(e.ids["gpu"], 0, e.ids["shared"])...)
	e.layout.SetRows(e.region(), 0, 3)
	var b wire.PodBuilder
	b.Field(abi.IncomingNamespace, 0)
	b.ID(e.ids["team-a"])
	record := b.Bytes()
	copy(e.region()[e.layout.Pod:], record)
	e.layout.SetCycle(e.region(), wire.Cycle{Epoch: 1, Generation: 7, State: 1})
	e.layout.SetCall(e.region(), e.base, wire.Call{Point: abi.Filter, PodSize: uint32(len(record)), N: 3})

	// The guest's answers; its own memory begins at 0x400.
	call := e.base + e.layout.Call
	copy(e.memory[call+abi.CallReasonSets:], le32(0x400, 2))
	copy(e.memory[0x400:], le32(0x410, 1, 0x418, 1))                // two sets of one text
	copy(e.memory[0x410:], le32(0x420, 12, 0x42c, 10))              // the texts
	copy(e.memory[0x420:], "no node poolpool taken")                // their bytes
	copy(e.memory[e.base+e.layout.Codes:], []byte{0, 3, 2})         // codes of rows 0, 1, 2
	copy(e.memory[e.base+e.layout.Reasons:], []byte{0, 0, 1, 0, 2}) // u16 each
	return e
}

// podExample is the record of a pod with namespace, requests and two labels.
func podExample() []byte {
	var b wire.PodBuilder
	b.Field(abi.IncomingNamespace, 0)
	b.ID(1)
	b.Field(abi.IncomingRequests, 0)
	b.I64(1500)
	b.Field(abi.IncomingRequests, 1)
	b.I64(256 << 20)
	b.Field(abi.IncomingLabels, 0)
	b.Pair(wire.Pair{Key: 2, Value: 3})
	b.Pair(wire.Pair{Key: 4, Value: 5})
	return b.Bytes()
}

// allExample has a column of every type, a row set, an overlay row and pods.
func allExample(t testing.TB) *example {
	var nodes []wire.ColumnSpec
	nodes = append(nodes, spans(abi.NodeName, abi.TypeBytes, 16)...)
	nodes = append(nodes, wire.ColumnSpec{ID: abi.NodeFlags, Type: abi.TypeU8},
		wire.ColumnSpec{ID: abi.NodeAllocatable, Type: abi.TypeI64}, wire.ColumnSpec{ID: abi.NodeAllocatable, Arg: 1, Type: abi.TypeI64})
	nodes = append(nodes, spans(abi.NodeLabels, abi.TypePair, 4)...)
	nodes = append(nodes, spans(abi.NodeTaints, abi.TypeTaint, 2)...)
	nodes = append(nodes, spans(abi.NodePorts, abi.TypePort, 2)...)
	nodes = append(nodes, spans(abi.NodeImages, abi.TypeImage, 2)...)
	nodes = append(nodes, spans(abi.NodePods, abi.TypeU32, 4)...)
	nodes = append(nodes, spans(abi.NodeNominated, abi.TypeU32, 2)...)
	nodes = append(nodes, wire.ColumnSpec{ID: abi.NodeGenerations, Type: abi.TypeU64})
	e := newExample(t, wire.LayoutSpec{
		Tables: []wire.TableSpec{
			{ID: abi.TableNodes, Capacity: 3, Overlays: 1, Base: 1024, Columns: nodes},
			{ID: abi.TableStrings, Capacity: 16, Columns: spans(abi.StringBytes, abi.TypeBytes, 64)},
			{ID: abi.TablePods, Capacity: 4, Columns: []wire.ColumnSpec{
				{ID: abi.PodNamespace, Type: abi.TypeU32}, {ID: abi.PodPriority, Type: abi.TypeI32},
				{ID: abi.PlacedPodLimits, Type: abi.TypeI64}, {ID: abi.PlacedPodLimits, Arg: 1, Type: abi.TypeI64},
				{ID: abi.PlacedPodQOS, Type: abi.TypeU32}, {ID: abi.PlacedPodAssignedAt, Type: abi.TypeI64},
				{ID: abi.PlacedPodCreatedAt, Type: abi.TypeI64}, {ID: abi.PlacedPodState, Type: abi.TypeU8},
			}},
		},
		PodRoom: 64,
	})
	e.strings("", "zone", "a", "gpu", "true", "0.0.0.0", "nginx:1", "team", "größe", "Burstable")
	e.node(0, "n0", 3)
	e.node(1, "", 0)
	e.node(3, "what-if", 1) // the overlay row: row_capacity + 0
	e.layout.SetRows(e.region(), 0, 2)
	ns, priority := e.column(2, abi.PodNamespace, 0), e.column(2, abi.PodPriority, 0)
	e.put(ns, 1, le32(e.ids["team"])...)
	e.put(priority, 1, le32(uint32(0xffffffff))...)
	e.put(e.column(2, abi.PlacedPodLimits, 0), 1, le64(1500)...)
	e.put(e.column(2, abi.PlacedPodLimits, 1), 1, le64(-1)...)
	e.put(e.column(2, abi.PlacedPodQOS, 0), 1, le32(e.ids["Burstable"])...)
	e.put(e.column(2, abi.PlacedPodAssignedAt, 0), 1, le64(9<<32)...)
	e.put(e.column(2, abi.PlacedPodCreatedAt, 0), 1, le64(7)...)
	e.put(e.column(2, abi.PlacedPodState, 0), 1, abi.PodReady)
	e.layout.SetRows(e.region(), 2, 3)
	e.layout.SetCycle(e.region(), wire.Cycle{Epoch: 2, Generation: 1 << 40, Seed: 0xdeadbeefcafe, State: 1})
	copy(e.region()[e.layout.RowSet:], le32(0, 3))
	e.layout.SetCall(e.region(), e.base, wire.Call{Point: abi.Score, RowSet: true, N: 2, Flags: abi.CallOverlayRows})
	copy(e.region()[e.layout.Scores:], append(le64(-1), le64(100)...))
	return e
}

// node writes a row with n entries in each of its lists.
func (e *example) node(row uint32, name string, n uint32) {
	list := func(id abi.ColumnID, start, n uint32, bytes ...byte) {
		arena := e.column(0, id+abi.ArenaOf, 0)
		e.put(e.column(0, id, 0), row, le32(start, n)...)
		e.put(arena, start, bytes...)
		e.layout.SetLength(e.region(), arena, max(start+n, e.length(arena)))
	}
	list(abi.NodeName, e.names, uint32(len(name)), []byte(name)...)
	e.names += uint32(len(name))
	e.put(e.column(0, abi.NodeFlags, 0), row, byte(n&1))
	e.put(e.column(0, abi.NodeAllocatable, 0), row, le64(-int64(n))...)
	e.put(e.column(0, abi.NodeAllocatable, 1), row, le64(int64(n)<<40)...)
	e.put(e.column(0, abi.NodeGenerations, 0), row, le64(int64(n)+5)...)
	if n == 0 {
		return
	}
	at := n / 3 // the row with 3 is second in the arenas
	list(abi.NodeLabels, at, n, le32(e.ids["zone"], e.ids["a"], e.ids["größe"], e.ids[""], e.ids["gpu"], e.ids["true"])[:8*n]...)
	list(abi.NodeTaints, at, 1, le32(e.ids["gpu"], e.ids[""], n)...)
	list(abi.NodePorts, at, 1, append(le32(e.ids["0.0.0.0"]), 0x90, 0x1f, byte(n), 0)...)
	list(abi.NodeImages, at, 1, append(le32(e.ids["nginx:1"], 0), le64(1<<33)...)...)
	list(abi.NodePods, at, 1, le32(1)...)
	list(abi.NodeNominated, at, 1, le32(2)...)
}

func (e *example) length(c *wire.ColumnLayout) uint32 {
	return binary.LittleEndian.Uint32(e.region()[c.Entry+abi.ColumnLength:])
}
