package berthtest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
)

// This file writes what SPEC.md says, with numbers of its own: it must not share
// a mistake with the host.

// Element types (ABI-4.7).
const (
	typeU8, typeU32, typeU64, typeI32, typeI64       = 1, 3, 4, 5, 6
	typeSpan, typePair, typeTaint, typePort, typeImg = 7, 8, 9, 10, 11
	typeBytes                                        = 12
)

var elementSize = map[uint32]uint32{1: 1, 3: 4, 4: 8, 5: 4, 6: 8, 7: 8, 8: 8, 9: 12, 10: 8, 11: 16, 12: 1} //nolint:gochecknoglobals // a table that is not written

const (
	spareRows = 3
	overlays  = 2
	callSize  = 128
)

// numbering is in what order things get numbers.
type numbering struct {
	order []int      // order[row] is the index of the node
	rand  *rand.Rand // nil: ids and slots in the order of appearance
	seed  uint64
}

// image is a region for a cluster and a pod, and where things are in it.
type image struct {
	data              []byte
	base              uint32
	dict              dict
	order             []int
	rows, capacity    uint32
	overlay           []uint32 // overlay[i] is the row that overlay row i repeats
	rowsAt            uint32   // of the nodes table's n_rows
	header, pod       uint32
	podSize           uint32
	rowSet            uint32
	codes, reasons    uint32
	scores            uint32
	call              uint32
	readFrom, readEnd uint32 // what a guest must not write
}

type dict struct {
	ids   map[string]uint32
	texts []string
}

func (d *dict) id(s string) uint32 {
	id, ok := d.ids[s]
	if !ok {
		id = uint32(len(d.texts))
		d.ids[s], d.texts = id, append(d.texts, s)
	}
	return id
}

// column is a column; rows is false for an arena.
type column struct {
	id, arg, typ uint32
	data         []byte
	rows         bool
	length       uint32
}

type table struct {
	id, rows, capacity, overlays uint32
	columns                      []column
}

func u32(b []byte, vs ...uint32) []byte {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func i64(b []byte, v int64) []byte { return binary.LittleEndian.AppendUint64(b, uint64(v)) }

// each appends the elements of all rows; elements are written by f.
func (t *table) each(id, arg, typ uint32, from []byte) {
	t.columns = append(t.columns, column{id: id, arg: arg, typ: typ, data: from, rows: true, length: t.rows})
}

// spans appends a column of spans and its arena. Rows are given as bytes.
func (t *table) spans(id, typ uint32, rows [][]byte) {
	var index, arena []byte
	size := elementSize[typ]
	arena = append(arena, make([]byte, 2*size)...) // stale entries that no span covers
	for i := range arena {
		arena[i] = 0xEE
	}
	for _, row := range rows {
		start := uint32(len(arena)) / size
		if len(row) == 0 {
			start = 0xFFFFFFFF // any start will do (ABI-4.8)
		}
		index = u32(index, start, uint32(len(row))/size)
		arena = append(arena, row...)
	}
	t.columns = append(t.columns,
		column{id: id, typ: typeSpan, data: index, rows: true, length: t.rows},
		column{id: id + 256, typ: typ, data: arena, length: uint32(len(arena)) / size})
}

// newImage writes the region for a pod.
func newImage(m *Manifest, nodes []Node, pod Pod, n numbering) *image {
	return newImageOf(m, nodes, n, func(img *image) []byte { return img.record(m, pod) })
}

// newImageOf writes the region with room for a pod record, which may bring strings.
func newImageOf(m *Manifest, nodes []Node, n numbering, record func(*image) []byte) *image {
	img := &image{order: n.order, rows: uint32(len(nodes)), capacity: uint32(len(nodes)) + spareRows}
	img.dict = dict{ids: map[string]uint32{}, texts: []string{""}}
	if n.rand != nil { // other ids for the same strings
		for i := range n.rand.IntN(5) + 1 {
			img.dict.id("berthtest-" + strconv.Itoa(i))
		}
		img.dict.id("")
	}
	nodeTable, podTable := img.nodes(m, nodes, n)
	img.lay(nodeTable, podTable, record(img), n.seed)
	return img
}

// rowsOf returns the nodes by row: rows, spare rows (nil), overlay rows.
func (img *image) rowsOf(nodes []Node) []*Node {
	all := make([]*Node, img.capacity+overlays)
	for row, i := range img.order {
		all[row] = &nodes[i]
	}
	img.overlay = nil
	for i := range min(overlays, len(nodes)) {
		row := len(nodes) - 1 - i
		all[img.capacity+uint32(i)] = all[row]
		img.overlay = append(img.overlay, uint32(row))
	}
	return all
}

func (img *image) nodes(m *Manifest, nodes []Node, n numbering) (table, table) {
	d := &img.dict
	all := img.rowsOf(nodes)
	t := table{id: 1, rows: img.rows, capacity: img.capacity, overlays: overlays}
	scalar := func(id, arg, typ uint32, f func(*Node) []byte) {
		var data []byte
		for _, node := range all {
			if node == nil {
				data = append(data, make([]byte, elementSize[typ])...)
			} else {
				data = append(data, f(node)...)
			}
		}
		t.each(id, arg, typ, data)
	}
	lists := func(id, typ uint32, f func(*Node) []byte) {
		rows := make([][]byte, len(all))
		for i, node := range all {
			if node != nil {
				rows[i] = f(node)
			}
		}
		t.spans(id, typ, rows)
	}
	if m.has("node", "name") {
		lists(1, typeBytes, func(n *Node) []byte { return []byte(n.Name) })
	}
	if m.has("node", "flags") {
		scalar(2, 0, typeU8, func(n *Node) []byte {
			if n.Unschedulable {
				return []byte{1}
			}
			return []byte{0}
		})
	}
	for i, name := range m.Reads["resources"] {
		if m.has("node", "allocatable") {
			scalar(3, uint32(i), typeI64, func(n *Node) []byte { return i64(nil, n.Allocatable[name]) })
		}
		if m.has("node", "requested") {
			scalar(4, uint32(i), typeI64, func(n *Node) []byte { return i64(nil, requested(n, name)) })
		}
	}
	if m.has("node", "nonZeroRequested") {
		for i := range uint32(2) {
			scalar(5, i, typeI64, func(n *Node) []byte {
				sum := int64(0)
				for j := range n.Pods {
					sum += nonZero(&n.Pods[j])[i]
				}
				return i64(nil, sum)
			})
		}
	}
	if m.has("node", "labels") {
		lists(6, typePair, func(node *Node) []byte { return pairs(d, node.Labels, n.rand) })
	}
	for i, key := range m.Reads["nodeAnnotations"] {
		scalar(7, uint32(i), typeU32, func(n *Node) []byte { return u32(nil, valueID(d, n.Annotations, key)) })
	}
	if m.has("node", "taints") {
		lists(8, typeTaint, func(node *Node) []byte {
			var b []byte
			for _, i := range perm(len(node.Taints), n.rand) {
				t := node.Taints[i]
				b = u32(b, d.id(t.Key), d.id(t.Value), effect(t.Effect))
			}
			return b
		})
	}
	if m.has("node", "ports") {
		lists(9, typePort, func(n *Node) []byte {
			var b []byte
			for i := range n.Pods {
				b = ports(b, d, n.Pods[i].HostPorts)
			}
			return b
		})
	}
	if m.has("node", "images") {
		lists(10, typeImg, func(n *Node) []byte {
			var b []byte
			for _, name := range slices.Sorted(maps.Keys(n.Images)) {
				b = i64(u32(b, d.id(name), 0), n.Images[name])
			}
			return b
		})
	}
	for i, typ := range m.Reads["nodeConditions"] {
		scalar(11, uint32(i), typeU8, func(n *Node) []byte {
			return []byte{map[string]byte{"True": 1, "False": 2, "Unknown": 3}[n.Conditions[typ]]}
		})
	}
	slots, placed := place(nodes, n.rand)
	if m.has("node", "pods") {
		lists(12, typeU32, func(node *Node) []byte {
			var b []byte
			for _, i := range perm(len(node.Pods), n.rand) {
				b = u32(b, slots[&node.Pods[i]])
			}
			return b
		})
	}
	if m.has("node", "generation") {
		g := uint64(0)
		scalar(13, 0, typeU64, func(*Node) []byte { g++; return i64(nil, int64(g)) })
	}
	for i, key := range m.Reads["nodeLabels"] {
		scalar(14, uint32(i), typeU32, func(n *Node) []byte { return u32(nil, valueID(d, n.Labels, key)) })
	}
	return t, img.pods(m, placed, n.rand)
}

// place gives each pod on a node a slot; some slots stay free.
func place(nodes []Node, r *rand.Rand) (map[*Pod]uint32, []*Pod) {
	var pods []*Pod
	for i := range nodes {
		for j := range nodes[i].Pods {
			pods = append(pods, &nodes[i].Pods[j])
		}
	}
	placed := make([]*Pod, len(pods))
	if r != nil {
		placed = make([]*Pod, len(pods)+2)
	}
	slots := map[*Pod]uint32{}
	for i, slot := range perm(len(placed), r)[:len(pods)] {
		placed[slot], slots[pods[i]] = pods[i], uint32(slot)
	}
	return slots, placed
}

// pods writes the pods table.
func (img *image) pods(m *Manifest, placed []*Pod, r *rand.Rand) table {
	d := &img.dict
	t := table{id: 2, rows: uint32(len(placed)), capacity: uint32(len(placed))}
	scalar := func(id, arg, typ uint32, f func(*Pod) []byte) {
		var data []byte
		for _, pod := range placed {
			if pod == nil {
				data = append(data, make([]byte, elementSize[typ])...)
			} else {
				data = append(data, f(pod)...)
			}
		}
		t.each(id, arg, typ, data)
	}
	if m.has("pods", "namespace") {
		scalar(64, 0, typeU32, func(p *Pod) []byte { return u32(nil, d.id(p.Namespace)) })
	}
	if m.has("pods", "priority") {
		scalar(65, 0, typeI32, func(p *Pod) []byte { return u32(nil, uint32(p.Priority)) })
	}
	if m.has("pods", "requests") {
		for i, name := range m.Reads["resources"] {
			scalar(66, uint32(i), typeI64, func(p *Pod) []byte { return i64(nil, p.Requests[name]) })
		}
	}
	if m.has("pods", "labels") {
		rows := make([][]byte, len(placed))
		for i, pod := range placed {
			if pod != nil {
				rows[i] = pairs(d, pod.Labels, r)
			}
		}
		t.spans(67, typePair, rows)
	}
	for i, key := range m.Reads["podAnnotations"] {
		scalar(68, uint32(i), typeU32, func(p *Pod) []byte { return u32(nil, valueID(d, p.Annotations, key)) })
	}
	if m.has("pods", "owner") {
		scalar(69, 0, typeU32, func(p *Pod) []byte { return u32(nil, owner(d, p)) })
	}
	for i, key := range m.Reads["podLabels"] {
		scalar(70, uint32(i), typeU32, func(p *Pod) []byte { return u32(nil, valueID(d, p.Labels, key)) })
	}
	if m.has("pods", "flags") {
		scalar(71, 0, typeU8, func(p *Pod) []byte {
			if p.Terminating {
				return []byte{1}
			}
			return []byte{0}
		})
	}
	return t
}

// perm returns 0 … n−1, in some order if there is a random source.
func perm(n int, r *rand.Rand) []int {
	if r != nil {
		return r.Perm(n)
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func requested(n *Node, resource string) int64 {
	if resource == "pods" {
		return int64(len(n.Pods))
	}
	sum := int64(0)
	for i := range n.Pods {
		sum += n.Pods[i].Requests[resource]
	}
	return sum
}

func nonZero(p *Pod) [2]int64 {
	v := p.NonZero
	for i, name := range [2]string{"cpu", "memory"} {
		if v[i] == 0 {
			v[i] = p.Requests[name]
		}
	}
	return v
}

func valueID(d *dict, m map[string]string, key string) uint32 {
	if v, ok := m[key]; ok {
		return d.id(v)
	}
	return 0
}

func owner(d *dict, p *Pod) uint32 {
	if p.Owner == "" {
		return 0
	}
	return d.id(p.Owner)
}

func pairs(d *dict, m map[string]string, r *rand.Rand) []byte {
	keys := slices.Sorted(maps.Keys(m))
	var b []byte
	for _, i := range perm(len(keys), r) {
		b = u32(b, d.id(keys[i]), d.id(m[keys[i]]))
	}
	return b
}

func ports(b []byte, d *dict, ports []Port) []byte {
	for _, p := range ports {
		ip := p.IP
		if ip == "" {
			ip = "0.0.0.0"
		}
		b = binary.LittleEndian.AppendUint16(u32(b, d.id(ip)), p.Port)
		b = append(b, map[string]byte{"": 1, "TCP": 1, "UDP": 2, "SCTP": 3}[p.Protocol], 0)
	}
	return b
}

func effect(name string) uint32 {
	e, ok := map[string]uint32{"": 0, "NoSchedule": 1, "PreferNoSchedule": 2, "NoExecute": 3}[name]
	if !ok {
		panic(fmt.Sprintf("berthtest: unknown taint effect %q", name))
	}
	return e
}
